// 128-bit integers: sums of products that must be exact, so that they come out the same in any order of adding.
#pragma once

#include <cstdint>

namespace ridgeline {

__extension__ typedef __int128 Int128;            // NOLINT: ISO C++ has no such type, `using` can't silence that
__extension__ typedef unsigned __int128 UInt128;  // NOLINT

/// a * b without overflow.
constexpr Int128 wide_product(std::int64_t a, std::int64_t b) { return static_cast<Int128>(a) * b; }

}  // namespace ridgeline
