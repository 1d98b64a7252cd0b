// Fitting an operator family's few physical parameters to measured times.
//
// How a family plugs in: fill a FitProblem. Name its parameters with bounds and a neutral value (what the physics or a
// sister GPU says), give the natural logarithm of every measured time, the group of every row (rows of one shape share
// a group and leave the fit together in cross-validation) and `evaluate`, which prices chosen rows for given
// parameters. `fit` then minimises Huber's loss of the logarithmic error with a bounded Levenberg-Marquardt method; the
// family never sees the algebra. Parameters that the rows do not determine are refused, with the reason: kept at their
// neutral value, or at the bound they ran into. See gemm_fit.cpp for an example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ridgeline {

struct FitParameter {
  std::string name;
  double least = 0.0;    ///< bounds, inclusive
  double most = 0.0;
  double neutral = 0.0;  ///< start of the search, and the value kept when the parameter is refused
  bool bounds_are_physical = false;  ///< a value at a bound means "absent" or "complete" (a share of 0 or 1) and is accepted
  std::string unit{};                ///< of the values, as written in a calibration: "us" or none
};

struct FitProblem {
  std::vector<FitParameter> parameters;
  std::vector<double> log_measured;  ///< ln(time / us) of every row
  std::vector<std::size_t> group;    ///< of every row: which shape it belongs to
  std::vector<std::string> group_names{};  ///< by group, for residual tables; may be empty
  /// Writes ln(price / us) of the rows named by `rows` to `log_price`, in their order. Must be pure.
  std::function<void(std::span<const double> values, std::span<const std::size_t> rows, std::span<double> log_price)>
      evaluate;
};

struct FitOptions {
  double huber = 0.1;                 ///< logarithmic error where the loss turns from quadratic to linear
  int folds = 5;                      ///< of cross-validation by whole groups; 0 skips it
  int most_iterations = 60;
  int starts = 8;                     ///< searches from scattered starts, of which the best counts
  double most_relative_error = 0.6;   ///< standard error over value beyond which a parameter is refused
  std::uint64_t seed = 1;             ///< deals the groups to the folds
};

struct FittedParameter {
  std::string name;
  std::string unit;
  double value = 0.0;
  double low = 0.0;            ///< 95 % confidence interval, from the Jacobian at the optimum
  double high = 0.0;
  bool accepted = true;
  std::string reason;          ///< why it was refused or, if accepted all the same because the fit needs it, doubtful
};

/// Errors as fractions: 0.06 = 6 %.
struct FitError {
  std::size_t rows = 0;
  double mape = 0.0;    ///< mean of |price / measured - 1|
  double median = 0.0;
  double p90 = 0.0;
};

struct FitResult {
  std::vector<FittedParameter> parameters;  ///< in the problem's order
  FitError in_sample;
  FitError cross_validated;                 ///< every row priced by a fit that saw no row of its group; zero rows if skipped
  std::vector<double> log_price;            ///< of every row, by the final parameters
  std::vector<double> log_price_unseen;     ///< of every row, by the fit that left its group out; empty if skipped
  int iterations = 0;
  bool converged = false;

  [[nodiscard]] std::vector<double> values() const;
};

/// Throws ConfigError when there are fewer rows than three per parameter (too little data is the user's mistake);
/// InternalError when the problem is inconsistent or a price is not finite.
FitResult fit(const FitProblem& problem, const FitOptions& options = {});

/// Error of logarithmic prices against logarithmic measurements.
FitError error_of(std::span<const double> log_price, std::span<const double> log_measured);

}  // namespace ridgeline
