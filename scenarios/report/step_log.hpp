// The step log: one CSV row per (step, request), streamed.
#pragma once

#include "scenarios/report/text_sink.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline {

/// Columns: time_s (the step's start), pool, replica (counted over the fleet), step (from 1 per replica), request (0-based row of the
/// workload), phase, scheduled_tokens, computed_tokens, output_tokens, and running, waiting, free_blocks after the step.
class StepLog final : public Observer {
 public:
  explicit StepLog(TextSink& sink);
  void step_done(const StepDone& fact) override;

 private:
  TextSink& sink_;
  std::string line_;
};

}  // namespace ridgeline
