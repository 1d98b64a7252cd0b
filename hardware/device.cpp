#include "hardware/device.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "hardware/roofline.hpp"

namespace ridgeline {

namespace {

/// Two kernels in a row.
FamilyPrice in_series(const FamilyPrice& a, const FamilyPrice& b) {
  return {a.fixed + b.fixed, a.compute + b.compute, a.memory + b.memory, a.total + b.total};
}

/// The worse of two origins: an operator is as trustworthy as its weakest part.
Provenance weaker(Provenance a, Provenance b) { return std::max(a, b); }

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

/// Share of the boost clock that long runs of dense 16-bit products keep under the power limit. Hopper: 0.90, the share at which
/// replayed logs of one H100 SXM at 2 to 12 requests/s meet their measured TPOT and E2E within 3 % (residency-vllm, docs/accuracy.md);
/// kernels replayed a few times in a benchmark run at boost. A100: what its servers reach asks for no such share.
double sustained_clock(const GpuSpec& gpu) { return gpu.architecture == "hopper" ? 0.90 : 1.0; }

/// A benchmark's calibration as a server runs it: everything on the chip goes with the clock, HBM does not.
Calibration at_sustained_clock(Calibration calibration, const GpuSpec& gpu) {
  if (!calibration.gemm) return calibration;
  const double share = sustained_clock(gpu);
  GemmParameters& parameters = calibration.gemm->parameters;
  parameters.tensor_efficiency *= share;
  parameters.load_bytes_per_clock *= share;
  parameters.l2_bytes_per_clock *= share;
  parameters.step_clocks /= share;
  return calibration;
}

/// `part` of `whole` in integer picoseconds, at most `left`.
Duration share(Duration whole, Bytes part, Bytes all, Duration left) {
  const double picoseconds = whole.as_double() * part.as_double() / all.as_double();
  return std::min(Duration{static_cast<std::int64_t>(picoseconds)}, left);
}

}  // namespace

template <class Model>
template <class Family>
void CalibratedDevice::ByFormat<Model>::fill(const GpuSpec& gpu, const Family& sixteen_bit, const Family& fp8,
                                             const Family& fp8_block, const Family& fp4) {
  const auto add = [&](std::optional<Entry>& entry, DType type, const Family& family, Provenance at_best = Provenance::measured) {
    if (entry || !family || !gpu.supports(type)) return;
    entry = Entry{Model(gpu, type, family->parameters), weaker(family->provenance, at_best)};
  };
  const auto slot = [&](DType type) -> std::optional<Entry>& { return entries_[static_cast<std::size_t>(type)]; };
  for (const DType type : {DType::bf16, DType::fp16}) add(slot(type), type, sixteen_bit);
  // Kernels differ more between GPUs than between ways of scaling: this GPU's own block-scaled one before a relative's.
  const bool own_block_scaled = fp8_block && fp8_block->provenance == Provenance::fitted;
  const bool own_per_tensor = fp8 && fp8->provenance == Provenance::fitted;
  if (own_block_scaled && !own_per_tensor) {
    for (const DType type : {DType::fp8, DType::int8}) add(slot(type), type, fp8_block, Provenance::family);
  }
  for (const DType type : {DType::fp8, DType::int8}) add(slot(type), type, fp8);
  add(block_scaled_, DType::fp8, fp8_block);
  add(slot(DType::fp4), DType::fp4, fp4);
  for (const DType type : {DType::fp8, DType::int8}) add(slot(type), type, fp8_block, Provenance::family);
  for (const DType type : {DType::fp8, DType::int8, DType::fp4}) add(slot(type), type, sixteen_bit, Provenance::family);
}

CalibratedDevice::CalibratedDevice(const GpuSpec& gpu, const NodeType& node, int tensor_parallel, const Calibration& calibration,
                                   const DeviceOptions& options)
    : gpu_(gpu),
      node_(node),
      stages_cross_nodes_(tensor_parallel >= node.gpus_per_node),
      quantise_fp8_(calibration.quantise_input_fp8),
      quantise_fp8_block_(calibration.quantise_input_fp8_block),
      quantise_fp4_(calibration.quantise_input_fp4),
      elementwise_(calibration.elementwise),
      elementwise_unfused_(calibration.elementwise_unfused),
      collective_(calibration.collective) {
  in_engine_.library = options.library;
  gemms_.fill(gpu, calibration.gemm, calibration.gemm_fp8, calibration.gemm_fp8_block, calibration.gemm_fp4);
  const std::optional<Calibrated<GemmParameters>> none;
  gemms_2023_.fill(gpu, calibration.gemm_2023, none, none, none);
  moes_.fill(gpu, calibration.moe, calibration.moe_fp8, calibration.moe_fp8_block, calibration.moe_fp4);
  if (calibration.attention_decode && calibration.attention_prefill) {
    attention_ = AttentionParameters{calibration.attention_decode->parameters, std::nullopt, calibration.attention_prefill->parameters};
    if (calibration.attention_decode_kv8) attention_->decode_kv8 = calibration.attention_decode_kv8->parameters;
    attention_provenance_ = weaker(calibration.attention_decode->provenance, calibration.attention_prefill->provenance);
  }
}

OpPrice CalibratedDevice::price(const Op& op) const {
  const Priced priced = price(op, in_engine_);
  return {priced.price.total, split_by_cause(op, priced.price), priced.provenance};
}

CalibratedDevice::Priced CalibratedDevice::price(const Op& op, const PricingConditions& conditions) const {
  return std::visit([&](const auto& shape) { return price_shape(op, shape, conditions); }, op.shape);
}

CalibratedDevice::Priced CalibratedDevice::roofline(const Op& op) const {
  return {ridgeline::price(op, usual_roofline, gpu_), Provenance::datasheet};
}

CalibratedDevice::Priced CalibratedDevice::price_shape(const Op& op, const GemmShape& shape, const PricingConditions& conditions) const {
  const auto* gemm = gemms_.of(shape.math, shape.block_scaled);
  if (const auto* older = gemms_2023_.of(shape.math, shape.block_scaled); conditions.unfused && older != nullptr) gemm = older;
  const Priced product = gemm != nullptr ? Priced{gemm->model.price(shape, conditions.weights), gemm->provenance} : roofline(op);
  if (!shape.quantises_input) return product;
  const Priced quantise = quantise_input(op, shape, conditions);
  return {in_series(product.price, quantise.price), weaker(product.provenance, quantise.provenance)};
}

CalibratedDevice::Priced CalibratedDevice::quantise_input(const Op& op, const GemmShape& shape, const PricingConditions& conditions) const {
  const auto& family = shape.math == DType::fp4 ? quantise_fp4_ : shape.block_scaled && quantise_fp8_block_ ? quantise_fp8_block_ : quantise_fp8_;
  if (!family) return price_shape(op, ElementwiseShape{ElementwiseFamily::quantise, shape.m, shape.k}, conditions);
  return {price_quantise_input(shape.m, shape.k, shape.math, family->parameters, gpu_), family->provenance};
}

CalibratedDevice::Priced CalibratedDevice::price_shape(const Op& op, const AttentionShape& shape, const PricingConditions&) const {
  if (!attention_) return roofline(op);
  return {ridgeline::price(shape, *attention_, gpu_), attention_provenance_};
}

CalibratedDevice::Priced CalibratedDevice::price_shape(const Op& op, const ElementwiseShape& shape,
                                                       const PricingConditions& conditions) const {
  const auto& family = conditions.unfused ? elementwise_unfused_ : elementwise_;
  if (!family) return roofline(op);
  return {ridgeline::price(shape, family->parameters, gpu_), family->provenance};
}

CalibratedDevice::Priced CalibratedDevice::price_shape(const Op& op, const MoeShape& shape, const PricingConditions&) const {
  const auto* moe = moes_.of(shape.math, shape.block_scaled);
  return moe != nullptr ? Priced{moe->model.price(shape), moe->provenance} : roofline(op);
}

CalibratedDevice::Priced CalibratedDevice::price_shape(const Op& op, const CollectiveShape& shape,
                                                       const PricingConditions& conditions) const {
  if (!collective_) return roofline(op);
  int per_node = conditions.ranks_per_node;
  if (per_node == 0) per_node = shape.kind == CollectiveKind::send_recv && stages_cross_nodes_ ? 1 : node_.gpus_per_node;
  return {ridgeline::price(shape, collective_->parameters, gpu_, node_, {conditions.library, per_node}), collective_->provenance};
}

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
  return std::make_unique<CalibratedDevice>(gpu, node, tensor_parallel, at_sustained_clock(calibration, gpu), options);
}

std::unique_ptr<DeviceModel> make_roofline_model(const GpuSpec& gpu, const RooflineParameters& parameters) {
  return std::make_unique<RooflineDevice>(gpu, parameters);
}

}  // namespace ridgeline
