// ServeGen's client files as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// Whole numbers with probabilities.
class ServegenHistogram {
 public:
  /// Reads `{45: 0.0097, 46: 0.0117}`. False: it is something else.
  bool parse(const std::string& text);
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::int64_t draw(RandomStream& random) const;

 private:
  std::vector<std::int64_t> values_;
  std::vector<double> cumulative_;
};

/// A client's requests for a while: a renewal process with so many a second.
struct ServegenWindow {
  Duration start;
  Duration length;
  double rate = 0.0;  ///< requests per second
  bool weibull = false;
  double shape = 1.0;
  double scale = 1.0;
};

/// Lengths from `start` on.
struct ServegenLengths {
  Duration start;
  std::vector<ServegenHistogram> input;  ///< one, or one a modality: a prompt has the sum
  ServegenHistogram output;
};

struct ServegenClient {
  std::string name;  ///< chunk-12
  std::vector<ServegenWindow> windows;
  std::vector<ServegenLengths> lengths;  ///< those with requests in them
};

/// All clients of a folder, in order of their names. Throws ConfigError naming file and line; none at all is an error.
std::vector<ServegenClient> read_servegen_clients(const std::string& folder);

}  // namespace ridgeline
