#include "sim/metrics/time_parts.hpp"

#include <algorithm>

namespace ridgeline {

namespace {

constexpr std::array causes_of_a_step{Cause::weights, Cause::kv, Cause::activations, Cause::compute, Cause::communication,
                                      Cause::overhead, Cause::host};

constexpr TimePart part_of(Cause cause) {
  constexpr std::array parts{TimePart::weights, TimePart::kv, TimePart::activations, TimePart::compute, TimePart::communication,
                             TimePart::overhead, TimePart::host, TimePart::idle};
  return parts[static_cast<std::size_t>(cause)];
}

// Gives what the rounded parts lack to the largest of them, or to `otherwise` when all are zero.
void complete(std::span<Duration> parts, Duration total, std::size_t otherwise) {
  std::size_t largest = otherwise;
  Duration sum;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i];
    if (parts[i] > parts[largest]) largest = i;
  }
  parts[largest] += total - sum;
}

void scale(std::span<Duration> parts, Duration total, std::size_t otherwise) {
  Duration whole;
  for (const Duration part : parts) whole += part;
  if (whole == total) return;
  Duration left = total;
  for (Duration& part : parts) {
    const double share = whole > Duration{} ? part.as_double() / whole.as_double() : 0.0;
    part = std::min(Duration{static_cast<std::int64_t>(total.as_double() * share)}, left);
    left -= part;
  }
  complete(parts, total, otherwise);
}

}  // namespace

TimeParts& TimeParts::operator+=(const TimeParts& other) {
  for (std::size_t i = 0; i < time_part_count; ++i) parts_[i] += other.parts_[i];
  return *this;
}

TimeParts& TimeParts::operator-=(const TimeParts& other) {
  for (std::size_t i = 0; i < time_part_count; ++i) parts_[i] -= other.parts_[i];
  return *this;
}

TimeParts& TimeParts::operator+=(const TimeByCause& by_cause) {
  for (const Cause cause : causes_of_a_step) (*this)[part_of(cause)] += by_cause[cause];
  (*this)[TimePart::idle] += by_cause[Cause::idle];
  return *this;
}

Duration TimeParts::total() const {
  Duration sum;
  for (const Duration part : parts_) sum += part;
  return sum;
}

TimeByCause scaled_to(const TimeByCause& parts, Duration total) {
  std::array<Duration, cause_count> scaled;
  for (std::size_t i = 0; i < cause_count; ++i) scaled[i] = parts[static_cast<Cause>(i)];
  scale(scaled, total, static_cast<std::size_t>(Cause::overhead));
  TimeByCause result;
  for (std::size_t i = 0; i < cause_count; ++i) result[static_cast<Cause>(i)] = scaled[i];
  return result;
}

TimeParts scaled_to(TimeParts parts, Duration total) {
  scale(parts.all(), total, static_cast<std::size_t>(TimePart::idle));
  return parts;
}

// Quotients and remainders are summed apart: sums of picoseconds over a million requests would not fit into 64 bits.
TimeParts mean_of(std::span<const TimeParts> requests) {
  TimeParts mean;
  if (requests.empty()) return mean;
  const auto n = static_cast<std::int64_t>(requests.size());
  const auto mean_over = [&](auto value_of) {
    Duration quotients, remainders;
    for (const TimeParts& request : requests) {
      const Duration value = value_of(request);
      quotients += value / n;
      remainders += Duration{value.count() % n};
    }
    return Duration{quotients + remainders / n};
  };
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const TimePart part{static_cast<std::uint8_t>(i)};
    mean[part] = mean_over([&](const TimeParts& request) { return request[part]; });
  }
  complete(mean.all(), mean_over([](const TimeParts& request) { return request.total(); }), static_cast<std::size_t>(TimePart::idle));
  return mean;
}

TimeParts between(const TimeParts& a, const TimeParts& b, double share, Duration total) {
  TimeParts parts;
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const TimePart part{static_cast<std::uint8_t>(i)};
    parts[part] = a[part] + Duration{static_cast<std::int64_t>((b[part] - a[part]).as_double() * share)};
  }
  complete(parts.all(), total, static_cast<std::size_t>(TimePart::idle));
  return parts;
}

}  // namespace ridgeline
