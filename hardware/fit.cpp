#include "hardware/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace ridgeline {
namespace {

// Relative step of the numeric Jacobian. Wide on purpose: prices have kinks (tiles, waves, the best of several kernels),
// and a step across several of them measures the trend rather than one facet.
constexpr double difference_step = 2e-2;
constexpr double largest_step = 0.4;     // of a parameter's value, in one iteration
constexpr double tolerated_loss = 0.01;  // growth of the loss up to which a parameter counts as dispensable
constexpr double converged_step = 1e-5;  // relative change of the loss that counts as none

/// The parameters still searched for; refused ones stay at their values.
struct Search {
  const FitProblem* problem;
  const FitOptions* options;
  std::vector<std::size_t> rows;
  std::vector<std::size_t> free;
};

struct Optimum {
  std::vector<double> values;
  Eigen::MatrixXd normal;  // J^T W J in scaled parameters, at the optimum
  double variance = 0.0;   // of one row's weighted residual
  double loss = 0.0;
  int iterations = 0;
  bool converged = false;
};

/// Parameters are searched in units of their neutral value (or range, where that is zero).
double scale_of(const FitParameter& parameter) {
  const double size = std::abs(parameter.neutral);
  return size > 0.0 ? size : 0.1 * (parameter.most - parameter.least);
}

Eigen::VectorXd residuals(const Search& search, std::span<const double> values) {
  std::vector<double> log_price(search.rows.size());
  search.problem->evaluate(values, search.rows, log_price);
  Eigen::VectorXd residual(static_cast<Eigen::Index>(search.rows.size()));
  for (std::size_t i = 0; i < search.rows.size(); ++i) {
    if (!std::isfinite(log_price[i])) throw InternalError("fit: a family priced a row as zero, infinite or not a number");
    residual[static_cast<Eigen::Index>(i)] = log_price[i] - search.problem->log_measured[search.rows[i]];
  }
  return residual;
}

double huber_loss(const Eigen::VectorXd& residual, double delta) {
  double sum = 0.0;
  for (const double r : residual) {
    const double size = std::abs(r);
    sum += size <= delta ? 0.5 * r * r : delta * (size - 0.5 * delta);
  }
  return sum;
}

/// Weights of iteratively reweighted least squares for Huber's loss.
Eigen::VectorXd huber_weights(const Eigen::VectorXd& residual, double delta) {
  return residual.unaryExpr([delta](double r) { return std::abs(r) <= delta ? 1.0 : delta / std::abs(r); });
}

/// Central differences, one-sided at the bounds.
Eigen::MatrixXd jacobian(const Search& search, std::vector<double> values) {
  Eigen::MatrixXd result(static_cast<Eigen::Index>(search.rows.size()), static_cast<Eigen::Index>(search.free.size()));
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const FitParameter& parameter = search.problem->parameters[search.free[j]];
    const double scale = scale_of(parameter);
    double& moved = values[search.free[j]];
    const double original = moved;
    const double step = difference_step * std::max(std::abs(original), 0.1 * scale);
    const double above = std::min(original + step, parameter.most);
    const double below = std::max(original - step, parameter.least);
    moved = above;
    const Eigen::VectorXd at_above = residuals(search, values);
    moved = below;
    const Eigen::VectorXd at_below = residuals(search, values);
    moved = original;
    result.col(static_cast<Eigen::Index>(j)) = (at_above - at_below) * (above > below ? scale / (above - below) : 0.0);
  }
  return result;
}

bool at_bound(const FitParameter& parameter, double value) {
  const double margin = 1e-6 * (parameter.most - parameter.least);
  return value <= parameter.least + margin || value >= parameter.most - margin;
}

/// One damped step, clipped to the bounds. Parameters that rest on a bound and are pushed outwards sit out, lest they
/// drag the others along.
std::vector<double> step_from(const Search& search, const std::vector<double>& values, const Eigen::MatrixXd& normal,
                              const Eigen::VectorXd& gradient, double damping) {
  Eigen::MatrixXd damped = normal;
  Eigen::VectorXd downhill = -gradient;
  for (Eigen::Index j = 0; j < downhill.size(); ++j) {
    const std::size_t index = search.free[static_cast<std::size_t>(j)];
    const FitParameter& parameter = search.problem->parameters[index];
    const bool outwards = downhill[j] < 0.0 ? values[index] <= parameter.least : values[index] >= parameter.most;
    if (outwards) {
      damped.row(j).setZero();
      damped.col(j).setZero();
      damped(j, j) = 1.0;
      downhill[j] = 0.0;
    } else {
      damped(j, j) += damping * std::max(normal(j, j), 1e-9);
    }
  }
  const Eigen::VectorXd step = damped.ldlt().solve(downhill);
  std::vector<double> trial = values;
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const FitParameter& parameter = search.problem->parameters[search.free[j]];
    const double scale = scale_of(parameter);
    const double most = largest_step * std::max(std::abs(values[search.free[j]]), 0.3 * scale);
    const double move = std::clamp(step[static_cast<Eigen::Index>(j)] * scale, -most, most);
    trial[search.free[j]] = std::clamp(values[search.free[j]] + move, parameter.least, parameter.most);
  }
  return trial;
}

Optimum minimise(const Search& search, std::vector<double> values) {
  const double delta = search.options->huber;
  const auto count = static_cast<Eigen::Index>(search.free.size());
  Optimum best;
  Eigen::VectorXd residual = residuals(search, values);
  double loss = huber_loss(residual, delta);
  double damping = 1e-2;
  int quiet = 0;
  for (best.iterations = 0; best.iterations < search.options->most_iterations && !best.converged; ++best.iterations) {
    const Eigen::MatrixXd slope = jacobian(search, values);
    const Eigen::VectorXd weight = huber_weights(residual, delta);
    const Eigen::MatrixXd normal = slope.transpose() * weight.asDiagonal() * slope;
    const Eigen::VectorXd gradient = slope.transpose() * weight.asDiagonal() * residual;
    bool improved = false;
    for (int attempt = 0; attempt < 12 && !improved; ++attempt) {
      std::vector<double> trial = step_from(search, values, normal, gradient, damping);
      const Eigen::VectorXd trial_residual = residuals(search, trial);
      const double trial_loss = huber_loss(trial_residual, delta);
      if (trial_loss < loss) {
        quiet = loss - trial_loss < converged_step * loss ? quiet + 1 : 0;
        improved = true;
        values = std::move(trial);
        residual = trial_residual;
        loss = trial_loss;
        damping = std::max(damping * 0.3, 1e-6);
      } else {
        damping *= 4.0;
      }
    }
    best.converged = !improved || quiet >= 2;
  }
  const Eigen::MatrixXd slope = jacobian(search, values);
  const Eigen::VectorXd weight = huber_weights(residual, delta);
  best.normal = slope.transpose() * weight.asDiagonal() * slope;
  const double spare = std::max(1.0, static_cast<double>(residual.size() - count));
  best.variance = residual.cwiseProduct(weight).dot(residual) / spare;
  best.values = std::move(values);
  best.loss = loss;
  return best;
}

/// The best of several searches: from `start` and from places scattered around it, since kinks make local optima.
Optimum minimise_from_many(const Search& search, const std::vector<double>& start) {
  Optimum best = minimise(search, start);
  RandomStream random(search.options->seed, "fit", "starts");
  for (int attempt = 1; attempt < search.options->starts; ++attempt) {
    std::vector<double> scattered = start;
    for (const std::size_t index : search.free) {
      const FitParameter& parameter = search.problem->parameters[index];
      const double shift = 2.0 * random.uniform() - 1.0;  // a factor of 1/2 to 2 around the neutral value
      const double moved = parameter.neutral > 0.0 ? parameter.neutral * std::exp2(shift)
                                                   : parameter.neutral + shift * scale_of(parameter);
      scattered[index] = std::clamp(moved, parameter.least, parameter.most);
    }
    Optimum optimum = minimise(search, std::move(scattered));
    if (optimum.loss < best.loss) best = std::move(optimum);
  }
  return best;
}

/// Standard errors of the free parameters; those that rest on a bound do not vary and get zero.
std::vector<double> standard_errors(const Search& search, const Optimum& optimum) {
  std::vector<Eigen::Index> inner;
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const std::size_t index = search.free[j];
    if (!at_bound(search.problem->parameters[index], optimum.values[index])) inner.push_back(static_cast<Eigen::Index>(j));
  }
  const auto count = static_cast<Eigen::Index>(inner.size());
  Eigen::MatrixXd normal(count, count);
  for (Eigen::Index a = 0; a < count; ++a) {
    for (Eigen::Index b = 0; b < count; ++b) {
      normal(a, b) = optimum.normal(inner[static_cast<std::size_t>(a)], inner[static_cast<std::size_t>(b)]);
    }
  }
  // A direction without any effect has a zero eigenvalue: the pseudo-inverse would call it certain, the floor calls it wild.
  normal.diagonal().array() += 1e-9 * std::max(1e-9, normal.trace());
  const Eigen::MatrixXd covariance = optimum.variance * normal.inverse();
  std::vector<double> errors(search.free.size(), 0.0);
  for (Eigen::Index a = 0; a < count; ++a) {
    const auto j = static_cast<std::size_t>(inner[static_cast<std::size_t>(a)]);
    errors[j] = std::sqrt(std::max(0.0, covariance(a, a))) * scale_of(search.problem->parameters[search.free[j]]);
  }
  return errors;
}

std::string shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

struct Refusal {
  std::size_t position = 0;  // in Search::free
  std::string reason;
};

/// The parameter that the rows determine worst, if any is bad enough to refuse.
std::optional<Refusal> worst(const Search& search, const Optimum& optimum, const std::vector<double>& errors,
                             const std::vector<bool>& needed) {
  std::optional<Refusal> found;
  double badness = 0.0;
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const FitParameter& parameter = search.problem->parameters[search.free[j]];
    const double value = optimum.values[search.free[j]];
    if (needed[search.free[j]] || at_bound(parameter, value)) continue;
    const double size = parameter.bounds_are_physical ? parameter.most - parameter.least : std::abs(value);
    const double relative = errors[j] / std::max(size, 1e-12);
    if (relative <= search.options->most_relative_error || relative <= badness) continue;
    badness = relative;
    found = Refusal{j, "standard error " + shortened(errors[j]) + " beside a value of " + shortened(value) +
                           ": the rows do not determine it"};
  }
  return found;
}

std::vector<std::size_t> all_rows(const FitProblem& problem) {
  std::vector<std::size_t> rows(problem.log_measured.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

/// Deals the groups to folds at random but reproducibly; returns the fold of every row.
std::vector<std::size_t> fold_of_rows(const FitProblem& problem, const FitOptions& options) {
  std::map<std::uint64_t, std::size_t> shuffled;  // random key -> group
  for (const std::size_t group : problem.group) shuffled[combine64(options.seed, group)] = group;
  std::map<std::size_t, std::size_t> fold_of_group;
  std::size_t next = 0;
  for (const auto& [key, group] : shuffled) fold_of_group[group] = next++ % static_cast<std::size_t>(options.folds);
  std::vector<std::size_t> folds;
  for (const std::size_t group : problem.group) folds.push_back(fold_of_group[group]);
  return folds;
}

std::vector<double> cross_validate(const Search& accepted, const std::vector<double>& start) {
  const std::vector<std::size_t> folds = fold_of_rows(*accepted.problem, *accepted.options);
  std::vector<double> log_price(folds.size());
  for (std::size_t fold = 0; fold < static_cast<std::size_t>(accepted.options->folds); ++fold) {
    Search seen = accepted;
    seen.rows.clear();
    std::vector<std::size_t> unseen;
    for (std::size_t row = 0; row < folds.size(); ++row) (folds[row] == fold ? unseen : seen.rows).push_back(row);
    if (unseen.empty()) continue;
    const Optimum optimum = minimise_from_many(seen, start);
    std::vector<double> priced(unseen.size());
    accepted.problem->evaluate(optimum.values, unseen, priced);
    for (std::size_t i = 0; i < unseen.size(); ++i) log_price[unseen[i]] = priced[i];
  }
  return log_price;
}

void check(const FitProblem& problem) {
  if (problem.group.size() != problem.log_measured.size() || !problem.evaluate) {
    throw InternalError("fit: the problem's rows and groups differ in number, or it cannot evaluate");
  }
  for (const FitParameter& parameter : problem.parameters) {
    if (!(parameter.least <= parameter.neutral && parameter.neutral <= parameter.most)) {
      throw InternalError("fit: the neutral value of `" + parameter.name + "` lies outside its bounds");
    }
  }
  const std::size_t needed = 3 * problem.parameters.size();
  if (problem.log_measured.size() < needed) {
    throw ConfigError("too little data to calibrate: " + std::to_string(problem.log_measured.size()) +
                      " rows; expected at least " + std::to_string(needed) + " (three per parameter)");
  }
}

}  // namespace

FitResult fit(const FitProblem& problem, const FitOptions& options) {
  check(problem);
  FitResult result;
  std::vector<double> neutral;
  for (const FitParameter& parameter : problem.parameters) {
    neutral.push_back(parameter.neutral);
    FittedParameter fitted;
    fitted.name = parameter.name;
    fitted.unit = parameter.unit;
    result.parameters.push_back(std::move(fitted));
  }
  Search search{&problem, &options, all_rows(problem), {}};
  search.free.resize(neutral.size());
  std::iota(search.free.begin(), search.free.end(), std::size_t{0});

  Optimum optimum = minimise_from_many(search, neutral);
  std::vector<double> errors = standard_errors(search, optimum);
  std::vector<bool> needed(neutral.size(), false);
  while (const std::optional<Refusal> refusal = worst(search, optimum, errors, needed)) {
    const std::size_t index = search.free[refusal->position];
    Search without = search;
    without.free.erase(without.free.begin() + static_cast<std::ptrdiff_t>(refusal->position));
    std::vector<double> start = optimum.values;
    start[index] = neutral[index];
    Optimum refitted = minimise(without, std::move(start));
    result.parameters[index].reason = refusal->reason;
    if (refitted.loss > (1.0 + tolerated_loss) * optimum.loss) {  // ill determined together with others, yet needed
      needed[index] = true;
      continue;
    }
    result.parameters[index].accepted = false;
    search = std::move(without);
    optimum = std::move(refitted);
    errors = standard_errors(search, optimum);
  }

  for (std::size_t index = 0; index < neutral.size(); ++index) {
    FittedParameter& fitted = result.parameters[index];
    fitted.value = fitted.low = fitted.high = optimum.values[index];
  }
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const FitParameter& parameter = problem.parameters[search.free[j]];
    FittedParameter& fitted = result.parameters[search.free[j]];
    if (at_bound(parameter, fitted.value) && !parameter.bounds_are_physical) {
      fitted.accepted = false;
      fitted.reason = "ran into its bound " + shortened(fitted.value) + " and stays there";
    }
    fitted.low = std::max(parameter.least, fitted.value - 1.96 * errors[j]);
    fitted.high = std::min(parameter.most, fitted.value + 1.96 * errors[j]);
  }
  result.iterations = optimum.iterations;
  result.converged = optimum.converged;
  result.log_price.resize(problem.log_measured.size());
  problem.evaluate(optimum.values, search.rows, result.log_price);
  result.in_sample = error_of(result.log_price, problem.log_measured);
  if (options.folds > 1) {
    result.log_price_unseen = cross_validate(search, neutral);
    result.cross_validated = error_of(result.log_price_unseen, problem.log_measured);
  }
  return result;
}

FitError error_of(std::span<const double> log_price, std::span<const double> log_measured) {
  if (log_price.size() != log_measured.size()) throw InternalError("error_of: spans differ in length");
  FitError error;
  error.rows = log_price.size();
  if (error.rows == 0) return error;
  std::vector<double> size;
  for (std::size_t i = 0; i < log_price.size(); ++i) {
    size.push_back(std::abs(std::expm1(log_price[i] - log_measured[i])));
    error.mape += size.back();
  }
  error.mape /= static_cast<double>(error.rows);
  const auto quantile = [&size](double share) {
    const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(size.size() - 1) + 0.5);
    std::nth_element(size.begin(), size.begin() + rank, size.end());
    return size[static_cast<std::size_t>(rank)];
  };
  error.median = quantile(0.5);
  error.p90 = quantile(0.9);
  return error;
}

std::vector<double> FitResult::values() const {
  std::vector<double> result;
  for (const FittedParameter& parameter : parameters) result.push_back(parameter.value);
  return result;
}

}  // namespace ridgeline
