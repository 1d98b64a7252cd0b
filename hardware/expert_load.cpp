#include "hardware/expert_load.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/rounding.hpp"

namespace ridgeline {
namespace {

/// Popularity x in [1, hottest] with density proportional to x^-exponent.
class PowerLaw {
 public:
  PowerLaw(double exponent, double hottest) : exponent_(exponent), log_hottest_(std::log(hottest)), mass_(integral(0, log_hottest_)) {
    const double first = integral(1, log_hottest_) / mass_;
    mean_ = first;
    variation_ = std::sqrt(std::max(0.0, integral(2, log_hottest_) / mass_ / (first * first) - 1.0));
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double variation() const { return variation_; }
  /// Share of experts, and of picks, that are less popular than x.
  [[nodiscard]] double experts_below(double log_x) const { return integral(0, log_x) / mass_; }
  [[nodiscard]] double picks_below(double log_x) const { return integral(1, log_x) / (mass_ * mean_); }
  [[nodiscard]] double clamp(double log_x) const { return std::clamp(log_x, 0.0, log_hottest_); }

 private:
  /// Of x^(moment - exponent) from 1 to exp(log_x).
  [[nodiscard]] double integral(int moment, double log_x) const {
    const double power = moment - exponent_ + 1.0;
    return std::abs(power) < 1e-9 ? log_x : std::expm1(power * log_x) / power;
  }

  double exponent_;
  double log_hottest_;
  double mass_;
  double mean_ = 1.0;
  double variation_ = 0.0;
};

constexpr double busiest_rank_factor = 0.78;
constexpr double coldest_ratio = 200.0;
constexpr double hottest_per_token = 0.8;

}  // namespace

double ExpertLoad::row_blocks(double tile_rows) const {
  // Balanced experts have equal remainders; otherwise every expert wastes half a block on average, and none has less than one.
  if (balanced) return active * ceil_of(rows / active / tile_rows);
  return std::max(active, rows / tile_rows + 0.5 * active);
}

ExpertLoad expert_load(const MoeShape& shape) {
  const auto experts = static_cast<double>(shape.experts);
  const double ranks = static_cast<double>(shape.total_experts) / experts;
  const auto tokens = static_cast<double>(shape.tokens);
  const auto top_k = static_cast<double>(shape.top_k);
  const double picks = tokens * top_k;
  const double mean_rows = picks / ranks;
  // The busiest rank has at least one pick.
  if (shape.skew <= 0.0) return {std::max(1.0, mean_rows), std::clamp(mean_rows, 1.0, experts), true};

  const double hottest = picks > experts * ranks ? std::max(2.0, hottest_per_token * tokens) : coldest_ratio;
  const PowerLaw law(shape.skew, hottest);
  const double most = std::max(1.0, std::min(tokens * std::min(top_k, experts), picks));
  const double busiest = 1.0 + busiest_rank_factor * std::log(ranks) * law.variation() / std::sqrt(experts);
  ExpertLoad load;
  load.balanced = false;
  load.rows = std::clamp(mean_rows * busiest, 1.0, most);
  // The busiest rank is busy because of its hottest expert more than of all of them: hence the square root.
  const double mean_load = mean_rows / experts * std::sqrt(load.rows / mean_rows);
  const double log_threshold = law.clamp(std::log(0.5 * law.mean() / mean_load));
  const double rounded_away = mean_rows * law.picks_below(log_threshold);
  load.active = std::clamp(experts * (1.0 - law.experts_below(log_threshold)) + rounded_away, 1.0, std::min(experts, load.rows));
  return load;
}

}  // namespace ridgeline
