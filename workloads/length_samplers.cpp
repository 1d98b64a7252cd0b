// How lengths are drawn.
#include <algorithm>
#include <cmath>

#include <boost/random/discrete_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "workloads/lengths.hpp"

namespace ridgeline {

namespace {

using Distribution = LengthConfig::Distribution;

class Fixed final : public LengthSampler {
 public:
  explicit Fixed(const LengthConfig& lengths) : tokens_(lengths.tokens) {}
  Tokens draw(RandomStream&) override { return tokens_; }

 private:
  Tokens tokens_;
};

class Uniform final : public LengthSampler {
 public:
  explicit Uniform(const LengthConfig& lengths) : uniform_(lengths.least.count(), lengths.most.count()) {}
  Tokens draw(RandomStream& random) override { return Tokens{uniform_(random)}; }

 private:
  boost::random::uniform_int_distribution<std::int64_t> uniform_;
};

// Rounds and clamps a real length.
class Rounded {
 public:
  explicit Rounded(const LengthConfig& lengths) : least_(lengths.least.as_double()), most_(lengths.most.as_double()) {}
  [[nodiscard]] Tokens operator()(double length) const {
    return Tokens{static_cast<std::int64_t>(std::nearbyint(std::clamp(length, least_, most_)))};
  }

 private:
  double least_, most_;
};

class Lognormal final : public LengthSampler {
 public:
  explicit Lognormal(const LengthConfig& lengths) : rounded_(lengths), normal_(lengths.mu, lengths.sigma) {}
  Tokens draw(RandomStream& random) override { return rounded_(std::exp(normal_(random))); }

 private:
  Rounded rounded_;
  boost::random::normal_distribution<double> normal_;
};

// Rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996): constant time whatever the range.
// Rank k of 1 … n has probability proportional to k^-exponent; rank 1 is the shortest length.
class Zipf final : public LengthSampler {
 public:
  explicit Zipf(const LengthConfig& lengths)
      : least_(lengths.least),
        ranks_(static_cast<double>((lengths.most - lengths.least).count() + 1)),
        exponent_(lengths.exponent),
        first_(integral(1.5) - 1.0),
        last_(integral(ranks_ + 0.5)),
        squeeze_(2.0 - inverse(integral(2.5) - std::pow(2.0, -exponent_))) {}

  Tokens draw(RandomStream& random) override {
    for (;;) {
      const double u = last_ + random.uniform() * (first_ - last_);
      const double x = inverse(u);
      const double rank = std::clamp(std::floor(x + 0.5), 1.0, ranks_);
      if (rank - x <= squeeze_ || u >= integral(rank + 0.5) - std::pow(rank, -exponent_)) {
        return least_ + Tokens{static_cast<std::int64_t>(rank) - 1};
      }
    }
  }

 private:
  // Antiderivative of x^-exponent that is 0 at 1, and its inverse; expm1 and log1p keep exponents near 1 exact.
  [[nodiscard]] double integral(double x) const {
    const double log_x = std::log(x), slope = 1.0 - exponent_;
    return std::abs(slope * log_x) < 1e-12 ? log_x : std::expm1(slope * log_x) / slope;
  }
  [[nodiscard]] double inverse(double y) const {
    const double slope = 1.0 - exponent_, product = std::max(y * slope, -1.0 + 1e-300);
    return std::abs(product) < 1e-12 ? std::exp(y) : std::exp(std::log1p(product) / slope);
  }

  Tokens least_;
  double ranks_, exponent_, first_, last_, squeeze_;
};

class Histogram final : public LengthSampler {
 public:
  explicit Histogram(const LengthConfig& lengths)
      : rounded_(lengths), values_(lengths.values), pick_(lengths.weights) {}
  Tokens draw(RandomStream& random) override { return rounded_(values_[pick_(random)]); }

 private:
  Rounded rounded_;
  std::vector<double> values_;
  boost::random::discrete_distribution<std::size_t> pick_;  // the alias method
};

class Quantiles final : public LengthSampler {
 public:
  explicit Quantiles(const LengthConfig& lengths)
      : rounded_(lengths), probabilities_(lengths.probabilities), values_(lengths.values) {}
  Tokens draw(RandomStream& random) override {
    const double p = random.uniform();
    const auto above = static_cast<std::size_t>(std::upper_bound(probabilities_.begin(), probabilities_.end() - 1, p) -
                                                probabilities_.begin());
    const double low = probabilities_[above - 1], high = probabilities_[above];
    return rounded_(values_[above - 1] + (values_[above] - values_[above - 1]) * (p - low) / (high - low));
  }

 private:
  Rounded rounded_;
  std::vector<double> probabilities_, values_;
};

}  // namespace

std::unique_ptr<LengthSampler> make_sampler(const LengthConfig& lengths) {
  switch (lengths.distribution) {
    case Distribution::fixed: return std::make_unique<Fixed>(lengths);
    case Distribution::uniform: return std::make_unique<Uniform>(lengths);
    case Distribution::lognormal: return std::make_unique<Lognormal>(lengths);
    case Distribution::zipf: return std::make_unique<Zipf>(lengths);
    case Distribution::histogram: return std::make_unique<Histogram>(lengths);
    case Distribution::quantiles: return std::make_unique<Quantiles>(lengths);
  }
  throw InternalError("unknown length distribution");
}

}  // namespace ridgeline
