// The default device model: every operator family priced by its own model with one GPU's calibration.
#pragma once

#include <memory>

#include "hardware/all_reduce_choice.hpp"
#include "hardware/calibration.hpp"
#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "hardware/roofline.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

struct DeviceOptions {
  CommunicationLibrary library = CommunicationLibrary::vllm;
};

/// `tensor_parallel` ranks are consecutive, filling nodes; a collective of more ranks than a node has GPUs runs over the NICs,
/// and so does send/recv between pipeline stages once a stage fills its node. Immutable, thread-safe.
std::unique_ptr<DeviceModel> make_device_model(const GpuSpec& gpu, const NodeType& node, int tensor_parallel,
                                               const Calibration& calibration, const DeviceOptions& options = {});

/// Everything by the roofline: `pure_roofline` for the yardstick, `usual_roofline` for a GPU nobody measured.
std::unique_ptr<DeviceModel> make_roofline_model(const GpuSpec& gpu, const RooflineParameters& parameters);

/// Splits a family's price by cause, to the picosecond. A collective is communication, latency included. Of everything else the
/// fixed part is overhead, and the rest goes to what bounds it: to compute, or to weights, KV and activations by their bytes.
TimeByCause split_by_cause(const Op& op, const FamilyPrice& price);

}  // namespace ridgeline
