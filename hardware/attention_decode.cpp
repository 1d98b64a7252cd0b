#include "hardware/attention_decode.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/config.hpp"

namespace ridgeline {

namespace {

// Candidate splits do not depend on the shape, so the price, a minimum over them, rises with batch and context.
constexpr std::array<double, 14> split_candidates{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

double to_the_16th(double x) {
  x *= x;
  x *= x;
  x *= x;
  return x * x;
}

/// Seconds of the thread blocks alone: waves over the SMs with the cheapest number of splits. `per_sm` = items / SMs.
double block_seconds(double per_sm, double key_tiles, double tile, double most_splits, const AttentionDecodeParameters& p) {
  const double work_item = p.work_item.seconds();
  const double combine = p.combine.seconds();
  const double per_split = p.combine_per_split.seconds();
  const double most = std::min(most_splits, key_tiles);
  double best = fast_ceil(per_sm) * (work_item + tile * key_tiles);
  for (std::size_t i = 1; i < split_candidates.size(); ++i) {
    const double splits = split_candidates[i];
    const double merging = combine + splits * per_split;
    // Without padding to whole waves these blocks take this long; more splits only take longer.
    const double at_least = merging + per_sm * (splits * work_item + tile * key_tiles);
    if (splits > most || at_least >= best) break;
    best = std::min(best, merging + fast_ceil(per_sm * splits) * (work_item + tile * key_tiles / splits));
  }
  return best;
}

}  // namespace

FamilyPrice price_decode(const AttentionShape& shape, const AttentionDecodeParameters& p, const GpuSpec& gpu) {
  if (shape.decode_sequences <= 0) return {};
  const AttentionKernelTraits& kernel = traits(p.kernel);
  const auto sequences = static_cast<double>(shape.decode_sequences);
  const double context = shape.decode_context.as_double();
  const std::int64_t group = std::max<std::int64_t>(1, shape.query_heads / shape.kv_heads);
  const std::int64_t rows_per_sequence =
      std::max<std::int64_t>(1, ceil_divide(shape.decode_queries.count(), shape.decode_sequences));
  const std::int64_t tile_rows = decode_tile_rows(p.kernel, group * rows_per_sequence);
  const auto keys = static_cast<double>(tile_keys(p.kernel, shape.head_dim));
  const auto sm_count = static_cast<double>(gpu.sm_count);

  const std::int64_t row_tiles = ceil_divide(group * rows_per_sequence, tile_rows);
  const double items = sequences * static_cast<double>(shape.kv_heads * row_tiles);
  const double key_tiles = std::max(1.0, context / sequences / keys);
  const double tile =
      flops_per_row_and_key(shape) * static_cast<double>(tile_rows) * keys / (p.tile_efficiency * peak_per_sm(gpu));
  const bool swapped = group > 1 && rows_per_sequence == 1;
  const double most_splits = kernel.splits_swapped_only && !swapped ? 1.0 : static_cast<double>(kernel.most_splits);
  const double compute = block_seconds(items / sm_count, key_tiles, tile, most_splits, p);

  const double kv_bytes = context * kv_bytes_per_token(shape);
  const double overflow = 1.0 / (1.0 + to_the_16th(p.l2_share * gpu.l2.as_double() / kv_bytes));
  const double missed = shape.kv_in_l2 ? overflow : 1.0;
  const double io_bytes = shape.decode_queries.as_double() * io_bytes_per_row(shape);
  const double bandwidth = gpu.memory_bandwidth.count();
  const double memory = (kv_bytes * missed + io_bytes) / (bandwidth * p.hbm_efficiency) +
                        kv_bytes * (1.0 - missed) / (bandwidth * p.l2_speedup);

  const bool copies = kernel.splits_swapped_only && swapped && shape.kv_heads > 1 && shape.decode_sequences > 1;
  const double fixed = p.launch.seconds() + (copies ? p.head_packing.seconds() : 0.0) + p.hbm_ramp.seconds() * overflow;
  const double body = smooth_maximum(compute, memory, p.overlap_exponent);
  // Only arithmetic that was asked for counts as compute. Thread blocks that are too few, too short or mostly padding are
  // waiting for KV: they stream it below the full bandwidth.
  const double rows = static_cast<double>(group * rows_per_sequence * shape.kv_heads);
  const double arithmetic = flops_per_row_and_key(shape) * rows * context / (sm_count * peak_per_sm(gpu));
  return {Duration::seconds(fixed), Duration::seconds(arithmetic), Duration::seconds(std::max(memory, compute)),
          Duration::seconds(fixed + body)};
}

AttentionDecodeParameters read_attention_decode_parameters(MapReader& map) {
  AttentionDecodeParameters p;
  p.kernel = attention_kernel(map.choice("kernel", "flash_attention_2", attention_kernel_names()));
  p.launch = map.require<Duration>("launch", non_negative);
  if (traits(p.kernel).splits_swapped_only) p.head_packing = map.require<Duration>("head_packing", non_negative);
  p.work_item = map.require<Duration>("work_item", non_negative);
  p.tile_efficiency = map.require<double>("tile_efficiency", positive_fraction);
  p.combine = map.require<Duration>("combine", non_negative);
  p.combine_per_split = map.require<Duration>("combine_per_split", non_negative);
  p.hbm_efficiency = map.require<double>("hbm_efficiency", positive_fraction);
  p.l2_speedup = map.require<double>("l2_speedup", at_least_one);
  p.l2_share = map.require<double>("l2_share", positive);
  p.hbm_ramp = map.require<Duration>("hbm_ramp", non_negative);
  p.overlap_exponent = map.require<double>("overlap_exponent", at_least_one);
  return p;
}

}  // namespace ridgeline
