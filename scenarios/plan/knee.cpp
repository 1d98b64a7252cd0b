#include "scenarios/plan/knee.hpp"

#include <algorithm>
#include <cmath>

namespace ridgeline {

namespace {

constexpr double stride = 2.0;  // between tries while bracketing

// The geometric middle, a whole number strictly inside where loads are whole.
double middle(double low, double high, bool whole) {
  const double between = std::sqrt(low * high);
  return whole ? std::clamp(std::round(between), low + 1, high - 1) : between;
}

bool narrow(double low, double high, const KneeSearch& search) {
  return search.whole ? high - low <= std::max(1.0, std::floor(low * search.tolerance)) : high <= low * (1 + search.tolerance);
}

}  // namespace

Knee find_knee(const std::function<bool(double load)>& meets, const KneeSearch& search) {
  Knee knee;
  const auto rounded = [&](double load) { return search.whole ? std::max(1.0, std::round(load)) : load; };
  const auto test = [&](double load) {
    knee.tried.push_back(load);
    const bool met = meets(load);
    (met ? knee.passes : knee.fails) = load;
    return met;
  };
  const double least = rounded(search.least);
  const double most = rounded(search.most);
  double load = std::clamp(rounded(search.start), least, most);
  if (test(load)) {
    while (load < most && test(load = std::min(most, load * stride))) {
    }
  } else {
    while (load > least && !test(load = std::max(least, rounded(load / stride)))) {
    }
  }
  if (!knee.passes || !knee.fails) return knee;
  while (!narrow(*knee.passes, *knee.fails, search)) test(middle(*knee.passes, *knee.fails, search.whole));
  return knee;
}

}  // namespace ridgeline
