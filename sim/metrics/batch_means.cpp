#include "sim/metrics/batch_means.hpp"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace ridgeline {

void BatchMeans::halve(std::vector<Batch>& batches) {
  const std::size_t pairs = (batches.size() + 1) / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    Batch sum = batches[2 * i];
    if (2 * i + 1 < batches.size()) sum.sum += batches[2 * i + 1].sum, sum.samples += batches[2 * i + 1].samples;
    batches[i] = sum;
  }
  batches.resize(pairs);
}

void BatchMeans::add(std::int64_t index, double value) {
  constexpr std::int64_t most = 64;
  while (index / length_ >= most) {
    halve(batches_);
    length_ *= 2;
  }
  const auto batch = static_cast<std::size_t>(index / length_);
  if (batch >= batches_.size()) batches_.resize(batch + 1);
  batches_[batch].sum += value;
  ++batches_[batch].samples;
}

std::optional<MeanInterval> BatchMeans::interval() const {
  std::vector<Batch> batches = batches_;
  std::int64_t length = length_;
  while (batches.size() > 16) halve(batches), length *= 2;
  // The last one may be short.
  if (!batches.empty() && batches.back().samples < length) batches.pop_back();
  const auto count = static_cast<double>(batches.size());
  double sum = 0, squares = 0;
  std::int64_t samples = 0;
  for (const Batch& batch : batches) {
    const double mean = batch.samples > 0 ? batch.sum / static_cast<double>(batch.samples) : 0.0;
    sum += mean, squares += mean * mean;
    samples += batch.samples;
  }
  if (samples < fewest_samples) return std::nullopt;
  const double mean = sum / count;
  const double variance = std::max(0.0, (squares - count * mean * mean) / (count - 1));
  const double t = boost::math::quantile(boost::math::students_t(count - 1), 0.975);
  const double half = t * std::sqrt(variance / count);
  return MeanInterval{mean, mean - half, mean + half};
}

}  // namespace ridgeline
