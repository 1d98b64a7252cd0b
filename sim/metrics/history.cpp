#include "sim/metrics/history.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

History::History(std::size_t pools, std::vector<std::uint32_t> replica_pool)
    : pools_(pools), replica_pool_(std::move(replica_pool)), replicas_(replica_pool_.size()), known_(replica_pool_.size()),
      width_(Duration::milliseconds(1)) {}

void History::step_done(const StepDone& fact) {
  while (fact.end >= Time{} + width_ * static_cast<std::int64_t>(bins)) widen();
  last_ = std::max(last_, fact.end);
  const std::size_t replica = fact.replica.value();
  PoolHistory& pool = pools_[replica_pool_[replica]];
  if (!known_[replica]) {
    known_[replica] = true;
    pool.blocks += static_cast<double>(fact.load.total_blocks);
  }
  integrate(pool, fact.end);
  const Level level{static_cast<double>(fact.load.running), static_cast<double>(fact.load.waiting),
                    static_cast<double>(fact.load.total_blocks - fact.load.free_blocks)};
  Level& before = replicas_[replica];
  pool.now.running += level.running - before.running;
  pool.now.waiting += level.waiting - before.waiting;
  pool.now.used += level.used - before.used;
  before = level;
}

void History::integrate(PoolHistory& pool, Time until) const {
  while (pool.since < until) {
    const auto bin = static_cast<std::size_t>((pool.since - Time{}).picoseconds() / width_.picoseconds());
    const Time end = std::min(until, Time{} + width_ * static_cast<std::int64_t>(bin + 1));
    const double seconds = (end - pool.since).seconds();
    pool.integrals[bin].running += pool.now.running * seconds;
    pool.integrals[bin].waiting += pool.now.waiting * seconds;
    pool.integrals[bin].used += pool.now.used * seconds;
    pool.since = end;
  }
}

void History::widen() {
  for (PoolHistory& pool : pools_) {
    for (std::size_t i = 0; i < bins / 2; ++i) {
      const Level& a = pool.integrals[2 * i];
      const Level& b = pool.integrals[2 * i + 1];
      pool.integrals[i] = {a.running + b.running, a.waiting + b.waiting, a.used + b.used};
    }
    std::fill(pool.integrals.begin() + bins / 2, pool.integrals.end(), Level{});
  }
  width_ = width_ * 2;
}

std::vector<History::Point> History::points(std::size_t index) const {
  PoolHistory pool = pools_[index];
  integrate(pool, last_);
  std::vector<Point> points;
  for (std::size_t i = 0; i < bins && Time{} + width_ * static_cast<std::int64_t>(i) < last_; ++i) {
    const Time start = Time{} + width_ * static_cast<std::int64_t>(i);
    const Duration length = std::min(width_, last_ - start);
    const Level& sum = pool.integrals[i];
    const double seconds = length.seconds();
    points.push_back({.middle = start + length / 2, .running = sum.running / seconds, .waiting = sum.waiting / seconds,
                      .kv_usage = pool.blocks > 0 ? sum.used / seconds / pool.blocks : 0.0});
  }
  return points;
}

}  // namespace ridgeline
