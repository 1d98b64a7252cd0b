#include "scenarios/build/step_cost.hpp"

#include <utility>

#include "hardware/device.hpp"
#include "hardware/table_cost.hpp"
#include "models/transformer.hpp"
#include "sim/cost/composed_step_cost.hpp"

namespace ridgeline {
namespace {

// CPU time to launch one kernel outside a CUDA graph. Bounds prefills above the largest captured size from below: engines
// launch ahead of the GPU, so it shows only where kernels are shorter than this.
constexpr Duration eager_launch = Duration::microseconds(4);

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
  return std::make_shared<ComposedStepCost>(make_work_model(pool), std::move(device), std::move(options));
}

}  // namespace ridgeline
