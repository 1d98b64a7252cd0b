#include "hardware/attention.hpp"

namespace ridgeline {

namespace {

FamilyPrice sum(const FamilyPrice& a, const FamilyPrice& b) {
  return {a.fixed + b.fixed, a.compute + b.compute, a.memory + b.memory, a.total + b.total};
}

}  // namespace

FamilyPrice price(const AttentionShape& shape, const AttentionParameters& parameters, const GpuSpec& gpu) {
  const bool narrow = shape.kv_bits <= 8.5 && parameters.decode_kv8;  // 8 bits and their scales
  const AttentionDecodeParameters& decode = narrow ? *parameters.decode_kv8 : parameters.decode;
  const AttentionKernelTraits& kernel = traits(decode.kernel);
  const bool drafts = shape.decode_queries.count() > shape.decode_sequences;
  if (shape.chunks.empty()) {
    const bool as_prefill = drafts && kernel.splits_swapped_only;
    return as_prefill ? price_prefill(shape, parameters.prefill, gpu) : price_decode(shape, decode, gpu);
  }
  if (shape.decode_sequences == 0 || kernel.mixes_in_one_call) return price_prefill(shape, parameters.prefill, gpu);
  AttentionShape prompts = shape;
  prompts.decode_sequences = 0;
  prompts.decode_queries = prompts.decode_context = Tokens{};
  return sum(price_decode(shape, decode, gpu), price_prefill(prompts, parameters.prefill, gpu));
}

}  // namespace ridgeline
