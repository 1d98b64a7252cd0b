#include "scenarios/build/step_cost.hpp"

#include <utility>

#include "hardware/device.hpp"
#include "hardware/table_cost.hpp"
#include "models/transformer.hpp"
#include "sim/cost/composed_step_cost.hpp"
#include "sim/cost/speculative_step_cost.hpp"

namespace ridgeline {
namespace {

// CPU time to launch one kernel outside a CUDA graph. Bounds prefills above the largest captured size from below: engines
// launch ahead of the GPU, so it shows only where kernels are shorter than this.
constexpr Duration eager_launch = Duration::microseconds(4);

DrafterWork drafter_work(const Pool& pool) {
  const SpeculationConfig& speculation = *pool.engine.speculation;
  DrafterWork work{.tree_depth = speculation.tree_depth, .tree_topk = speculation.tree_topk, .host = pool.drafter_host};
  if (!pool.drafter) return work;
  work.model = make_drafter(*pool.drafter, pool.tensor_parallel_size, pool.kv);
  work.sequential = pool.drafter->sequential();
  work.window = pool.drafter->model.sliding_window();
  work.extra_rows = speculation.method == "draft_model" ? 1 : 0;  // the bonus token, which the target has not read yet
  return work;
}

}  // namespace

std::shared_ptr<const WorkModel> make_work_model(const Pool& pool) {
  if (!pool.model) throw InternalError("pool " + pool.name + " has no model to lower");
  return make_transformer(*pool.model, {.shard = pool.shard(), .kv = pool.kv});
}

std::shared_ptr<const DeviceModel> make_device(const Scenario& scenario, const Pool& pool) {
  if (!pool.gpu || !pool.node) throw InternalError("pool " + pool.name + " has no GPU to price on");
  const Calibration calibration =
      pool.calibration == "auto" ? load_calibration(*pool.gpu) : load_calibration(*pool.gpu, pool.calibration);
  std::unique_ptr<DeviceModel> device = make_device_model(*pool.gpu, *pool.node, pool.tensor_parallel_size, calibration);
  if (scenario.cost.kind != CostKind::table) return device;
  return make_table_model(scenario.cost.table_file, *pool.gpu, std::move(device));
}

std::shared_ptr<StepCost> make_step_cost(const Scenario& scenario, const Pool& pool, const AdjustDevice& adjust) {
  if (scenario.cost.kind == CostKind::constant) return std::make_shared<ConstantStepCost>(scenario.cost.step_time);
  StepCostOptions options{.host = pool.host, .graph_sizes = pool.cudagraph_capture_sizes, .eager_launch = eager_launch};
  std::shared_ptr<const DeviceModel> device = make_device(scenario, pool);
  if (adjust) device = adjust(pool, std::move(device));
  auto target = std::make_unique<ComposedStepCost>(make_work_model(pool), device, options);
  if (!pool.engine.speculation) return target;
  return std::make_shared<SpeculativeStepCost>(std::move(target), std::move(device), std::move(options), drafter_work(pool));
}

}  // namespace ridgeline
