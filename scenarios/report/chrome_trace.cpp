#include "scenarios/report/chrome_trace.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scenarios/report/decimal.hpp"

namespace ridgeline {

ChromeTrace::ChromeTrace(TextSink& sink, std::vector<std::string> pool_names) : sink_(sink), pool_names_(std::move(pool_names)) {
  sink_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
}

void ChromeTrace::event(const std::string& text) {
  sink_.write(first_ ? "\n" : ",\n");
  sink_.write(text);
  first_ = false;
}

void ChromeTrace::introduce(const StepDone& fact) {
  const std::size_t replica = fact.replica.value();
  if (introduced_.size() <= replica) introduced_.resize(replica + 1, false);
  if (introduced_[replica]) return;
  introduced_[replica] = true;
  const std::string name = fmt::format("{} / replica {}", pool_names_.at(fact.pool.value()), replica);
  event(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", replica, nlohmann::json(name).dump()));
}

void ChromeTrace::step_done(const StepDone& fact) {
  introduce(fact);
  const BatchShape& batch = fact.plan->batch;
  const bool prefills = !batch.chunks.empty();
  const bool decodes = batch.decode_sequences > 0;
  const char* kind = prefills && decodes ? "mixed" : prefills ? "prefill" : "decode";
  const std::uint32_t pid = fact.replica.value();
  event(fmt::format(R"({{"ph":"X","pid":{},"tid":0,"name":"{}","ts":{},"dur":{},"args":{{"step":{},"decodes":{},"prefill_tokens":{},)"
                    R"("chunks":{},"gpu_us":{},"host_us":{}}}}})",
                    pid, kind, microseconds_text(fact.start.since_start()), microseconds_text(fact.end - fact.start), fact.step,
                    batch.decode_sequences, batch.prefill_tokens().count(), batch.chunks.size(), microseconds_text(fact.price->gpu),
                    microseconds_text(fact.price->host)));
  const std::string at = microseconds_text(fact.end.since_start());
  event(fmt::format(R"({{"ph":"C","pid":{},"name":"requests","ts":{},"args":{{"running":{},"waiting":{}}}}})", pid, at, fact.load.running,
                    fact.load.waiting));
  event(fmt::format(R"({{"ph":"C","pid":{},"name":"KV blocks","ts":{},"args":{{"used":{},"free":{}}}}})", pid, at,
                    fact.load.total_blocks - fact.load.free_blocks, fact.load.free_blocks));
}

void ChromeTrace::end() { sink_.write("\n]}\n"); }

}  // namespace ridgeline
