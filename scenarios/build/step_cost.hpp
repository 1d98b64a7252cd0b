// What a pool's steps cost: model and device joined, or a constant.
#pragma once

#include <functional>
#include <memory>

#include "scenarios/load/scenario.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

/// The model of `pool` lowered for one rank. The pool must have a model.
std::shared_ptr<const WorkModel> make_work_model(const Pool& pool);

/// The GPU of `pool` in its node, with the calibration or the measured table that the scenario names. The pool must have a GPU.
std::shared_ptr<const DeviceModel> make_device(const Scenario& scenario, const Pool& pool);

/// Stands between a pool's device and its step prices: takes one, gives another.
using AdjustDevice = std::function<std::shared_ptr<const DeviceModel>(const Pool&, std::shared_ptr<const DeviceModel>)>;

/// Prices the pool's steps. Memoises: one instance per pool and run.
std::shared_ptr<StepCost> make_step_cost(const Scenario& scenario, const Pool& pool, const AdjustDevice& adjust = {});

}  // namespace ridgeline
