// A timeline for Perfetto (ui.perfetto.dev) or chrome://tracing: steps as slices, queue, batch and KV use as counters.
#pragma once

#include <vector>

#include "scenarios/report/text_sink.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline {

/// The JSON of Chrome's trace event format, streamed. One process per replica. Call `end` last.
class ChromeTrace final : public Observer {
 public:
  ChromeTrace(TextSink& sink, std::vector<std::string> pool_names);
  void step_done(const StepDone& fact) override;
  void end();

 private:
  void event(const std::string& text);
  void introduce(const StepDone& fact);

  TextSink& sink_;
  std::vector<std::string> pool_names_;
  std::vector<bool> introduced_;  // by replica
  bool first_ = true;
};

}  // namespace ridgeline
