#include "hardware/validate_operators.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ridgeline {

namespace {

/// The models of one GPU.
struct Machine {
  GpuSpec gpu;
  NodeType node;
  CalibratedDevice device;

  explicit Machine(const GpuSpec& spec)
      : gpu(spec), node(default_node(spec)), device(gpu, node, node.gpus_per_node, load_calibration(gpu)) {}

  /// Datasheet time: link bandwidth for collectives, peaks and bandwidth for the rest.
  [[nodiscard]] Duration roofline(const Measurement& measured) const {
    const auto* collective = std::get_if<CollectiveShape>(&measured.work.shape);
    if (collective == nullptr) return price(measured.work, pure_roofline, gpu).total;
    const double ranks = collective->ranks;
    const double rounds = collective->kind == CollectiveKind::all_reduce ? 2.0 : 1.0;
    const double share = collective->kind == CollectiveKind::send_recv ? 1.0 : rounds * (ranks - 1.0) / ranks;
    const bool crosses = measured.conditions.ranks_per_node < collective->ranks;
    const double rate = crosses ? node.nic_bandwidth_per_gpu().count() * measured.conditions.ranks_per_node : gpu.link.per_gpu.count();
    return Duration::seconds(collective->bytes.as_double() * share / rate);
  }
};

std::string describe(const GemmShape& s) { return fmt::format("m={} n={} k={}", s.m, s.n, s.k); }
std::string describe(const AttentionShape& s) {
  std::string text = fmt::format("heads={}/{} dim={}", s.query_heads, s.kv_heads, s.head_dim);
  if (s.decode_sequences > 0) text += fmt::format(" decode={} x {}", s.decode_sequences, s.decode_context.count() / s.decode_sequences);
  if (!s.chunks.empty()) {
    text += fmt::format(" prefill={} x {} after {}", s.chunks.size(), s.chunks.front().new_tokens.count(), s.chunks.front().history.count());
  }
  return text;
}
std::string describe(const ElementwiseShape& s) { return fmt::format("rows={} width={}", s.rows, s.width); }
std::string describe(const MoeShape& s) {
  return fmt::format("tokens={} hidden={} inter={} experts={}/{} top_k={} skew={}", s.tokens, s.hidden, s.intermediate, s.experts,
                     s.total_experts, s.top_k, s.skew);
}
std::string describe(const CollectiveShape& s) {
  return fmt::format("ranks={} bytes={}{}", s.ranks, s.bytes.count(), s.in_graph ? "" : " eager");
}

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

OperatorGroup summarise(const std::vector<ValidatedRow>& rows, const std::vector<std::size_t>& members) {
  const ValidatedRow& first = rows[members.front()];
  OperatorGroup group{first.gpu, first.op, first.dtype, first.source, members.size(), 0.0, 0.0, 0.0, 0.0, members};
  std::vector<double> errors;
  for (const std::size_t row : members) {
    errors.push_back(std::abs(rows[row].error()));
    group.mape += errors.back();
    group.roofline_mape += std::abs(rows[row].roofline_error());
  }
  const double count = static_cast<double>(members.size());
  group.mape /= count;
  group.roofline_mape /= count;
  std::sort(errors.begin(), errors.end());
  group.median = quantile(errors, 0.5);
  group.p90 = quantile(errors, 0.9);
  constexpr std::size_t shown = 5;
  std::stable_sort(group.worst.begin(), group.worst.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(rows[a].error()) > std::abs(rows[b].error()); });
  if (group.worst.size() > shown) group.worst.resize(shown);
  return group;
}

std::vector<OperatorGroup> group_rows(const std::vector<ValidatedRow>& rows) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> index;
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [place, is_new] = index.try_emplace({rows[i].gpu, rows[i].op, rows[i].dtype, rows[i].source}, members.size());
    if (is_new) members.emplace_back();
    members[place->second].push_back(i);
  }
  std::vector<OperatorGroup> groups;
  for (const auto& group : members) groups.push_back(summarise(rows, group));
  return groups;
}

}  // namespace

OperatorValidation validate_operators(const std::vector<std::filesystem::path>& files) {
  Measurements measurements;
  for (const auto& file : files) read_measurements(file, measurements);
  return validate_operators(std::move(measurements));
}

OperatorValidation validate_operators(Measurements measurements) {
  OperatorValidation result;
  std::map<std::string, std::unique_ptr<Machine>> machines;  // by label; null when the GPU is unknown
  for (const Measurement& measured : measurements.rows) {
    const auto [place, is_new] = machines.try_emplace(measured.gpu);
    if (is_new) {
      const std::string name = catalog_gpu(measured.gpu);
      if (!name.empty()) place->second = std::make_unique<Machine>(load_gpu(name));
    }
    if (!place->second) {
      measurements.skip("GPU `" + measured.gpu + "` is not in the catalog");
      continue;
    }
    const Machine& machine = *place->second;
    const CalibratedDevice::Priced priced = machine.device.price(measured.work, measured.conditions);
    result.rows.push_back({measured.file, measured.line, measured.gpu, measured.op, measured.dtype, measured.source, measured.label,
                           std::visit([](const auto& shape) { return describe(shape); }, measured.work.shape), measured.time,
                           priced.price.total, machine.roofline(measured), priced.provenance});
  }
  result.groups = group_rows(result.rows);
  result.skipped = std::move(measurements.skipped);
  return result;
}

std::string to_json(const OperatorValidation& validation) {
  nlohmann::ordered_json json;
  json["groups"] = nlohmann::ordered_json::array();
  for (const OperatorGroup& group : validation.groups) {
    json["groups"].push_back({{"gpu", group.gpu},
                              {"op", group.op},
                              {"dtype", group.dtype},
                              {"source", group.source},
                              {"rows", group.rows},
                              {"mape", group.mape},
                              {"median", group.median},
                              {"p90", group.p90},
                              {"roofline_mape", group.roofline_mape}});
  }
  json["skipped"] = nlohmann::ordered_json::array();
  for (const SkippedRows& skipped : validation.skipped) {
    json["skipped"].push_back({{"reason", skipped.reason}, {"rows", skipped.rows}});
  }
  return json.dump(2) + "\n";
}

}  // namespace ridgeline
