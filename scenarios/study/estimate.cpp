#include "scenarios/study/estimate.hpp"

#include <cmath>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

#include "sim/base/error.hpp"

namespace ridgeline {

Estimate estimate(std::span<const double> samples, double confidence) {
  if (samples.empty()) throw InternalError("an estimate of no samples");
  if (!(confidence > 0 && confidence < 1)) throw InternalError("a confidence outside (0, 1)");
  const double n = static_cast<double>(samples.size());
  double sum = 0;
  for (const double sample : samples) sum += sample;
  Estimate result{.mean = sum / n, .samples = static_cast<std::int64_t>(samples.size())};
  if (samples.size() < 2) return result;
  double squares = 0;
  bool all_equal = true;
  for (const double sample : samples) {
    squares += (sample - result.mean) * (sample - result.mean);
    all_equal = all_equal && sample == samples.front();
  }
  if (all_equal) {  // sum / n may be off by a rounding; equal samples know their mean exactly
    result.mean = samples.front();
    result.half_width = 0;
    return result;
  }
  const boost::math::students_t student(n - 1);
  result.half_width = boost::math::quantile(boost::math::complement(student, (1 - confidence) / 2)) * std::sqrt(squares / (n - 1) / n);
  return result;
}

Estimate estimate_difference(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.size() != b.size()) throw InternalError("paired samples of unequal number");
  std::vector<double> differences;
  differences.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  return estimate(differences, confidence);
}

}  // namespace ridgeline
