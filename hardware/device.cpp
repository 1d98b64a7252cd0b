#include "hardware/device.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "hardware/attention.hpp"
#include "hardware/roofline.hpp"

namespace ridgeline {

namespace {

/// A family's price and where its parameters come from.
struct Priced {
  FamilyPrice price;
  Provenance provenance = Provenance::datasheet;
};

std::size_t index_of(DType type) { return static_cast<std::size_t>(type); }

/// Two kernels in a row.
FamilyPrice in_series(const FamilyPrice& a, const FamilyPrice& b) {
  return {a.fixed + b.fixed, a.compute + b.compute, a.memory + b.memory, a.total + b.total};
}

/// The worse of two origins: an operator is as trustworthy as its weakest part.
Provenance weaker(Provenance a, Provenance b) { return std::max(a, b); }

/// The calibrated matrix products of one GPU, by the type they multiply in.
class GemmModels {
 public:
  GemmModels(const GpuSpec& gpu, const Calibration& calibration) {
    for (const DType type : {DType::bf16, DType::fp16}) add(gpu, type, calibration.gemm);
    for (const DType type : {DType::fp8, DType::int8}) {
      add(gpu, type, calibration.gemm_fp8);
      if (!models_[index_of(type)]) add(gpu, type, calibration.gemm, Provenance::family);
    }
    add(gpu, DType::fp4, calibration.gemm_fp4);
    if (!models_[index_of(DType::fp4)]) add(gpu, DType::fp4, calibration.gemm, Provenance::family);
  }

  struct Entry {
    GemmModel model;
    Provenance provenance;
  };
  [[nodiscard]] const std::optional<Entry>& of(DType math) const { return models_[index_of(math)]; }

 private:
  void add(const GpuSpec& gpu, DType type, const std::optional<Calibrated<GemmParameters>>& family,
           Provenance at_best = Provenance::measured) {
    if (!family || !gpu.supports(type)) return;
    models_[index_of(type)] = Entry{GemmModel(gpu, type, family->parameters), weaker(family->provenance, at_best)};
  }

  std::array<std::optional<Entry>, 8> models_;
};

class CalibratedDevice final : public DeviceModel {
 public:
  CalibratedDevice(const GpuSpec& gpu, const NodeType& node, int tensor_parallel, const Calibration& calibration,
                   const DeviceOptions& options)
      : gpu_(gpu), node_(node), gemms_(gpu, calibration), library_(options.library) {
    stages_cross_nodes_ = tensor_parallel >= node.gpus_per_node;
    if (calibration.attention_decode && calibration.attention_prefill) {
      attention_ = AttentionParameters{calibration.attention_decode->parameters, std::nullopt, calibration.attention_prefill->parameters};
      attention_provenance_ = weaker(calibration.attention_decode->provenance, calibration.attention_prefill->provenance);
      if (calibration.attention_decode_kv8) attention_->decode_kv8 = calibration.attention_decode_kv8->parameters;
    }
    if (calibration.elementwise) elementwise_ = *calibration.elementwise;
    if (calibration.collective) collective_ = *calibration.collective;
  }

  [[nodiscard]] OpPrice price(const Op& op) const override {
    const Priced priced = std::visit([&](const auto& shape) { return price_shape(op, shape); }, op.shape);
    return {priced.price.total, split_by_cause(op, priced.price), priced.provenance};
  }

 private:
  [[nodiscard]] Priced roofline(const Op& op) const { return {ridgeline::price(op, usual_roofline, gpu_), Provenance::datasheet}; }

  [[nodiscard]] Priced price_shape(const Op& op, const GemmShape& shape) const {
    const auto& entry = gemms_.of(shape.math);
    Priced gemm = entry ? Priced{entry->model.price(shape), entry->provenance} : roofline(op);
    if (!shape.quantises_input) return gemm;
    const Priced quantise = price_shape(op, ElementwiseShape{ElementwiseFamily::quantise, shape.m, shape.k});
    return {in_series(gemm.price, quantise.price), weaker(gemm.provenance, quantise.provenance)};
  }

  [[nodiscard]] Priced price_shape(const Op& op, const AttentionShape& shape) const {
    if (!attention_) return roofline(op);
    return {ridgeline::price(shape, *attention_, gpu_), attention_provenance_};
  }

  [[nodiscard]] Priced price_shape(const Op& op, const ElementwiseShape& shape) const {
    if (!elementwise_) return roofline(op);
    return {ridgeline::price(shape, elementwise_->parameters, gpu_), elementwise_->provenance};
  }

  [[nodiscard]] Priced price_shape(const Op& op, const MoeShape&) const { return roofline(op); }

  [[nodiscard]] Priced price_shape(const Op& op, const CollectiveShape& shape) const {
    if (!collective_) return roofline(op);
    const bool to_next_stage = shape.kind == CollectiveKind::send_recv;
    const int per_node = to_next_stage && stages_cross_nodes_ ? 1 : node_.gpus_per_node;
    return {ridgeline::price(shape, collective_->parameters, gpu_, node_, {library_, per_node}), collective_->provenance};
  }

  GpuSpec gpu_;
  NodeType node_;
  GemmModels gemms_;
  CommunicationLibrary library_;
  bool stages_cross_nodes_ = false;
  std::optional<AttentionParameters> attention_;
  Provenance attention_provenance_ = Provenance::datasheet;
  std::optional<Calibrated<ElementwiseParameters>> elementwise_;
  std::optional<Calibrated<CollectiveParameters>> collective_;
};

class RooflineDevice final : public DeviceModel {
 public:
  RooflineDevice(const GpuSpec& gpu, const RooflineParameters& parameters) : gpu_(gpu), parameters_(parameters) {}

  [[nodiscard]] OpPrice price(const Op& op) const override {
    const FamilyPrice family = ridgeline::price(op, parameters_, gpu_);
    return {family.total, split_by_cause(op, family), Provenance::datasheet};
  }

 private:
  GpuSpec gpu_;
  RooflineParameters parameters_;
};

/// `part` of `whole` in integer picoseconds, at most `left`.
Duration share(Duration whole, Bytes part, Bytes all, Duration left) {
  const double picoseconds = whole.as_double() * part.as_double() / all.as_double();
  return std::min(Duration{static_cast<std::int64_t>(picoseconds)}, left);
}

}  // namespace

TimeByCause split_by_cause(const Op& op, const FamilyPrice& price) {
  TimeByCause parts;
  if (std::holds_alternative<CollectiveShape>(op.shape)) {
    parts[Cause::communication] = price.total;
    return parts;
  }
  const Duration fixed = std::min(price.fixed, price.total);
  const Duration rest = price.total - fixed;
  parts[Cause::overhead] = fixed;
  const Bytes bytes = op.weight_bytes + op.kv_bytes + op.activation_bytes;
  if (price.compute >= price.memory || bytes == Bytes{}) {
    parts[Cause::compute] = rest;
    return parts;
  }
  parts[Cause::weights] = share(rest, op.weight_bytes, bytes, rest);
  parts[Cause::kv] = share(rest, op.kv_bytes, bytes, rest - parts[Cause::weights]);
  parts[Cause::activations] = rest - parts[Cause::weights] - parts[Cause::kv];
  return parts;
}

std::unique_ptr<DeviceModel> make_device_model(const GpuSpec& gpu, const NodeType& node, int tensor_parallel,
                                               const Calibration& calibration, const DeviceOptions& options) {
  return std::make_unique<CalibratedDevice>(gpu, node, tensor_parallel, calibration, options);
}

std::unique_ptr<DeviceModel> make_roofline_model(const GpuSpec& gpu, const RooflineParameters& parameters) {
  return std::make_unique<RooflineDevice>(gpu, parameters);
}

}  // namespace ridgeline
