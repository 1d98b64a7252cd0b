// How arrival processes run: a renewal process of rate one on an operational clock, and the map from that clock to
// time.
//
// Drawing gaps of mean one and stretching them by the rate (time t is where the integral of the rate reaches the
// operational time) gives a Poisson process of that rate for exponential gaps, and keeps the burstiness of the others
// while rates change.
#include <cmath>
#include <utility>
#include <variant>

#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>

#include "workloads/arrivals.hpp"

namespace ridgeline {

namespace {

using Process = ArrivalConfig::Process;

// Gaps of mean one.
class UnitGaps {
 public:
  UnitGaps(const ArrivalConfig& arrivals, std::uint64_t seed) : random_(seed, "workload", "arrival") {
    if (arrivals.process == Process::constant) {
      shape_ = Constant{};
    } else if (arrivals.process == Process::weibull) {
      shape_ = Weibull{1.0 / arrivals.shape, 1.0 / boost::math::tgamma(1.0 + 1.0 / arrivals.shape)};
    } else if (arrivals.process == Process::poisson || arrivals.burstiness == 1.0) {
      shape_ = Exponential(1.0);
    } else {
      shape_ = Gamma(arrivals.burstiness, 1.0 / arrivals.burstiness);
    }
  }
  double next() {
    return std::visit([this](auto& shape) { return draw(shape); }, shape_);
  }

 private:
  struct Constant {};
  struct Weibull {
    double inverse_shape;
    double scale;
  };
  using Exponential = boost::random::exponential_distribution<double>;
  using Gamma = boost::random::gamma_distribution<double>;

  static double draw(Constant) { return 1.0; }
  double draw(const Weibull& weibull) {
    return weibull.scale * std::pow(-std::log(random_.uniform()), weibull.inverse_shape);
  }
  double draw(Exponential& exponential) { return exponential(random_); }
  double draw(Gamma& gamma) { return gamma(random_); }

  RandomStream random_;
  std::variant<Constant, Weibull, Exponential, Gamma> shape_;
};

Time to_time(double seconds) {
  constexpr double longest = 9.2e6;  // 106 days in 64 bits of picoseconds
  if (!(seconds < longest))
    throw ConfigError("the workload's arrivals would take more than 106 days, longer than a run can last");
  return Time{Duration::seconds(seconds)};
}

class AllAtOnce final : public ArrivalProcess {
 public:
  std::optional<Time> next() override { return Time{}; }
};

class Steady final : public ArrivalProcess {
 public:
  Steady(const ArrivalConfig& arrivals, std::optional<std::int64_t> count, std::uint64_t seed)
      : gaps_(arrivals, seed), rate_(arrivals.request_rate.count()) {
    if (!arrivals.rescale || !count || arrivals.process == Process::constant) return;
    // The same gaps, drawn once before, tell where the last request would arrive.
    UnitGaps rehearsal(arrivals, seed);
    double end = 0.0;
    for (std::int64_t i = 0; i < *count; ++i) end += rehearsal.next();
    if (end > 0.0) rate_ *= end / static_cast<double>(*count);
  }
  std::optional<Time> next() override { return to_time((operational_ += gaps_.next()) / rate_); }

 private:
  UnitGaps gaps_;
  double rate_;
  double operational_ = 0.0;
};

class Ramp final : public ArrivalProcess {
 public:
  Ramp(const ArrivalConfig& arrivals, std::uint64_t seed)
      : gaps_(arrivals, seed),
        start_(arrivals.ramp_up_start_rps.count()),
        end_(arrivals.ramp_up_end_rps.count()),
        length_(arrivals.ramp_up_time.seconds()),
        exponential_(arrivals.ramp_up_exponential && start_ != end_) {
    growth_ = exponential_ ? std::log(end_ / start_) / length_ : (end_ - start_) / length_;
    expected_ = exponential_ ? (end_ - start_) / growth_ : (start_ + end_) / 2 * length_;
  }
  std::optional<Time> next() override {
    operational_ += gaps_.next();
    if (operational_ >= expected_) return to_time(length_ + (operational_ - expected_) / end_);
    // Linear: start t + growth t^2/2 = operational, in the form that neither divides by 0 nor cancels.
    const double seconds =
        exponential_ ? std::log1p(operational_ * growth_ / start_) / growth_
                     : 2.0 * operational_ / (start_ + std::sqrt(start_ * start_ + 2.0 * growth_ * operational_));
    return to_time(seconds);
  }

 private:
  UnitGaps gaps_;
  double start_, end_, length_;
  bool exponential_;
  double growth_ = 0.0;    // of the rate, per second
  double expected_ = 0.0;  // arrivals during the ramp
  double operational_ = 0.0;
};

class Steps final : public ArrivalProcess {
 public:
  Steps(const ArrivalConfig& arrivals, std::uint64_t seed) : gaps_(arrivals, seed), repeat_(arrivals.repeat) {
    for (std::size_t i = 0; i < arrivals.rates.size(); ++i) {
      steps_.emplace_back(arrivals.rates[i].count(), arrivals.durations[i].seconds());
    }
  }
  std::optional<Time> next() override {
    left_ += gaps_.next();
    for (;;) {
      if (step_ == steps_.size()) {
        if (!repeat_) return std::nullopt;
        step_ = 0;
      }
      const auto [rate, length] = steps_[step_];
      if (rate > 0.0 && left_ <= rate * (length - within_)) {
        within_ += left_ / rate;
        left_ = 0.0;
        return to_time(begin_ + within_);
      }
      left_ -= rate * (length - within_);
      begin_ += length;
      within_ = 0.0;
      ++step_;
      if (begin_ > 1e7) to_time(begin_);
    }
  }

 private:
  UnitGaps gaps_;
  std::vector<std::pair<double, double>> steps_;  // rate, length in s
  bool repeat_;
  std::size_t step_ = 0;
  double begin_ = 0.0;   // of the step
  double within_ = 0.0;  // time since then
  double left_ = 0.0;    // operational time to the next arrival
};

}  // namespace

std::unique_ptr<ArrivalProcess> make_arrivals(const ArrivalConfig& arrivals, std::optional<std::int64_t> count,
                                              std::uint64_t seed) {
  switch (arrivals.process) {
    case Process::all_at_once: return std::make_unique<AllAtOnce>();
    case Process::ramp: return std::make_unique<Ramp>(arrivals, seed);
    case Process::steps: return std::make_unique<Steps>(arrivals, seed);
    default: return std::make_unique<Steady>(arrivals, count, seed);
  }
}

}  // namespace ridgeline
