// Number formats of weights, activations and KV cache.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline {

enum class DType : std::uint8_t { fp32, fp16, bf16, fp8, int8, fp4, int4, int2 };

/// Bits of one element, scales not included.
constexpr int bits(DType type) {
  switch (type) {
    case DType::fp32: return 32;
    case DType::fp16:
    case DType::bf16: return 16;
    case DType::fp8:
    case DType::int8: return 8;
    case DType::fp4:
    case DType::int4: return 4;
    case DType::int2: return 2;
  }
  return 0;
}

constexpr std::string_view to_string(DType type) {
  switch (type) {
    case DType::fp32: return "fp32";
    case DType::fp16: return "fp16";
    case DType::bf16: return "bf16";
    case DType::fp8: return "fp8";
    case DType::int8: return "int8";
    case DType::fp4: return "fp4";
    case DType::int4: return "int4";
    case DType::int2: return "int2";
  }
  return "?";
}

}  // namespace ridgeline
