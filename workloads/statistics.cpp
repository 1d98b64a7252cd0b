#include "workloads/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace ridgeline {

namespace {

// Values below 2^12 have their own bucket; above, the 12 leading bits count: 2^11 buckets per doubling.
constexpr int exact_bits = 12;
constexpr std::int64_t exact = std::int64_t{1} << exact_bits;
constexpr std::int64_t per_doubling = exact / 2;

}  // namespace

std::size_t CountHistogram::bucket(std::int64_t value) {
  if (value < exact) return static_cast<std::size_t>(std::max<std::int64_t>(value, 0));
  const int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - exact_bits;
  return static_cast<std::size_t>(shift * per_doubling + (value >> shift));
}

double CountHistogram::centre(std::size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  if (i < exact) return static_cast<double>(i);
  const std::int64_t shift = i / per_doubling - 1;
  const std::int64_t leading = i - shift * per_doubling;
  return std::ldexp(static_cast<double>(leading) + 0.5, static_cast<int>(shift)) - 0.5;
}

void CountHistogram::add(std::int64_t value) {
  const std::size_t index = bucket(value);
  if (index >= counts_.size()) counts_.resize(index + 1);
  ++counts_[index];
  ++total_;
}

double CountHistogram::quantile(double fraction) const {
  if (total_ == 0) return 0.0;
  const double position = fraction * static_cast<double>(total_ - 1);
  const auto rank = static_cast<std::int64_t>(position);  // counts from 0
  std::int64_t seen = 0;
  std::size_t i = 0;
  while ((seen += counts_[i]) <= rank) ++i;
  const double low = centre(i);
  if (seen > rank + 1 || rank + 1 == total_) return low;
  do ++i;
  while (counts_[i] == 0);
  return low + (centre(i) - low) * (position - static_cast<double>(rank));
}

void WorkloadStatistics::LengthSums::add(std::int64_t value, bool first) {
  histogram.add(value);
  sum += static_cast<double>(value);
  least = first ? value : std::min(least, value);
  most = first ? value : std::max(most, value);
}

WorkloadStatistics::Lengths WorkloadStatistics::LengthSums::summary(std::int64_t count) const {
  if (count == 0) return {};
  return {sum / static_cast<double>(count), histogram.quantile(0.5), histogram.quantile(0.9), histogram.quantile(0.99),
          Tokens{least},                    Tokens{most},            Tokens{static_cast<std::int64_t>(sum)}};
}

void WorkloadStatistics::add(const RequestSpec& request) {
  const bool first = count_ == 0;
  input_.add(request.input.count(), first);
  output_.add(request.output.count(), first);
  requested_ += request.max_tokens;
  if (first) {
    first_ = request.arrival;
  } else {
    const double gap = (request.arrival - last_).seconds();
    gap_sum_ += gap;
    gap_squares_ += gap * gap;
  }
  last_ = request.arrival;
  ++count_;

  if (request.arrival >= window_end_) enter_window(request.arrival);
  ++windows_.back();
}

// Opens the window of `arrival`. Windows double when they get too many: neighbours merge.
void WorkloadStatistics::enter_window(Time arrival) {
  while (static_cast<std::size_t>(arrival.since_start() / window_) >= most_windows) {
    for (std::size_t i = 0; i < windows_.size(); i += 2) {
      windows_[i / 2] = windows_[i] + (i + 1 < windows_.size() ? windows_[i + 1] : 0);
    }
    windows_.resize((windows_.size() + 1) / 2);
    window_ *= 2;
  }
  const std::int64_t index = arrival.since_start() / window_;
  windows_.resize(static_cast<std::size_t>(index) + 1);
  window_end_ = Time{window_ * (index + 1)};
}

// Cuts the run in two where a Poisson process with one change of rate fits best, and reports the first part if it is
// ten times quieter.
void WorkloadStatistics::find_quiet_start(const std::vector<std::int64_t>& counts, Rates& rates) {
  const double seconds = rates.window.seconds();
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  constexpr double enough =
      30.0;  // requests that the later rate would have put there: below that, chance empties a window
  double before = 0.0, best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < counts.size(); ++i) {
    before += static_cast<double>(counts[i - 1]);
    const double time_before = static_cast<double>(i) * seconds,
                 time_after = static_cast<double>(counts.size() - i) * seconds;
    const double quiet = before / time_before, later = (total - before) / time_after;
    const auto log_likelihood = [](double count, double rate) { return count > 0.0 ? count * std::log(rate) : 0.0; };
    const double fit = log_likelihood(before, quiet) + log_likelihood(total - before, later);
    if (fit <= best) continue;
    best = fit;
    rates.quiet_start.reset();
    if (later < 10.0 * quiet || later * time_before < enough) continue;
    rates.quiet_start = rates.window * static_cast<std::int64_t>(i);
    rates.quiet_rate = quiet;
    rates.later_rate = later;
  }
}

WorkloadStatistics::Rates WorkloadStatistics::rates() const {
  Rates rates;
  rates.window = window_;
  if (windows_.empty()) return rates;
  // At most 64 windows, so that each is long enough to mean something; the last, cut off by the end, is left out if
  // there are others.
  const std::size_t group = (windows_.size() + 63) / 64;
  rates.window = window_ * static_cast<std::int64_t>(group);
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < windows_.size(); i += group) {
    std::int64_t sum = 0;
    for (std::size_t j = i; j < std::min(i + group, windows_.size()); ++j) sum += windows_[j];
    counts.push_back(sum);
  }
  const double whole = std::fmod(last_.since_start().as_double(), rates.window.as_double()) / rates.window.as_double();
  if (counts.size() > 1 && whole < 0.999) counts.pop_back();

  const double seconds = rates.window.seconds();
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  rates.first = static_cast<double>(counts.front()) / seconds;
  rates.least = static_cast<double>(*least) / seconds;
  rates.most = static_cast<double>(*most) / seconds;

  find_quiet_start(counts, rates);
  return rates;
}

WorkloadStatistics::Summary WorkloadStatistics::summary() const {
  Summary summary;
  summary.count = count_;
  summary.duration = last_.since_start();
  summary.input = input_.summary(count_);
  summary.output = output_.summary(count_);
  summary.requested_output = requested_;
  const double span = (last_ - first_).seconds();
  if (span > 0.0) {
    summary.request_rate = static_cast<double>(count_) / span;
    const double gaps = static_cast<double>(count_ - 1), mean = gap_sum_ / gaps;
    summary.gap_cv = std::sqrt(std::max(gap_squares_ / gaps - mean * mean, 0.0)) / mean;
  }
  summary.rates = rates();
  return summary;
}

}  // namespace ridgeline
