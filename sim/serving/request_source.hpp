// The seam to workloads: who asks, when, for how much.
#pragma once

#include <optional>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// Yields requests in order of arrival, pulled lazily so that traces stream. Requests may wait for answers to earlier ones.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// When the next request arrives as far as is known now; Time::max() when none is. An answer can bring it forward.
  virtual Time next_arrival() = 0;
  /// That request; nullopt when none is known. Arrival times never decrease if each is taken at or after its arrival.
  /// Throws ConfigError for an unreadable trace row, naming file and line.
  virtual std::optional<RequestSpec> next() = 0;
  /// The request was answered in full at `now`: what waited for it may be known from here on.
  virtual void answered(const Request& /*request*/, Time /*now*/) {}
  /// Nothing is left, not even requests that wait for answers.
  [[nodiscard]] virtual bool exhausted() { return next_arrival() == Time::max(); }
};

}  // namespace ridgeline
