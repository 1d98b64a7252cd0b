// What an engine with contiguous KV memory sets aside for a request: the three Orcas of the PagedAttention paper (Kwon et
// al., SOSP 2023, section 6.1).
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "sim/serving/engine_config.hpp"
#include "sim/serving/request.hpp"

namespace ridgeline {

/// `max`: max_model_len; `pow2`: the output rounded up to a power of two; `oracle`: the true output. In blocks.
class Reservation {
 public:
  explicit Reservation(const EngineConfig& config)
      : policy_(config.kv_reservation), block_size_(config.block_size), longest_(config.max_model_len) {
    if (policy_ != "max" && policy_ != "pow2" && policy_ != "oracle") {
      throw ConfigError("kv_reservation `" + policy_ + "`" + suggestion(policy_, {"max", "pow2", "oracle"}));
    }
  }

  [[nodiscard]] std::int64_t blocks(const RequestSpec& spec) const { return ceil_divide(tokens(spec), block_size_); }
  /// The same for every request?
  [[nodiscard]] bool uniform() const { return policy_ == "max"; }

 private:
  [[nodiscard]] std::int64_t tokens(const RequestSpec& spec) const {
    if (uniform()) return longest_;
    const auto output = static_cast<std::uint64_t>(spec.output.count());
    const auto room = static_cast<std::int64_t>(policy_ == "pow2" ? std::bit_ceil(output) : output);
    const std::int64_t wanted = spec.input.count() + room;
    return longest_ > 0 && wanted > longest_ ? longest_ : wanted;
  }

  std::string policy_;
  std::int64_t block_size_;
  std::int64_t longest_;  // tokens
};

/// A request in contiguous memory.
struct Reserved {
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
};

}  // namespace ridgeline
