// The seam to workloads: who asks, when, for how much.
#pragma once

#include <optional>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// Yields requests in order of arrival, pulled lazily so that traces stream.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// The next request, arrival times never decreasing; nullopt at the end of the workload.
  /// Throws ConfigError for an unreadable trace row, naming file and line.
  virtual std::optional<RequestSpec> next() = 0;
};

}  // namespace ridgeline
