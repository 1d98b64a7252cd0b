// Counter-based random streams, keyed by what they are for, never by the order in which components are built.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace ridgeline {

/// The SplitMix64 finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Order-dependent combination of two hashes.
constexpr std::uint64_t combine64(std::uint64_t a, std::uint64_t b) { return mix64(a * 0x9e3779b97f4a7c15ULL + mix64(b + 1)); }

/// FNV-1a over the text, finalised.
constexpr std::uint64_t hash64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix64(hash);
}

/// A stream of random bits, a pure function of (seed, component path, purpose, counter).
///
/// A UniformRandomBitGenerator: feed it to Boost.Random distributions, whose output does not depend on the standard library.
class RandomStream {
 public:
  using result_type = std::uint64_t;

  RandomStream(std::uint64_t seed, std::string_view path, std::string_view purpose)
      : key_(combine64(combine64(mix64(seed), hash64(path)), hash64(purpose))) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  result_type operator()() { return mix64(key_ + 0x9e3779b97f4a7c15ULL * ++counter_); }

  /// Uniform in (0, 1): never exactly 0 or 1, so logarithms of it are finite.
  double uniform() { return (static_cast<double>((*this)() >> 12) + 0.5) * 0x1.0p-52; }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace ridgeline
