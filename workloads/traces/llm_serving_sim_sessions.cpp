// LLMServingSim's agent sessions: a row's `sub_requests` run one after the other, each `tool_duration_ns` after the answer before
// it. Plain rows may stand between them. A sub-request's tokens are its whole prompt: it continues the conversation where it is
// long enough to hold it.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/rng.hpp"
#include "workloads/draws.hpp"
#include "workloads/source.hpp"
#include "workloads/traces/session_trace.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::json;

class LlmServingSimSessions final : public SessionStream {
 public:
  LlmServingSimSessions(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload), lines_(workload.trace->file), output_(workload, seed), starts_(workload, seed) {}

  std::optional<Session> next() override {
    const TraceConfig& trace = *workload_.trace;
    std::string_view line;
    while (lines_.next(line)) {
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) lines_.fail("is not a JSON object");
      ++rows_;
      const Duration own = Duration::nanoseconds(number(json, "arrival_time_ns", 9'000'000'000'000'000));
      if (own < last_) lines_.fail("arrives before the row above it; sort the file");
      last_ = own;
      Session session = read(json);
      if (session.steps.empty() || own < trace.start.value_or(Duration{}) || (trace.end && own >= *trace.end)) continue;
      const Duration since = own - trace.start.value_or(Duration{});
      const std::optional<Time> start = starts_.next(Duration::seconds(since.seconds() / trace.rate_scale));
      if (!start) return std::nullopt;
      session.start = *start;
      return session;
    }
    return std::nullopt;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = fmt::format("llmservingsim JSON lines `{}`, times in ns, sessions wait for their answers, not used: "
                                    "input_tok_ids, output_tok_ids; {}", workload_.trace->file, describe_generated(workload_));
    notes.rows_read = rows_;
    notes.zero_rows = zero_rows_;
    if (zero_rows_ > 0) notes.warnings.push_back(fmt::format("{} requests have no input or no output tokens", zero_rows_));
  }

 private:
  std::int64_t number(const Json& json, const char* key, std::int64_t most) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0 || found->get<std::int64_t>() > most) {
      lines_.fail(fmt::format("`{}`: expected a whole number from 0 to {}", key, most));
    }
    return found->get<std::int64_t>();
  }

  Session read(const Json& json) {
    Session session;
    history_.clear();
    history_length_ = Tokens{};
    const auto steps = json.find("sub_requests");
    if (steps == json.end()) {
      add_step(session, json, Duration{}, 0);
      return session;
    }
    if (!steps->is_array()) lines_.fail("`sub_requests`: expected a list");
    const std::uint64_t name = combine64(hash64("llmservingsim session"), static_cast<std::uint64_t>(rows_));
    Duration delay;
    for (const Json& step : *steps) {
      if (!step.is_object()) lines_.fail("`sub_requests`: expected a list of objects");
      add_step(session, step, delay, name);
      // The tool runs after the request that called it.
      delay = step.contains("tool_duration_ns") ? Duration::nanoseconds(number(step, "tool_duration_ns", 9'000'000'000'000'000)) : Duration{};
    }
    return session;
  }

  void add_step(Session& session, const Json& json, Duration delay, std::uint64_t name) {
    Tokens input{number(json, "input_toks", longest_length.count())}, output{number(json, "output_toks", longest_length.count())};
    if (input == Tokens{0} || output == Tokens{0}) ++zero_rows_;
    if (!keep_lengths(*workload_.trace, input, output, {lines_.file(), static_cast<int>(lines_.line_number()), 0})) return;
    SessionStep step;
    step.request.row = row_++;
    step.request.session = name;
    step.request.input = input;
    output_.set(step.request, output, std::nullopt);
    step.request.content = std::make_shared<Content>(continued(history_, history_length_, step.request.row, input));
    history_ = *step.request.content;
    history_.push_back({output_stream(step.request.row), Tokens{}, step.request.output});
    history_length_ = input + step.request.output;
    if (!session.steps.empty()) step.after = {static_cast<std::uint32_t>(session.steps.size() - 1)};
    step.delay = delay;
    session.steps.push_back(std::move(step));
  }

  WorkloadConfig workload_;
  LineReader lines_;
  DrawnOutput output_;
  SessionStarts starts_;
  Duration last_;
  Content history_;  // of the session being read
  Tokens history_length_;
  std::int64_t rows_ = 0;
  std::int64_t zero_rows_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<SessionStream> open_llm_serving_sim_sessions(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<LlmServingSimSessions>(workload, seed);
}

}  // namespace ridgeline
