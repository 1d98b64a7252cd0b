#include "hardware/attention_prefill.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/config.hpp"

namespace ridgeline {

namespace {

/// The row tiles of one head of one chunk, and the key tiles they visit.
struct TileSeries {
  double row_tiles;
  double mean_keys;     ///< tiles of keys per row tile
  double longest_keys;
};

struct Tiling {
  double rows;           ///< of a tile
  double keys;           ///< of a tile
  double rows_per_token; ///< query heads packed into the rows of one token
};

TileSeries series_of(const PrefillChunk& chunk, const Tiling& tiling, const AttentionShape& shape) {
  const double tokens = chunk.new_tokens.as_double();
  const double history = chunk.history.as_double();
  const double span = std::min(tiling.rows / tiling.rows_per_token, tokens);  // tokens of one row tile
  const double row_tiles = fast_ceil(tokens * tiling.rows_per_token / tiling.rows);
  const double last = fast_ceil((history + tokens) / tiling.keys);
  const double first = shape.causal ? fast_ceil((history + span) / tiling.keys) : last;
  if (shape.window > 0) {
    const double most = fast_ceil((static_cast<double>(shape.window) + span) / tiling.keys);
    if (first >= most) return {row_tiles, most, most};
    if (last > most) {
      const double rising = (most - first) / (last - first);  // share of row tiles before the window fills
      return {row_tiles, rising * 0.5 * (first + most) + (1.0 - rising) * most, most};
    }
  }
  return {row_tiles, 0.5 * (first + last), last};
}

/// Keys of one chunk that some query sees.
double visible_keys(const PrefillChunk& chunk, std::int64_t window) {
  const std::int64_t history = window > 0 ? std::min(chunk.history.count(), window) : chunk.history.count();
  return static_cast<double>(history + chunk.new_tokens.count());
}

/// Work of a call, gathered item by item.
struct Work {
  double item_seconds = 0.0;     ///< of all items, one SM at a time
  double longest_seconds = 0.0;  ///< of the longest item
  double row_tiles = 0.0;        ///< of one head, all sequences
  double most_row_tiles = 0.0;   ///< of one head of one sequence
  double bytes = 0.0;

  void add(double sequences, const TileSeries& series, double heads, double tile, double work_item) {
    item_seconds += sequences * heads * series.row_tiles * (work_item + tile * series.mean_keys);
    longest_seconds = std::max(longest_seconds, work_item + tile * series.longest_keys);
    row_tiles += sequences * series.row_tiles;
    most_row_tiles = std::max(most_row_tiles, series.row_tiles);
  }
};

/// How often decodes read their keys: the unpacked heads of a group share them through the L2 only while they run side by
/// side (the grid walks sequences before heads) or while one head's keys of the whole batch fit in it.
double decode_reads(const AttentionShape& shape, double group, double sm_count, double l2_bytes) {
  const double most = std::clamp(group * static_cast<double>(shape.decode_sequences) / sm_count, 1.0, group);
  const double pass = shape.decode_context.as_double() * kv_bytes_per_token(shape) / static_cast<double>(shape.kv_heads);
  const double share = l2_bytes / pass;
  return 1.0 + (most - 1.0) / (1.0 + share * share);
}

}  // namespace

FamilyPrice price_prefill(const AttentionShape& shape, const AttentionPrefillParameters& p, const GpuSpec& gpu) {
  if (shape.chunks.empty() && shape.decode_sequences <= 0) return {};
  const AttentionKernelTraits& kernel = traits(p.kernel);
  const auto sm_count = static_cast<double>(gpu.sm_count);
  const double group = std::max(1.0, static_cast<double>(shape.query_heads) / static_cast<double>(shape.kv_heads));
  const double heads = static_cast<double>(kernel.packs_prefill ? shape.kv_heads : shape.query_heads);
  const Tiling tiling{static_cast<double>(kernel.prefill_tile_rows),
                      static_cast<double>(tile_keys(p.kernel, shape.head_dim)), kernel.packs_prefill ? group : 1.0};
  const double efficiency =
      p.tile_efficiency * std::exp(p.head_dim_exponent * std::log(static_cast<double>(shape.head_dim) / 128.0));
  const double tile =
      flops_per_row_and_key(shape) * tiling.rows * tiling.keys / (std::min(1.0, efficiency) * peak_per_sm(gpu));
  const double work_item = p.work_item.seconds();
  const double token_bytes = kv_bytes_per_token(shape);
  const double io_bytes = io_bytes_per_row(shape);

  Work work;
  for (const PrefillChunk& chunk : shape.chunks) {
    work.add(1.0, series_of(chunk, tiling, shape), heads, tile, work_item);
    work.bytes += chunk.new_tokens.as_double() * io_bytes + visible_keys(chunk, shape.window) * token_bytes;
  }
  auto sequences = static_cast<double>(shape.chunks.size());
  if (shape.decode_sequences > 0) {
    const auto decodes = static_cast<double>(shape.decode_sequences);
    const double rows = shape.decode_queries.as_double() / decodes * tiling.rows_per_token;
    const double keys = std::max(1.0, shape.decode_context.as_double() / decodes / tiling.keys);
    const double longest = kernel.splits_swapped_only ? keys : std::max(1.0, keys / static_cast<double>(kernel.most_splits));
    work.add(decodes, {std::max(1.0, fast_ceil(rows / tiling.rows)), keys, longest}, heads, tile, work_item);
    const double reads = kernel.packs_prefill ? 1.0 : decode_reads(shape, group, sm_count, gpu.l2.as_double());
    work.bytes += shape.decode_queries.as_double() * io_bytes + shape.decode_context.as_double() * token_bytes * reads;
    sequences += decodes;
  }
  work.item_seconds += heads * (sequences * work.most_row_tiles - work.row_tiles) * p.idle_tile.seconds();

  const double compute = smooth_maximum(work.item_seconds / sm_count, work.longest_seconds, p.balance_exponent);
  const double memory = work.bytes / (gpu.memory_bandwidth.count() * p.hbm_efficiency);
  const double body = smooth_maximum(compute, memory, p.overlap_exponent);
  return {p.launch, Duration::seconds(compute), Duration::seconds(memory), p.launch + Duration::seconds(body)};
}

AttentionPrefillParameters read_attention_prefill_parameters(MapReader& map) {
  AttentionPrefillParameters p;
  p.kernel = attention_kernel(map.choice("kernel", "flash_attention_2", attention_kernel_names()));
  p.launch = map.require<Duration>("launch", non_negative);
  p.work_item = map.require<Duration>("work_item", non_negative);
  p.tile_efficiency = map.require<double>("tile_efficiency", positive_fraction);
  p.head_dim_exponent = map.require<double>("head_dim_exponent", Range{-2.0, 2.0});
  p.hbm_efficiency = map.require<double>("hbm_efficiency", positive_fraction);
  p.balance_exponent = map.require<double>("balance_exponent", at_least_one);
  p.overlap_exponent = map.require<double>("overlap_exponent", at_least_one);
  p.idle_tile = map.require<Duration>("idle_tile", non_negative);
  return p;
}

}  // namespace ridgeline
