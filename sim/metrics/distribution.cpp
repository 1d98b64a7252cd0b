#include "sim/metrics/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <boost/multiprecision/cpp_int.hpp>

namespace ridgeline {
namespace {

constexpr int mantissa_bits = 10;

}  // namespace

void Distribution::Squares::add(std::uint64_t value, std::uint64_t weight) {
  const UInt128 square = static_cast<UInt128>(value) * value;
  const UInt128 lower = static_cast<UInt128>(static_cast<std::uint64_t>(square)) * weight;
  const UInt128 upper = (square >> 64) * weight;
  low += lower;
  high += static_cast<std::uint64_t>(upper >> 64) + (low < lower ? 1 : 0);
  low += upper << 64;
  high += low < (upper << 64) ? 1 : 0;
}

void Distribution::add(Duration value, std::int64_t weight) {
  const std::int64_t v = value.picoseconds();
  if (v < 0 || weight < 1) throw InternalError("a distribution takes non-negative values of positive weight");
  min_ = std::min(min_, v);
  max_ = std::max(max_, v);
  count_ += weight;
  sum_ += wide_product(v, weight);
  squares_.add(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(weight));
  dirty_ = true;
  if (count_ <= static_cast<std::int64_t>(exact_samples)) {
    keep(v, weight);
  } else {
    if (buckets_.empty()) to_histogram();
    buckets_[bucket_of(v)] += weight;
  }
}

void Distribution::keep(std::int64_t picoseconds, std::int64_t weight) {
  if (weight == 1) {
    single_.push_back(picoseconds);
  } else if (!weighted_.empty() && weighted_.back().picoseconds == picoseconds) {
    weighted_.back().weight += weight;  // equal steps in a row
  } else {
    weighted_.push_back({picoseconds, weight});
  }
}

// Values below 2^mantissa_bits have a bucket each; above, the leading one bit and the ten bits behind it name the bucket.
std::size_t Distribution::bucket_of(std::int64_t picoseconds) {
  const auto v = static_cast<std::uint64_t>(picoseconds);
  const auto width = static_cast<int>(std::bit_width(v));
  if (width <= mantissa_bits) return v;
  const int shift = width - mantissa_bits - 1;
  return (static_cast<std::size_t>(shift + 1) << mantissa_bits) + ((v >> shift) & ((1U << mantissa_bits) - 1));
}

std::int64_t Distribution::middle_of(std::size_t bucket) {
  const std::size_t group = bucket >> mantissa_bits;
  const auto low_bits = static_cast<std::int64_t>(bucket & ((1U << mantissa_bits) - 1));
  if (group == 0) return low_bits;
  const auto shift = static_cast<int>(group) - 1;
  const std::int64_t lower = ((std::int64_t{1} << mantissa_bits) + low_bits) << shift;
  return lower + (std::int64_t{1} << shift) / 2;
}

void Distribution::to_histogram() {
  buckets_.assign(static_cast<std::size_t>(64 - mantissa_bits + 1) << mantissa_bits, 0);
  for (const std::int64_t v : single_) ++buckets_[bucket_of(v)];
  for (const Entry& entry : weighted_) buckets_[bucket_of(entry.picoseconds)] += entry.weight;
  single_ = {};
  weighted_ = {};
}

void Distribution::sort() const {
  if (!dirty_) return;
  dirty_ = false;
  sorted_.clear();
  if (!buckets_.empty()) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i] > 0) sorted_.push_back({std::clamp(middle_of(i), min_, max_), buckets_[i]});
    }
  } else {
    sorted_.reserve(single_.size() + weighted_.size());
    for (const std::int64_t v : single_) sorted_.push_back({v, 1});
    sorted_.insert(sorted_.end(), weighted_.begin(), weighted_.end());
    std::sort(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) { return a.picoseconds < b.picoseconds; });
  }
  std::int64_t cumulative = 0;
  for (Entry& entry : sorted_) entry.weight = cumulative += entry.weight;
}

std::int64_t Distribution::value_at(std::int64_t rank) const {
  return std::upper_bound(sorted_.begin(), sorted_.end(), rank, [](std::int64_t r, const Entry& entry) { return r < entry.weight; })
      ->picoseconds;
}

Duration Distribution::percentile(double p) const {
  if (count_ == 0) return {};
  sort();
  const double rank = static_cast<double>(count_ - 1) * p / 100.0;
  const auto lower = static_cast<std::int64_t>(std::floor(rank));
  const auto upper = std::min(lower + 1, count_ - 1);
  const auto a = value_at(lower);
  const auto b = value_at(upper);
  return Duration{a + static_cast<std::int64_t>(std::nearbyint(static_cast<double>(b - a) * (rank - static_cast<double>(lower))))};
}

// From exact sums: n * sum of squares - (sum)^2 neither cancels nor depends on the order of adding.
double Distribution::standard_deviation() const {
  using boost::multiprecision::cpp_int;
  const auto big = [](UInt128 value) {
    return (cpp_int(static_cast<std::uint64_t>(value >> 64)) << 64) + static_cast<std::uint64_t>(value);
  };
  const cpp_int squares = (cpp_int(squares_.high) << 128) + big(squares_.low);
  const cpp_int sum = big(static_cast<UInt128>(sum_));
  const cpp_int scaled = squares * count_ - sum * sum;
  return std::sqrt(scaled.convert_to<double>()) / static_cast<double>(count_);
}

Summary Distribution::summary() const {
  Summary summary;
  if (count_ == 0) return summary;
  summary.count = count_;
  summary.mean = static_cast<double>(sum_) / static_cast<double>(count_) * 1e-9;
  summary.std = standard_deviation() * 1e-9;
  summary.min = Duration{min_}.milliseconds();
  summary.max = Duration{max_}.milliseconds();
  summary.p50 = summary.median = percentile(50).milliseconds();
  summary.p90 = percentile(90).milliseconds();
  summary.p95 = percentile(95).milliseconds();
  summary.p99 = percentile(99).milliseconds();
  return summary;
}

}  // namespace ridgeline
