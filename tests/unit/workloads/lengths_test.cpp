// Length distributions: what they draw, and what they refuse.
#include <cmath>

#include "tests/unit/workloads/support.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

LengthConfig lengths_from(std::string_view yaml) {
  Diagnostics errors;
  LengthConfig lengths = read_lengths(Config::parse(yaml, "test.yaml"), errors);
  errors.throw_if_any();
  return lengths;
}
std::string refused(std::string_view yaml) {
  return complaint([&] { lengths_from(yaml); });
}

struct Sample {
  double mean = 0.0, median = 0.0;
  Tokens least, most;
  std::vector<double> share;  // of values 0 … 9
};
Sample sample(std::string_view yaml, std::size_t count = 200'000) {
  const auto sampler = make_sampler(lengths_from(yaml));
  RandomStream random(7, "test", "lengths");
  std::vector<Tokens> drawn(count);
  for (Tokens& tokens : drawn) tokens = sampler->draw(random);
  std::sort(drawn.begin(), drawn.end());
  Sample result{0.0, drawn[count / 2].as_double(), drawn.front(), drawn.back(), std::vector<double>(10)};
  for (const Tokens tokens : drawn) {
    result.mean += tokens.as_double() / static_cast<double>(count);
    if (tokens < Tokens{10}) result.share[static_cast<std::size_t>(tokens.count())] += 1.0 / static_cast<double>(count);
  }
  return result;
}

}  // namespace

TEST_CASE("A bare number is a fixed length") {
  CHECK(sample("512", 10).mean == Approx(512));
  CHECK(lengths_from("32k").tokens == Tokens{32768});
  CHECK(lengths_from("{distribution: fixed, tokens: 7}").tokens == Tokens{7});
}

TEST_CASE("Uniform lengths include both bounds") {
  const Sample drawn = sample("{distribution: uniform, min: 2, max: 5}");
  CHECK(drawn.least == Tokens{2});
  CHECK(drawn.most == Tokens{5});
  CHECK(drawn.share[5] == Approx(0.25).epsilon(0.03));
}

TEST_CASE("Lognormal lengths have the given median and mean, by either pair of parameters") {
  // mean = median * exp(sigma^2 / 2): 1000 * exp(0.5) = 1648.7
  for (const char* yaml : {"{distribution: lognormal, mu: 6.907755, sigma: 1.0}",
                           "{distribution: lognormal, median: 1000, mean: 1648.7}"}) {
    const Sample drawn = sample(yaml);
    CHECK(drawn.median == Approx(1000).epsilon(0.02));
    CHECK(drawn.mean == Approx(1648.7).epsilon(0.02));
  }
  const Sample clamped = sample("{distribution: lognormal, mu: 6.9, sigma: 1.0, min: 500, max: 1500}");
  CHECK(clamped.least == Tokens{500});
  CHECK(clamped.most == Tokens{1500});
}

TEST_CASE("Zipf lengths: probability falls with the rank to the power of the exponent") {
  for (const double exponent : {0.5, 1.0, 2.5}) {
    const Sample drawn = sample("{distribution: zipf, exponent: " + std::to_string(exponent) + ", min: 3, max: 1000}");
    double harmonic = 0.0;
    for (int rank = 1; rank <= 998; ++rank) harmonic += std::pow(rank, -exponent);
    CHECK(drawn.least == Tokens{3});
    for (const int rank : {1, 2, 5}) {
      CHECK(drawn.share[static_cast<std::size_t>(rank + 2)] ==
            Approx(std::pow(rank, -exponent) / harmonic).epsilon(0.05).margin(0.0008));
    }
  }
}

TEST_CASE("Histograms, inline and from a file") {
  CHECK(sample("{distribution: histogram, values: [1, 4, 9], weights: [1, 2, 1]}").share[4] ==
        Approx(0.5).epsilon(0.02));
  const TemporaryFile file("tokens,weight\n1,1\n4,2\n9,1\n");
  CHECK(sample("{distribution: histogram, file: " + file.path() + "}").share[4] == Approx(0.5).epsilon(0.02));
  const TemporaryFile plain("tokens\n2\n2\n3\n5\n");
  CHECK(sample("{distribution: histogram, file: " + plain.path() + "}").share[2] == Approx(0.5).epsilon(0.02));
  const TemporaryFile broken("tokens,weight\n1,1\n4,-2\n");
  CHECK(contains(refused("{distribution: histogram, file: " + broken.path() + "}"), broken.path() + ":3"));
}

TEST_CASE("Quantiles: linear between, atoms where two are equal") {
  // A quarter of the mass from 10 to 20, half at 20, a quarter from 20 to 100: mean 0.25*15 + 0.5*20 + 0.25*60 = 28.75.
  const Sample drawn =
      sample("{distribution: quantiles, probabilities: [0, 0.25, 0.75, 1], tokens: [10, 20, 20, 100]}");
  CHECK(drawn.mean == Approx(28.75).epsilon(0.01));
  CHECK(drawn.median == 20);
  CHECK(drawn.most <= Tokens{100});
}

TEST_CASE("Impossible lengths are refused with their place") {
  CHECK(contains(refused("0"), "of at least 1"));
  CHECK(contains(refused("-5"), "got `-5`"));
  CHECK(contains(refused(".nan"), "got `.nan`"));
  CHECK(contains(refused("nan"), "got `nan`"));
  CHECK(contains(refused("10 GB"), "unknown unit `GB`"));
  CHECK(contains(refused("10737418240"), "got `10737418240`"));
  CHECK(contains(refused("{distribution: normal, mean: 5}"), "unknown value `normal`"));
  CHECK(contains(refused("{mean: 5}"), "distribution: is missing"));
  CHECK(contains(refused("{distribution: uniform, min: 5}"), "max: is missing"));
  CHECK(contains(refused("{distribution: uniform, min: 9, max: 5}"), "is above `max`"));
  CHECK(contains(refused("{distribution: lognormal, mu: 6, sigma: -1}"), "sigma"));
  CHECK(contains(refused("{distribution: lognormal, mu: nan, sigma: 1}"), "mu"));
  CHECK(contains(refused("{distribution: lognormal, mean: 5, median: 6}"), "is below the median"));
  CHECK(contains(refused("{distribution: lognormal, mean: 5, sigma: 6}"), "either `mu` and `sigma`"));
  CHECK(contains(refused("{distribution: zipf, exponent: 0, min: 1, max: 5}"), "exponent"));
  CHECK(contains(refused("{distribution: histogram, values: [1, 2], weights: [1]}"), "1 weights for 2 values"));
  CHECK(contains(refused("{distribution: histogram, values: [1, 2], weights: [0, 0]}"), "the sum must be above 0"));
  CHECK(contains(refused("{distribution: quantiles, probabilities: [0, 0.5], tokens: [1, 2]}"),
                 "the first 0 and the last 1"));
  CHECK(contains(refused("{distribution: quantiles, probabilities: [0, 1], tokens: [3, 2]}"), "must not fall"));
  CHECK(contains(refused("{distribution: fixed, tokens: 5, max: 6}"), "unknown key"));
  CHECK(contains(refused("[1, 2]"), "expected a map"));
}

TEST_CASE("Lengths survive being written and read again") {
  for (const char* yaml : {"512", "{distribution: uniform, min: 2, max: 5}",
                           "{distribution: lognormal, median: 1000, mean: 1648.7, max: 4096}",
                           "{distribution: zipf, exponent: 1.1, min: 1, max: 99}",
                           "{distribution: histogram, values: [1, 2.5], weights: [1, 0.3]}",
                           "{distribution: quantiles, probabilities: [0, 0.1, 1], tokens: [1, 2, 3]}"}) {
    const std::string once = to_yaml(lengths_from(yaml));
    CHECK(to_yaml(lengths_from(once)) == once);
  }
}
