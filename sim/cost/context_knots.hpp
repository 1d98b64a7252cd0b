// Where the price of a decode step is worked out over its mean context, and where it is interpolated.
#pragma once

#include <bit>
#include <cstdint>

namespace ridgeline {

/// A grid over context lengths: every 16 tokens below 1,024, above that 64 steps an octave.
///
/// Attention kernels read keys in tiles of 64 to 128; between two knots the time of a decode step is taken as linear. Against
/// pricing every context by itself a step differs by less than 0.2 % (tests), and the price of any decode batch becomes one entry of
/// a small table.
struct ContextKnots {
  static constexpr std::int64_t least_spacing = 16;
  static constexpr std::int64_t uniform_below = 1024;
  static constexpr std::int64_t per_octave = 64;

  struct Interval {
    std::size_t index = 0;     ///< of the lower knot; the upper one is the next
    std::int64_t lower = 0;    ///< tokens
    std::int64_t spacing = 0;  ///< tokens to the upper knot
  };

  /// The interval that holds `context` >= 0.
  static constexpr Interval around(std::int64_t context) {
    if (context < uniform_below) {
      const std::int64_t index = context / least_spacing;
      return {static_cast<std::size_t>(index), index * least_spacing, least_spacing};
    }
    constexpr std::int64_t uniform_knots = uniform_below / least_spacing;
    constexpr auto first_octave = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(uniform_below))) - 1;
    const auto octave = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(context))) - 1;
    const std::int64_t spacing = (std::int64_t{1} << octave) / per_octave;
    const std::int64_t step = context / spacing - per_octave;
    return {static_cast<std::size_t>(uniform_knots + (octave - first_octave) * per_octave + step), (per_octave + step) * spacing, spacing};
  }
};

}  // namespace ridgeline
