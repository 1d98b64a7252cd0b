// ridgeline list gpus|models|engines|schedulers|routers|workloads|links
#include <algorithm>

#include <fmt/format.h>

#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "models/parameters.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/engine_profiles.hpp"
#include "scenarios/report/text.hpp"
#include "sim/routing/builtin.hpp"
#include "sim/scheduling/builtin.hpp"
#include "workloads/workload.hpp"

namespace ridgeline::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string list_gpus() {
  TextTable table;
  table.add({"gpu", "memory", "bandwidth", "bf16", "fp8", "ridge", "link", "TDP", "USD/h"});
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name);
    const DType math = gpu.supports(DType::bf16) ? DType::bf16 : DType::fp16;
    table.add({name, binary_bytes(gpu.memory_visible.as_double()), si(gpu.memory_bandwidth.count(), "B/s"), si(gpu.peak(math).count(), "FLOP/s"),
               gpu.supports(DType::fp8) ? si(gpu.peak(DType::fp8).count(), "FLOP/s") : "-", figure(gpu.ridge_point(math)) + " FLOP/B",
               std::string(to_string(gpu.link.kind)), figure(gpu.tdp.count()) + " W",
               gpu.price ? fmt::format("{:.2f} ({})", gpu.price->per_gpu_hour.count(), gpu.price->date) : "-"});
  }
  return table.text();
}

std::string list_models() {
  TextTable table;
  table.add({"model", "parameters", "layers", "hidden", "heads", "KV heads", "context"});
  for (const std::string& name : model_names()) {
    const ModelSpec model = load_model(name);
    const LayerSpec& first = model.layers.front();
    table.add({name, si(static_cast<double>(count_parameters(model).total()), ""), grouped(model.layer_count()), grouped(model.hidden),
               grouped(model.heads), grouped(first.kv_heads), grouped(model.max_model_len)});
  }
  return table.text();
}

std::string list_engines() {
  std::string text;
  for (const EngineProfile& row : engine_profiles()) {
    bool built = false;
    for (const auto& scheduler : schedulers()) built = built || scheduler.name == row.scheduler;
    text += fmt::format("{:<18} {}{}\n{:<18} options: {}\n", row.name, row.description, built ? "" : " (not in this version)", "",
                        joined(row.options));
  }
  return text;
}

template <class Row>
std::string list_rows(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text;
  for (const Row& row : rows) text += fmt::format("{:<{}}  {}\n", row.name, width, row.description);
  return text;
}

std::string list_links() {
  TextTable table;
  table.add({"node", "GPUs", "inside", "NICs", "per NIC", "built with"});
  for (const std::string& name : node_names()) {
    const NodeType node = load_node(name);
    table.add({name, grouped(node.gpus_per_node), std::string(to_string(node.topology)), grouped(node.nics),
               node.nics > 0 ? si(node.nic_bandwidth.count(), "B/s") : "-", joined(node.gpus)});
  }
  return table.text();
}

}  // namespace

int list_command(const Arguments& arguments) {
  Options options("list", "Prints what the catalogs and registries hold.", "gpus|models|engines|schedulers|routers|workloads|links");
  if (!options.parse(arguments)) return 0;
  const std::string& what = options.operand();
  if (what == "gpus") print(list_gpus());
  else if (what == "models") print(list_models());
  else if (what == "engines") print(list_engines());
  else if (what == "schedulers") print(list_rows(schedulers()));
  else if (what == "routers") print(list_rows(routers()));
  else if (what == "workloads") print(list_rows(list_presets()) + "\ntrace formats:\n" + list_rows(list_trace_formats()));
  else if (what == "links") print(list_links());
  else throw ConfigError("nothing to list called `" + what + "`" + suggestion(what, {"gpus", "models", "engines", "schedulers", "routers", "workloads", "links"}));
  return 0;
}

}  // namespace ridgeline::cli
