#include "hardware/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

namespace ridgeline {
namespace {

// Relative step of the numeric Jacobian. Wide on purpose: prices have kinks (tiles, waves, the best of several kernels),
// and a step across several of them measures the trend rather than one facet.
constexpr double difference_step = 2e-3;
constexpr double converged_step = 1e-5;  // relative change of the loss that counts as none

/// The parameters still searched for; refused ones stay at their values.
struct Search {
  const FitProblem& problem;
  const FitOptions& options;
  std::vector<std::size_t> rows;
  std::vector<std::size_t> free;
};

struct Optimum {
  std::vector<double> values;
  Eigen::MatrixXd normal;  // J^T W J in scaled parameters, at the optimum
  double variance = 0.0;   // of one row's weighted residual
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
  search.problem.evaluate(values, search.rows, log_price);
  Eigen::VectorXd residual(static_cast<Eigen::Index>(search.rows.size()));
  for (std::size_t i = 0; i < search.rows.size(); ++i) {
    if (!std::isfinite(log_price[i])) throw InternalError("fit: a family priced a row as zero, infinite or not a number");
    residual[static_cast<Eigen::Index>(i)] = log_price[i] - search.problem.log_measured[search.rows[i]];
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

/// One-sided differences, taken inwards at the bounds.
Eigen::MatrixXd jacobian(const Search& search, const std::vector<double>& values, const Eigen::VectorXd& at) {
  Eigen::MatrixXd result(at.size(), static_cast<Eigen::Index>(search.free.size()));
  for (std::size_t j = 0; j < search.free.size(); ++j) {
    const FitParameter& parameter = search.problem.parameters[search.free[j]];
    const double scale = scale_of(parameter);
    double& moved = const_cast<std::vector<double>&>(values)[search.free[j]];
    const double original = moved;
    double step = difference_step * std::max(std::abs(original), 0.1 * scale);
    if (original + step > parameter.most) step = -step;
    moved = original + step;
    result.col(static_cast<Eigen::Index>(j)) = (residuals(search, values) - at) * (scale / step);
    moved = original;
  }
  return result;
}

Optimum minimise(const Search& search, std::vector<double> values) {
  const double delta = search.options.huber;
  const auto count = static_cast<Eigen::Index>(search.free.size());
  Optimum best;
  Eigen::VectorXd residual = residuals(search, values);
  double loss = huber_loss(residual, delta);
  double damping = 1e-2;
  int quiet = 0;
  for (best.iterations = 0; best.iterations < search.options.most_iterations && !best.converged; ++best.iterations) {
    const Eigen::MatrixXd slope = jacobian(search, values, residual);
    const Eigen::VectorXd weight = huber_weights(residual, delta);
    const Eigen::MatrixXd normal = slope.transpose() * weight.asDiagonal() * slope;
    const Eigen::VectorXd gradient = slope.transpose() * weight.asDiagonal() * residual;
    bool improved = false;
    for (int attempt = 0; attempt < 8 && !improved; ++attempt) {
      Eigen::MatrixXd damped = normal;
      for (Eigen::Index j = 0; j < count; ++j) damped(j, j) += damping * std::max(normal(j, j), 1e-9);
      const Eigen::VectorXd step = damped.ldlt().solve(-gradient);
      std::vector<double> trial = values;
      for (std::size_t j = 0; j < search.free.size(); ++j) {
        const FitParameter& parameter = search.problem.parameters[search.free[j]];
        const double moved = trial[search.free[j]] + step[static_cast<Eigen::Index>(j)] * scale_of(parameter);
        trial[search.free[j]] = std::clamp(moved, parameter.least, parameter.most);
      }
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
  const Eigen::MatrixXd slope = jacobian(search, values, residual);
  const Eigen::VectorXd weight = huber_weights(residual, delta);
  best.normal = slope.transpose() * weight.asDiagonal() * slope;
  const double spare = std::max(1.0, static_cast<double>(residual.size() - count));
  best.variance = residual.cwiseProduct(weight).dot(residual) / spare;
  best.values = std::move(values);
  return best;
}
