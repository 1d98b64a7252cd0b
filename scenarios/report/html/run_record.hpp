// What the report page needs of a run beyond its metrics: latency curves and the history of queue, batch and KV use.
#pragma once

#include "scenarios/load/scenario.hpp"
#include "sim/metrics/distribution.hpp"
#include "sim/metrics/history.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline::html {

class RunRecord final : public Observer {
 public:
  explicit RunRecord(const Scenario& scenario);

  void step_done(const StepDone& fact) override { history_.step_done(fact); }
  void finished(const Request& request, Time now) override;

  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const Distribution& ttft() const { return ttft_; }
  [[nodiscard]] const Distribution& tpot() const { return tpot_; }
  [[nodiscard]] const Distribution& e2el() const { return e2el_; }

 private:
  History history_;
  Distribution ttft_, tpot_, e2el_;
};

}  // namespace ridgeline::html
