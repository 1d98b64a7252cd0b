// Drives one scheduler by hand at 1 ms a step, synchronously, and keeps every plan.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/scheduling/builtin.hpp"
#include "tests/support/catch.hpp"

namespace ridgeline::test {

class EngineDriver : private SchedulerListener {
 public:
  struct Step {
    Time start;
    StepPlan plan;
    SchedulerLoad planned;
    SchedulerLoad after;
  };
  struct Admission {
    std::int64_t request = 0;
    std::int64_t cached = 0;
    Time at;
  };

  explicit EngineDriver(EngineConfig config)
      : scheduler_(find_row(schedulers(), config.scheduler, "scheduler").make(config, "replica")) {}

  /// Requests are named by the order of their adding, which is that of their arrivals.
  EngineDriver& add(std::int64_t input, std::int64_t output, Duration at = {}, Content content = {}) {
    Request request;
    request.spec.row = static_cast<std::int64_t>(requests_.size());
    request.spec.arrival = Time{at};
    request.spec.input = Tokens{input};
    request.spec.output = request.spec.max_tokens = Tokens{output};
    if (!content.empty()) request.spec.content = std::make_shared<const Content>(std::move(content));
    requests_.push_back(std::move(request));
    return *this;
  }

  EngineDriver& run() {
    auto next = requests_.begin();
    Time now;
    while (next != requests_.end() || finished_.size() < requests_.size()) {
      for (; next != requests_.end() && next->spec.arrival <= now; ++next) scheduler_->add(*next, now);
      Step step;
      now_ = now;
      if (scheduler_->plan(now, step.plan, *this)) {
        step.start = now;
        step.planned = scheduler_->load();
        now_ = now = now + Duration::milliseconds(1);
        scheduler_->complete(now, *this);
        step.after = scheduler_->load();
        steps.push_back(std::move(step));
        continue;
      }
      const Time arrival = next == requests_.end() ? Time::max() : next->spec.arrival;
      const Time wake = std::min(arrival, scheduler_->next_wake());
      REQUIRE(wake > now);
      REQUIRE(wake < Time::max());
      now = wake;
    }
    return *this;
  }

  [[nodiscard]] const Step& step(std::size_t number) const { return steps.at(number - 1); }
  [[nodiscard]] HostTraffic swapped() const {
    HostTraffic sum;
    for (const Step& step : steps) sum.in += step.plan.swapped.in, sum.out += step.plan.swapped.out;
    return sum;
  }
  [[nodiscard]] std::int64_t evicted_tokens() const {
    std::int64_t sum = 0;
    for (const Step& step : steps) sum += step.plan.evicted.count();
    return sum;
  }

  std::vector<Step> steps;
  std::vector<Admission> admissions;
  HostTraffic tier;                       ///< offload traffic so far
  std::int64_t cache_evictions = 0;       ///< blocks
  std::vector<std::int64_t> preemptions;  ///< requests, in order

 private:
  void admitted(Request& request, Tokens cached) override { admissions.push_back({request.spec.row, cached.count(), now_}); }
  void preempted(Request& request) override { preemptions.push_back(request.spec.row); }
  void offloaded(const HostTraffic& started) override { tier.in += started.in, tier.out += started.out; }
  void cache_evicted(std::int64_t blocks) override { cache_evictions += blocks; }
  void first_token(Request&) override {}
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request& request) override { finished_.push_back(request.spec.row); }

  std::unique_ptr<Scheduler> scheduler_;
  std::deque<Request> requests_;
  std::vector<std::int64_t> finished_;
  Time now_;
};

}  // namespace ridgeline::test
