#include "hardware/fit.hpp"

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

/// t = fixed + bytes / rate over sizes from 1 to 1e6, ten rows a size, with a noise of `noise` and every 20th row off by a factor 3.
FitProblem line(double noise, bool outliers) {
  FitProblem problem;
  problem.parameters = {{"fixed", 0.1, 100.0, 1.0}, {"rate", 1.0, 1e5, 100.0}};
  std::vector<double> sizes;
  RandomStream random(7, "fit_test", "noise");
  for (std::size_t group = 0; group < 20; ++group) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      sizes.push_back(std::pow(10.0, 0.3 * static_cast<double>(group)));
      const double factor = outliers && sizes.size() % 20 == 0 ? 3.0 : 1.0;
      const double time = 5.0 + sizes.back() / 2000.0;
      problem.log_measured.push_back(std::log(time * factor) + noise * (2.0 * random.uniform() - 1.0));
      problem.group.push_back(group);
    }
  }
  problem.evaluate = [sizes](std::span<const double> values, std::span<const std::size_t> rows, std::span<double> log_price) {
    for (std::size_t i = 0; i < rows.size(); ++i) log_price[i] = std::log(values[0] + sizes[rows[i]] / values[1]);
  };
  return problem;
}

}  // namespace

TEST_CASE("a fit finds the parameters behind noise and outliers", "[fit]") {
  const FitResult exact = fit(line(0.0, false));
  CHECK(exact.parameters[0].value == Approx(5.0).epsilon(0.002));
  CHECK(exact.parameters[1].value == Approx(2000.0).epsilon(0.002));
  const FitResult rough = fit(line(0.1, true));
  CHECK(rough.parameters[0].value == Approx(5.0).epsilon(0.05));
  CHECK(rough.parameters[1].value == Approx(2000.0).epsilon(0.05));
  CHECK(rough.parameters[0].low < 5.1);
  CHECK(rough.parameters[0].high > 4.9);
}

TEST_CASE("a fit is the same every time", "[fit]") {
  const FitResult a = fit(line(0.1, true));
  const FitResult b = fit(line(0.1, true));
  CHECK(a.values() == b.values());
  CHECK(a.log_price_unseen == b.log_price_unseen);
}

TEST_CASE("cross-validation prices every row by a fit that did not see its shape", "[fit]") {
  // One group is three times slower than the model can say; left out, its rows cannot pull the fit towards themselves.
  FitProblem problem = line(0.0, false);
  for (std::size_t row = 0; row < 10; ++row) problem.log_measured[row] += std::log(3.0);
  const FitResult result = fit(problem);
  CHECK(result.cross_validated.rows == 200);
  CHECK(result.log_price_unseen[0] == Approx(std::log(5.0)).margin(0.02));
}

TEST_CASE("parameters that the rows do not determine are refused with a reason", "[fit]") {
  FitProblem problem = line(0.05, false);
  problem.parameters.push_back({"idle", 0.5, 10.0, 2.0});  // evaluate ignores it
  const FitResult result = fit(problem);
  CHECK_FALSE(result.parameters[2].accepted);
  CHECK(result.parameters[2].value == 2.0);
  CHECK_FALSE(result.parameters[2].reason.empty());
  CHECK(result.parameters[0].accepted);

  FitProblem bounded = line(0.05, false);
  bounded.parameters[1].most = 500.0;  // the truth is 2000
  const FitResult at_bound = fit(bounded);
  CHECK_FALSE(at_bound.parameters[1].accepted);
  CHECK(at_bound.parameters[1].value == Approx(500.0));
}

TEST_CASE("too little data is refused", "[fit]") {
  FitProblem problem = line(0.0, false);
  problem.log_measured.resize(5);
  problem.group.resize(5);
  CHECK_THROWS_AS(fit(problem), ConfigError);
}

TEST_CASE("errors of prices", "[fit]") {
  const std::vector<double> measured{0.0, 0.0, 0.0};
  const std::vector<double> priced{std::log(1.1), std::log(0.8), std::log(1.0)};
  const FitError error = error_of(priced, measured);
  CHECK(error.mape == Approx(0.1));  // (10 + 20 + 0) / 3 %
  CHECK(error.median == Approx(0.1));
  CHECK(error_of({}, {}).rows == 0);
}
