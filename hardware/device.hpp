// The default device model: every operator family priced by its own model with one GPU's calibration.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "hardware/all_reduce_choice.hpp"
#include "hardware/attention.hpp"
#include "hardware/calibration.hpp"
#include "hardware/gpu.hpp"
#include "hardware/node.hpp"
#include "hardware/roofline.hpp"
#include "sim/cost/seams.hpp"

namespace ridgeline {

struct DeviceOptions {
  CommunicationLibrary library = CommunicationLibrary::vllm;
};

/// What a benchmark did that an engine does not: asked for when prices are compared with measurements.
struct PricingConditions {
  CommunicationLibrary library = CommunicationLibrary::vllm;
  int ranks_per_node = 0;                ///< 0 = the node type's
  Weights weights = Weights::streamed;   ///< cycled: a few copies of one weight, which the L2 may keep
  bool unfused = false;                  ///< kernels and boards of 2023 (vidur): unfused elementwise, slower products
};

/// Every family priced by its own model with one GPU's calibration. Immutable, thread-safe.
class CalibratedDevice final : public DeviceModel {
 public:
  CalibratedDevice(const GpuSpec& gpu, const NodeType& node, int tensor_parallel, const Calibration& calibration,
                   const DeviceOptions& options = {});

  [[nodiscard]] OpPrice price(const Op& op) const override;

  struct Priced {
    FamilyPrice price;
    Provenance provenance = Provenance::datasheet;
  };
  [[nodiscard]] Priced price(const Op& op, const PricingConditions& conditions) const;

 private:
  /// The models of one family, by the number format they multiply in.
  template <class Model>
  class ByFormat {
   public:
    struct Entry {
      Model model;
      Provenance provenance;
    };
    /// Null when nothing can price the format.
    [[nodiscard]] const Entry* of(DType math, bool block_scaled) const {
      const std::optional<Entry>& entry = block_scaled && block_scaled_ ? block_scaled_ : entries_[static_cast<std::size_t>(math)];
      return entry ? &*entry : nullptr;
    }
    /// `sixteen_bit` stands in for narrow formats nobody measured: its efficiencies on their peaks.
    template <class Family>
    void fill(const GpuSpec& gpu, const Family& sixteen_bit, const Family& fp8, const Family& fp8_block, const Family& fp4);

   private:
    std::array<std::optional<Entry>, 8> entries_;  // by DType
    std::optional<Entry> block_scaled_;
  };

  [[nodiscard]] Priced roofline(const Op& op) const;
  [[nodiscard]] Priced price_shape(const Op& op, const GemmShape& shape, const PricingConditions& conditions) const;
  [[nodiscard]] Priced quantise_input(const Op& op, const GemmShape& shape, const PricingConditions& conditions) const;
  [[nodiscard]] Priced price_shape(const Op& op, const AttentionShape& shape, const PricingConditions& conditions) const;
  [[nodiscard]] Priced price_shape(const Op& op, const ElementwiseShape& shape, const PricingConditions& conditions) const;
  [[nodiscard]] Priced price_shape(const Op& op, const MoeShape& shape, const PricingConditions& conditions) const;
  [[nodiscard]] Priced price_shape(const Op& op, const CollectiveShape& shape, const PricingConditions& conditions) const;

  GpuSpec gpu_;
  NodeType node_;
  bool stages_cross_nodes_ = false;
  PricingConditions in_engine_;
  ByFormat<GemmModel> gemms_;
  ByFormat<GemmModel> gemms_2023_;
  ByFormat<MoeModel> moes_;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_fp8_;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_fp8_block_;
  std::optional<Calibrated<QuantiseInputParameters>> quantise_fp4_;
  std::optional<AttentionParameters> attention_;
  Provenance attention_provenance_ = Provenance::datasheet;
  std::optional<Calibrated<ElementwiseParameters>> elementwise_;
  std::optional<Calibrated<ElementwiseParameters>> elementwise_unfused_;
  std::optional<Calibrated<CollectiveParameters>> collective_;
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
