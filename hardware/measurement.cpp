#include "hardware/measurement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "hardware/expert_load.hpp"

namespace ridgeline {

namespace {

/// Why a row can't be priced; thrown and caught inside this file.
struct Unpriceable {
  std::string reason;
};

std::int64_t whole(const CsvTable::Row& row, std::string_view column) {
  const std::optional<double> value = row.number(column);
  if (!value) throw Unpriceable{"no number in column `" + std::string(column) + "`"};
  if (*value < 0.0 || *value > 9e15 || *value != std::floor(*value)) {
    throw Unpriceable{"column `" + std::string(column) + "` is not a whole number from 0 on"};
  }
  return static_cast<std::int64_t>(*value);
}

std::int64_t at_least(std::int64_t least, const CsvTable::Row& row, std::string_view column) {
  const std::int64_t value = whole(row, column);
  if (value < least) throw Unpriceable{"column `" + std::string(column) + "` is below " + std::to_string(least)};
  return value;
}

Duration measured_time(const CsvTable::Row& row) {
  constexpr std::array<std::pair<std::string_view, double>, 4> columns{
      {{"time_us", 1e-6}, {"time_ms", 1e-3}, {"time_s", 1.0}, {"latency_us", 1e-6}}};
  for (const auto& [column, seconds] : columns) {
    const std::optional<double> value = row.number(column);
    if (!value) continue;
    if (*value <= 0.0 || *value * seconds > 1e6) throw Unpriceable{"the measured time is not positive"};
    return Duration::seconds(*value * seconds);
  }
  throw Unpriceable{"no measured time (columns time_us, time_ms, time_s or latency_us)"};
}

/// A benchmark's name of a number format and what it means.
struct Format {
  std::string_view name;
  DType math;
  double bits;  ///< storage, scales included
};

constexpr std::array<Format, 9> formats{{{"bf16", DType::bf16, 16.0},
                                          {"fp16", DType::fp16, 16.0},
                                          {"float16", DType::fp16, 16.0},
                                          {"bfloat16", DType::bf16, 16.0},
                                          {"half", DType::fp16, 16.0},
                                          {"fp8", DType::fp8, 8.0},
                                          {"fp8_block", DType::fp8, 8.002},  // one fp32 scale per 128 x 128 block
                                          {"int8", DType::int8, 8.0},
                                          {"nvfp4", DType::fp4, 4.5}}};  // one fp8 scale per 16

const Format& format_of(std::string_view name) {
  for (const Format& format : formats) {
    if (format.name == name) return format;
  }
  throw Unpriceable{"number format `" + std::string(name) + "` is not known"};
}

Bytes bytes_of(double elements, double bits) { return Bytes{detail::ceil_to_int64(elements * bits / 8.0)}; }

double product(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

Op gemm(const CsvTable::Row& row, bool quantises_input) {
  const Format& format = format_of(row.text("dtype"));
  GemmShape shape;
  shape.m = at_least(1, row, "m");
  shape.n = at_least(1, row, "n");
  shape.k = at_least(1, row, "k");
  shape.math = shape.weight = format.math;
  shape.weight_bits = format.bits;
  shape.quantises_input = quantises_input;
  shape.block_scaled = format.name == "fp8_block";
  Op op{"gemm", shape, 1, Flops{2.0 * product(shape.m, shape.n) * static_cast<double>(shape.k)}, {}, {}, {}};
  op.weight_bytes = bytes_of(product(shape.n, shape.k), format.bits);
  op.activation_bytes = bytes_of(product(shape.m, shape.k), format.bits) + bytes_of(product(shape.m, shape.n), 16.0);
  return op;
}

/// FLOPs and bytes of an attention call from its shape: 2 d per query head, query and visible key for each of QK and PV.
void add_attention_work(Op& op) {
  const auto& shape = std::get<AttentionShape>(op.shape);
  double pairs = 0.0;  // (query row, visible key)
  double keys = shape.decode_context.as_double();
  double queries = shape.decode_queries.as_double();
  if (shape.decode_sequences > 0) {
    pairs += keys * queries / static_cast<double>(shape.decode_sequences);
  }
  for (const PrefillChunk& chunk : shape.chunks) {
    const double q = chunk.new_tokens.as_double();
    const double h = chunk.history.as_double();
    pairs += shape.causal ? q * h + q * (q + 1.0) / 2.0 : q * (q + h);
    keys += q + h;
    queries += q;
  }
  const double dims = static_cast<double>(shape.head_dim + shape.value_dim);
  const double heads = static_cast<double>(shape.query_heads);
  op.flops = Flops{2.0 * heads * dims * pairs};
  op.kv_bytes = bytes_of(kv_bytes_per_token(shape) * keys, 8.0);
  op.activation_bytes = bytes_of(heads * dims * queries, 16.0);
}

AttentionShape attention_heads(const CsvTable::Row& row) {
  AttentionShape shape;
  shape.query_heads = at_least(1, row, "num_q_heads");
  shape.kv_heads = at_least(1, row, "num_kv_heads");
  shape.head_dim = shape.value_dim = at_least(1, row, "head_dim");
  if (shape.query_heads % shape.kv_heads != 0) throw Unpriceable{"the query heads are no multiple of the KV heads"};
  const std::string_view kv = row.text("kv_dtype").empty() ? row.text("dtype") : row.text("kv_dtype");
  const Format& format = format_of(kv);
  shape.kv = format.math;
  shape.kv_bits = format.bits;
  if (row.text("causal") == "0") shape.causal = false;
  // LLMServingSim profiles whole models, whose weights sweep the L2 between two calls; the others replay one call.
  shape.kv_in_l2 = row.text("source") != "llmservingsim";
  return shape;
}

void set_value_dim(AttentionShape& shape, std::string_view op) {
  if (op == "mla_decode") {
    if (shape.head_dim != 576) throw Unpriceable{"mla_decode with a latent other than 576"};
    shape.value_dim = 512;
  } else if (op == "mla_prefill") {
    if (shape.head_dim != 192) throw Unpriceable{"mla_prefill with a key other than 192"};
    shape.value_dim = 128;
  }
}

void attention(const CsvTable::Row& row, std::string_view op, Measurement& out) {
  AttentionShape shape = attention_heads(row);
  set_value_dim(shape, op);
  const std::int64_t batch = at_least(1, row, "batch");
  const std::int64_t queries = at_least(1, row, "q_len");
  const std::int64_t keys = at_least(queries, row, "kv_len");
  if (op.ends_with("decode")) {
    shape.decode_sequences = batch;
    shape.decode_queries = Tokens{batch * queries};
    shape.decode_context = Tokens{batch * keys};
  } else {
    const PrefillChunk chunk{Tokens{queries}, Tokens{keys - queries}};
    out.chunks = std::make_shared<const std::vector<PrefillChunk>>(static_cast<std::size_t>(batch), chunk);
    shape.chunks = *out.chunks;
  }
  out.work = {"attention", shape, 1, {}, {}, {}, {}};
  add_attention_work(out.work);
}

void mixed_attention(const CsvTable::Row& row, Measurement& out) {
  AttentionShape shape = attention_heads(row);
  const std::int64_t queries = whole(row, "prefill_q_len");
  const std::int64_t history = whole(row, "prefill_kv_history");
  shape.decode_sequences = whole(row, "n_decode");
  shape.decode_queries = Tokens{shape.decode_sequences};
  shape.decode_context = Tokens{shape.decode_sequences * whole(row, "decode_kv_len")};
  if (queries == 0 && shape.decode_sequences == 0) throw Unpriceable{"an attention call without queries"};
  out.chunks = std::make_shared<const std::vector<PrefillChunk>>(queries > 0 ? 1 : 0, PrefillChunk{Tokens{queries}, Tokens{history}});
  shape.chunks = *out.chunks;
  out.work = {"attention", shape, 1, {}, {}, {}, {}};
  add_attention_work(out.work);
}

constexpr std::array<std::pair<std::string_view, ElementwiseFamily>, 14> elementwise_names{{
    {"rmsnorm", ElementwiseFamily::norm},
    {"layernorm", ElementwiseFamily::layer_norm},
    {"rmsnorm+residual", ElementwiseFamily::residual_norm},
    {"rope", ElementwiseFamily::rope},
    {"silu_mul", ElementwiseFamily::gated_activation},
    {"gelu_mul", ElementwiseFamily::gated_activation},
    {"gelu", ElementwiseFamily::activation},
    {"relu", ElementwiseFamily::activation},
    {"silu", ElementwiseFamily::activation},
    {"add", ElementwiseFamily::add},
    {"embedding", ElementwiseFamily::embedding},
    {"quantise", ElementwiseFamily::quantise},
    {"act_quant", ElementwiseFamily::quantise},
    {"sampling", ElementwiseFamily::sampling},
}};

void elementwise(const CsvTable::Row& row, ElementwiseFamily family, Measurement& out) {
  const ElementwiseShape shape{family, at_least(1, row, "tokens"), at_least(1, row, "width")};
  out.work = {"elementwise", shape, 1, {}, {}, {}, ideal_bytes(shape)};
  out.conditions.unfused = out.source == "vidur";
}

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 9> collective_names{{
    {"all_reduce", CollectiveKind::all_reduce},
    {"all_gather", CollectiveKind::all_gather},
    {"reduce_scatter", CollectiveKind::reduce_scatter},
    {"alltoall", CollectiveKind::all_to_all},
    {"all_to_all", CollectiveKind::all_to_all},
    {"send_recv", CollectiveKind::send_recv},
    {"sendrecv", CollectiveKind::send_recv},
    {"allreduce", CollectiveKind::all_reduce},
    {"allgather", CollectiveKind::all_gather},
}};

void collective(const CsvTable::Row& row, CollectiveKind kind, Measurement& out) {
  CollectiveShape shape;
  shape.kind = kind;
  shape.bytes = Bytes{at_least(1, row, "bytes")};
  shape.ranks = static_cast<int>(at_least(2, row, "ranks"));
  // vidur timed NCCL kernels of eager PyTorch calls: waiting for the last rank to launch is part of them.
  const bool vidur = out.source == "vidur";
  shape.in_graph = !vidur && !out.label.ends_with("_eager");
  out.conditions.ranks_per_node = row.text("ranks_per_node").empty() ? shape.ranks : static_cast<int>(at_least(1, row, "ranks_per_node"));
  if (vidur && out.conditions.ranks_per_node < shape.ranks && out.gpu.starts_with("A100")) {
    throw Unpriceable{"vidur's A100 nodes: the network between them is not stated"};
  }
  out.conditions.library = out.label.starts_with("vllm")     ? CommunicationLibrary::vllm
                           : out.label.starts_with("trtllm") ? CommunicationLibrary::trtllm
                                                             : CommunicationLibrary::nccl;
  out.work = {"collective", shape, 1, {}, {}, {}, shape.bytes};
}

void fused_moe(const CsvTable::Row& row, Measurement& out) {
  const Format& format = format_of(out.dtype);
  const std::int64_t tp = at_least(1, row, "moe_tp");
  const std::int64_t ep = at_least(1, row, "moe_ep");
  MoeShape shape;
  shape.tokens = at_least(1, row, "tokens");
  shape.hidden = at_least(1, row, "hidden");
  shape.intermediate = std::max<std::int64_t>(1, at_least(1, row, "inter") / tp);
  shape.total_experts = at_least(ep, row, "experts");
  shape.experts = shape.total_experts / ep;
  shape.top_k = at_least(1, row, "topk");
  shape.math = shape.weight = format.math;
  shape.weight_bits = format.bits;
  shape.block_scaled = format.name == "fp8_block";
  // The files don't say so, but Nemotron 3's latent experts (22 of 512) have no gate projection.
  shape.gated = !(shape.top_k == 22 && shape.total_experts == 512);
  const std::string_view distribution = row.text("distribution");
  constexpr std::string_view power_law = "power_law_";
  if (distribution.starts_with(power_law)) {
    shape.skew = std::stod(std::string(distribution.substr(power_law.size())));
  } else if (distribution != "balanced") {
    throw Unpriceable{"expert distribution `" + std::string(distribution) + "` is not known"};
  }
  const ExpertLoad load = expert_load(shape);
  const double expert = (shape.gated ? 3.0 : 2.0) * product(shape.hidden, shape.intermediate);
  out.work = {"moe", shape, 1, Flops{2.0 * load.rows * expert}, {}, {}, {}};
  out.work.weight_bytes = bytes_of(load.active * expert, format.bits);
  out.work.activation_bytes = bytes_of(2.0 * product(shape.tokens, shape.hidden), 16.0);
}

template <class Names>
auto find_name(const Names& names, std::string_view name) {
  return std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == name; });
}

void read_operator(const CsvTable::Row& row, Measurement& out) {
  const std::string_view op = out.op;
  if (op == "gemm" || op == "gemm+act_quant") {
    out.work = gemm(row, op == "gemm+act_quant");
    // aiconfigurator replays up to six copies of a weight, of which small ones stay in the L2.
    if (out.source.starts_with("aiconfigurator")) out.conditions.weights = Weights::cycled;
    out.conditions.unfused = out.source == "vidur";
  } else if (op == "attn_mixed") {
    mixed_attention(row, out);
  } else if (op == "attn_decode" || op == "attn_prefill" || op == "mla_decode" || op == "mla_prefill") {
    attention(row, op, out);
  } else if (op == "fused_moe") {
    fused_moe(row, out);
  } else if (const auto family = find_name(elementwise_names, op); family != elementwise_names.end()) {
    elementwise(row, family->second, out);
  } else if (const auto kind = find_name(collective_names, op); kind != collective_names.end()) {
    collective(row, kind->second, out);
  } else {
    throw Unpriceable{"operator `" + out.op + "` has no price model"};
  }
}

Measurement read_measurement(const CsvTable& table, const CsvTable::Row& row) {
  Measurement out;
  out.file = table.file();
  out.line = row.line();
  out.gpu = row.text("gpu");
  out.op = row.text("op");
  out.dtype = row.text("dtype");
  out.source = row.text("source");
  out.label = row.text("label");
  out.time = measured_time(row);
  read_operator(row, out);
  return out;
}

}  // namespace

void Measurements::skip(const std::string& reason, std::size_t count) {
  const auto known = std::find_if(skipped.begin(), skipped.end(), [&](const SkippedRows& row) { return row.reason == reason; });
  if (known != skipped.end()) {
    known->rows += count;
  } else if (count > 0) {
    skipped.push_back({reason, count});
  }
}

void read_measurements(const CsvTable& table, Measurements& into) {
  if (!table.has("op") || !table.has("gpu")) {
    into.skip("no columns `gpu` and `op`: not operator measurements (" + std::filesystem::path(table.file()).filename().string() + ")",
              table.size());
    return;
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    try {
      into.rows.push_back(read_measurement(table, table.row(i)));
    } catch (const Unpriceable& why) {
      into.skip(why.reason);
    }
  }
}

void read_measurements(const std::filesystem::path& file, Measurements& into) { read_measurements(CsvTable::load(file), into); }

std::string catalog_gpu(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    name += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(byte));
  }
  for (const std::string_view prefix : {"nvidia-", "amd-", "geforce-", "instinct-", "tesla-"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> aliases{{
      {"a100-80gb", "a100-sxm-80gb"},         {"a100-sxm4-80gb", "a100-sxm-80gb"},   {"a100-40gb", "a100-sxm-40gb"},
      {"a100-sxm4-40gb", "a100-sxm-40gb"},    {"a100-80gb-pcie", "a100-pcie-80gb"},  {"a40-48gb", "a40"},
      {"h100-80gb", "h100-sxm-80gb"},         {"h100-sxm5-80gb", "h100-sxm-80gb"},   {"h100-80gb-hbm3", "h100-sxm-80gb"},
      {"h100-pcie", "h100-pcie-80gb"},        {"h200", "h200-sxm"},                  {"h200-sxm-141gb", "h200-sxm"},
      {"h800-80gb", "h800-sxm-80gb"},         {"h20", "h20-sxm-96gb"},               {"b200-sxm-180gb", "b200"},
      {"b200-sxm-hgx", "b200"},               {"b300-sxm-288gb", "b300"},            {"l40s-48gb", "l40s"},
      {"rtx-pro-6000-se", "rtx-pro-6000"},    {"gh200-sxm-96gb", "gh200-96gb"},      {"v100-32gb", "v100-sxm2-32gb"},
      {"mi300x-192gb", "mi300x"},
  }};
  if (const auto alias = find_name(aliases, name); alias != aliases.end()) name = alias->second;
  const std::vector<std::string> names = gpu_names();
  return std::find(names.begin(), names.end(), name) != names.end() ? name : std::string{};
}

}  // namespace ridgeline
