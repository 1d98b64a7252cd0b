// Strongly typed indices: a replica index is not a pool index.
#pragma once

#include <compare>
#include <cstdint>

namespace ridgeline {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t value) : value_(value) {}
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;
  friend constexpr bool operator==(Id, Id) = default;

 private:
  std::uint32_t value_ = 0;
};

using PoolId = Id<struct PoolTag>;
using ReplicaId = Id<struct ReplicaTag>;  ///< counts over the whole cluster, pools in order

}  // namespace ridgeline
