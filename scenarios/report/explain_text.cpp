// An explanation as text and as JSON.
#include <fmt/format.h>

#include "scenarios/load/config_json.hpp"
#include "scenarios/load/resolve_speculation.hpp"
#include "scenarios/report/explain.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline {

namespace {

std::string time_text(Duration time) {
  const double us = time.microseconds();
  return us >= 1'000 ? figure(us / 1000) + " ms" : figure(us) + " us";
}

std::string share_of(Duration part, Duration whole) {
  return whole.count() > 0 ? percent(part.as_double() / whole.as_double()) : "-";
}

std::string head_text(const Explanation& e) {
  const Pool& pool = e.pool;
  const GpuSpec& gpu = *pool.gpu;
  const ModelSpec& model = *pool.model;
  std::string text = fmt::format("{} on {} x {}, {}\n", model.name, pool.tensor_parallel_size, gpu.name, pool.engine.profile);
  text += fmt::format("  {} parameters, {} layers, hidden {}, {} heads\n", si(static_cast<double>(count_parameters(model).total()), ""),
                      model.layer_count(), grouped(model.hidden), model.heads);
  text += fmt::format("  ridge point: {} over {} = {} FLOP/B ({})\n", si(gpu.peak(e.math).count(), "FLOP/s"),
                      si(gpu.memory_bandwidth.count(), "B/s"), figure(e.ridge_point), to_string(e.math));
  for (const std::string& note : model.notes) text += "  " + note + "\n";
  if (model.encoder) return text + "  an encoder: no KV cache, one pass per request\n";
  text += fmt::format("  KV cache: {} a token ({} B), {} a token and GPU; batch {} at {} tokens: {}\n",
                      binary_bytes(e.kv_bytes_per_token.as_double()), grouped(e.kv_bytes_per_token.count()),
                      binary_bytes(e.kv_bytes_per_token_per_gpu.as_double()), grouped(e.asked.batch), grouped(e.asked.context),
                      binary_bytes(e.kv_bytes.as_double()));
  if (e.recurrent_state.count() > 0) {
    text += fmt::format("  recurrent state: {} a sequence and GPU\n", binary_bytes(e.recurrent_state.as_double()));
  }
  return text;
}

std::string memory_text(const Explanation& e) {
  if (!e.pool.memory) return "";
  const MemoryBudget& m = *e.pool.memory;
  TextTable table;
  const auto line = [&](const std::string& what, Bytes bytes) { table.add({what, fmt::format("{:.2f} GiB", bytes.as_double() * 0x1p-30)}); };
  line("GPU memory as the driver reports it", m.total);
  if (!m.kv_given) {
    line(fmt::format("of that, gpu_memory_utilization {}", e.pool.gpu_memory_utilization), m.requested);
    line("- weights", m.weights.total());
    if (m.drafter_weights > Bytes{}) line("- weights of the drafter", m.drafter_weights);
    line("- activations, peak", m.activations);
    line("- CUDA context, NCCL, workspaces", m.non_torch);
    line("- CUDA graphs", m.graphs);
  } else {
    line("weights", m.weights.total());
    if (m.drafter_weights > Bytes{}) line("weights of the drafter", m.drafter_weights);
  }
  line(m.kv_given ? "KV cache, as given" : "= KV cache", m.kv);
  std::string text = "\nmemory of one GPU\n" + table.text("  ");
  text += fmt::format("  {} blocks of {} tokens ({} each): {} tokens, {:.2f} requests of {} tokens\n", grouped(e.pool.engine.num_gpu_blocks),
                      e.pool.engine.block_size, binary_bytes(m.layout.block_bytes().as_double()), grouped(m.kv_tokens.count()), m.max_concurrency,
                      grouped(e.pool.engine.max_model_len));
  return text;
}

std::vector<std::string> cells(const OperatorRow& row, Duration whole) {
  return {row.name, row.repeats > 0 ? grouped(row.repeats) : "", si(row.flops.count(), "FLOP"), si(row.weights.as_double(), "B"), si(row.kv.as_double(), "B"),
          si(row.activations.as_double(), "B"), figure(row.intensity()), std::string(to_string(row.bound)), time_text(row.time),
          share_of(row.time, whole), row.repeats > 0 ? std::string(to_string(row.provenance)) : ""};
}

std::string causes_text(const TimeByCause& time) {
  std::string text;
  const Duration whole = time.total();
  for (std::size_t i = 0; i < cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (time[cause].count() == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(cause), share_of(time[cause], whole));
  }
  return text;
}

std::string step_text(const Explanation& e, const ExplainedStep& step) {
  const std::size_t prompts = step.batch.chunks.size();
  std::string what = prompts == 0
                               ? fmt::format("batch {}, {} tokens of context each", grouped(e.asked.batch), grouped(e.asked.context))
                               : prompts > 1 ? fmt::format("{} prompts of {} tokens", grouped(static_cast<std::int64_t>(prompts)), grouped(e.asked.prompt))
                                           : fmt::format("one prompt of {} tokens", grouped(e.asked.prompt));
  if (step.batch.proposals > 0) what += fmt::format(", {} drafts each", step.batch.proposals);
  std::string text = fmt::format("\n{} step: {} (per GPU)\n", step.name, what);
  TextTable table;
  table.add({"operator", "times", "work", "weights", "KV", "activations", "FLOP/B", "bound by", "time", "share", "price"});
  for (const OperatorRow& row : step.rows) table.add(cells(row, step.sum.time));
  table.add(cells(step.sum, step.sum.time));
  text += table.text("  ");
  text += fmt::format("  as simulated: {} (GPU {}, host {} {}); {}\n", time_text(step.step.total), time_text(step.step.gpu),
                      time_text(step.step.host), e.pool.host.overlapped ? "beside it" : "after it", causes_text(step.step.by_cause));
  const OperatorRow& eager = step.materialised_attention;
  const OperatorRow& fused = step.fused_attention;
  if (eager.time > Duration{}) {
    text += fmt::format("  without FlashAttention attention would move {} instead of {} and take {} instead of {} (both by the roofline)\n",
                        si(eager.bytes().as_double(), "B"), si(fused.bytes().as_double(), "B"), time_text(eager.time), time_text(fused.time));
  }
  if (step.batch.proposals > 0) {
    text += fmt::format("  of that, {} to propose the next drafts; {} tokens a step expected\n", time_text(step.step.drafting),
                        figure(expected_tokens_per_step(*e.pool.engine.speculation)));
  }
  return text;
}

Cause largest(const TimeByCause& time) {
  Cause most = Cause::weights;
  for (std::size_t i = 0; i < cause_count; ++i) {
    if (time[static_cast<Cause>(i)] > time[most]) most = static_cast<Cause>(i);
  }
  return most;
}

// `axis` names what varies: "batch" or "tokens".
std::string curve_table(const std::vector<BatchPoint>& curve, const std::string& axis, bool decoding) {
  TextTable table;
  table.add({axis, "matrices FLOP/B", "attention FLOP/B", "step FLOP/B", "step", "tokens/s", "MFU", "MBU", "mostly", ""});
  for (const BatchPoint& point : curve) {
    const std::int64_t tokens = decoding ? point.batch : point.batch * point.tokens;
    table.add({grouped(axis == "batch" ? point.batch : point.tokens), figure(point.matrix_intensity), figure(point.attention_intensity),
               figure(point.intensity), time_text(point.step.total), figure(static_cast<double>(tokens) / point.step.total.seconds()),
               percent(point.mfu), percent(point.mbu), std::string(to_string(largest(point.step.by_cause))), point.fits ? "" : "does not fit"});
  }
  return table.text("  ");
}

std::string batch_or_none(const std::optional<std::int64_t>& batch) {
  return batch ? "at batch " + grouped(*batch) : "at no batch up to " + grouped(Crossing::most);
}

std::string crossing_text(const Explanation& e) {
  std::string text = fmt::format("  the matrices alone reach the ridge {}, the whole step {}", batch_or_none(e.crossing.matrices),
                                 batch_or_none(e.crossing.step));
  if (e.crossing.fits) text += fmt::format("; the KV of {} sequences fits", grouped(*e.crossing.fits));
  return text + "\n";
}

std::string curves_text(const Explanation& e) {
  if (e.curve.empty()) return "";
  const bool encoder = e.pool.model->encoder;
  const std::string ridge = fmt::format("the ridge is at {} FLOP/B", figure(e.ridge_point));
  std::string text = encoder ? fmt::format("\nencoding over batch, {} tokens each; {}\n", grouped(e.asked.prompt), ridge)
                             : fmt::format("\ndecode over batch, {} tokens of context each; {}\n", grouped(e.asked.context), ridge);
  text += curve_table(e.curve, "batch", !encoder);
  if (!encoder) text += crossing_text(e);
  text += encoder ? fmt::format("\nencoding over prompt length, batch {}\n", grouped(e.asked.batch)) : "\nprefill over prompt length, one prompt\n";
  return text + curve_table(e.prompts, "tokens", false);
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  std::string text = head_text(explanation) + memory_text(explanation);
  for (const ExplainedStep& step : explanation.steps) text += step_text(explanation, step);
  return text + curves_text(explanation);
}

namespace {

using Json = nlohmann::ordered_json;

Json row_json(const OperatorRow& row) {
  return {{"name", row.name},
          {"repeats", row.repeats},
          {"flops", row.flops.count()},
          {"weight_bytes", row.weights.count()},
          {"kv_bytes", row.kv.count()},
          {"activation_bytes", row.activations.count()},
          {"intensity", row.intensity()},
          {"bound", to_string(row.bound)},
          {"time_us", row.time.microseconds()},
          {"provenance", to_string(row.provenance)}};
}

Json causes_json(const TimeByCause& time) {
  Json json;
  for (std::size_t i = 0; i < cause_count; ++i) {
    json[std::string(to_string(static_cast<Cause>(i)))] = time[static_cast<Cause>(i)].microseconds();
  }
  return json;
}

Json step_json(const ExplainedStep& step) {
  Json json;
  json["operators"] = Json::array();
  for (const OperatorRow& row : step.rows) json["operators"].push_back(row_json(row));
  Json sum = row_json(step.sum);
  sum.erase("repeats");
  sum.erase("provenance");
  json["sum"] = sum;
  json["step_time_us"] = step.step.total.microseconds();
  json["gpu_time_us"] = step.step.gpu.microseconds();
  json["host_time_us"] = step.step.host.microseconds();
  if (step.batch.proposals > 0) json["drafting_time_us"] = step.step.drafting.microseconds();
  json["time_by_cause_us"] = causes_json(step.step.by_cause);
  const auto by_roofline = [](const OperatorRow& row) { return Json{{"bytes", row.bytes().count()}, {"time_us", row.time.microseconds()}}; };
  if (step.materialised_attention.time > Duration{}) {
    json["attention_by_roofline"] = {{"fused", by_roofline(step.fused_attention)}, {"scores_in_hbm", by_roofline(step.materialised_attention)}};
  }
  return json;
}

Json memory_json(const Pool& pool) {
  const MemoryBudget& m = *pool.memory;
  return {{"total_bytes", m.total.count()},
          {"gpu_memory_utilization", pool.gpu_memory_utilization},
          {"requested_bytes", m.requested.count()},
          {"weight_bytes", m.weights.total().count()},
          {"drafter_weight_bytes", m.drafter_weights.count()},
          {"activation_bytes", m.activations.count()},
          {"non_torch_bytes", m.non_torch.count()},
          {"cuda_graph_bytes", m.graphs.count()},
          {"kv_cache_bytes", m.kv.count()},
          {"block_bytes", m.layout.block_bytes().count()},
          {"num_gpu_blocks", pool.engine.num_gpu_blocks},
          {"kv_cache_tokens", m.kv_tokens.count()},
          {"max_concurrency", m.max_concurrency},
          {"fits", m.fits()}};
}

Json curve_json(const std::vector<BatchPoint>& curve) {
  Json list = Json::array();
  for (const BatchPoint& point : curve) {
    list.push_back({{"batch", point.batch},
                    {"tokens", point.tokens},
                    {"matrix_intensity", point.matrix_intensity},
                    {"attention_intensity", point.attention_intensity},
                    {"intensity", point.intensity},
                    {"mfu", point.mfu},
                    {"mbu", point.mbu},
                    {"step_time_us", point.step.total.microseconds()},
                    {"time_by_cause_us", causes_json(point.step.by_cause)},
                    {"fits", point.fits}});
  }
  return list;
}

Json explanation_json(const Explanation& e) {
  Json json;
  json["model"] = e.pool.model->name;
  json["gpu"] = e.pool.gpu->name;
  json["tensor_parallel_size"] = e.pool.tensor_parallel_size;
  json["batch"] = e.asked.batch;
  json["context"] = e.asked.context;
  json["prompt"] = e.asked.prompt;
  json["ridge_point"] = e.ridge_point;
  json["kv_bytes_per_token"] = e.kv_bytes_per_token.count();
  json["kv_bytes_per_token_per_gpu"] = e.kv_bytes_per_token_per_gpu.count();
  json["kv_bytes"] = e.kv_bytes.count();
  if (e.recurrent_state.count() > 0) json["recurrent_state_bytes_per_gpu"] = e.recurrent_state.count();
  if (e.pool.memory) json["memory"] = memory_json(e.pool);
  for (const ExplainedStep& step : e.steps) json[step.name] = step_json(step);
  json[e.pool.model->encoder ? "encoding_over_batch" : "decode_over_batch"] = curve_json(e.curve);
  json[e.pool.model->encoder ? "encoding_over_length" : "prefill_over_length"] = curve_json(e.prompts);
  if (!e.pool.model->encoder && !e.curve.empty()) {
    const auto batch = [](const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); };
    json["compute_bound_from_batch"] = {{"matrices", batch(e.crossing.matrices)}, {"step", batch(e.crossing.step)}, {"largest_that_fits", batch(e.crossing.fits)}};
  }
  return json;
}

}  // namespace

std::string explain_json(const std::vector<Explanation>& explanations) {
  if (explanations.size() == 1) return dump(explanation_json(explanations.front())) + "\n";
  Json list = Json::array();
  for (const Explanation& e : explanations) list.push_back(explanation_json(e));
  return dump(list) + "\n";
}

}  // namespace ridgeline
