// The attention of one layer over one engine step: decode, prefill, or both.
//
// A step of decodes alone is priced by attention_decode.hpp, a step with chunks by attention_prefill.hpp. In a mixed step the
// kernels that take everything in one call are priced as one (attention_prefill.hpp); the engine calls the others twice.
// FA2 prices several rows per decode sequence (verification of drafts) as a prefill too: it splits keys for single rows only.
#pragma once

#include <optional>

#include "hardware/attention_decode.hpp"
#include "hardware/attention_prefill.hpp"

namespace ridgeline {

struct AttentionParameters {
  AttentionDecodeParameters decode;                     ///< 16-bit KV cache: section attention_decode of a calibration
  std::optional<AttentionDecodeParameters> decode_kv8;  ///< 8-bit: attention_decode_kv8; absent: `decode` on half the bytes
  AttentionPrefillParameters prefill;                   ///< any cache: attention_prefill
};

FamilyPrice price(const AttentionShape& shape, const AttentionParameters& parameters, const GpuSpec& gpu);

}  // namespace ridgeline
