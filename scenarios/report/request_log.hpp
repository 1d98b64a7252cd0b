// One CSV row per finished request, in order of finishing, streamed.
#pragma once

#include <string>
#include <vector>

#include "scenarios/report/text_sink.hpp"
#include "sim/serving/facts.hpp"

namespace ridgeline {

/// Columns: request (0-based row of the workload), pool (name), replica, arrival_s, sent_s, first_token_s, finish_s, input_tokens,
/// output_tokens, cached_tokens, preemptions, ttft_ms, tpot_ms (empty for one output token), e2el_ms. Latencies count from `sent_s`.
class RequestLog final : public Observer {
 public:
  RequestLog(TextSink& sink, std::vector<std::string> pool_names);
  void finished(const Request& request, Time now) override;
  [[nodiscard]] bool takes_runs() const override { return true; }

 private:
  TextSink& sink_;
  std::vector<std::string> pool_names_;
};

}  // namespace ridgeline
