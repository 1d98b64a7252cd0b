// Conversations and agents, drawn turn by turn. All draws of a session are made when it starts, so that they do not depend on
// how fast a fleet answers.
#include <utility>

#include "workloads/draws.hpp"
#include "workloads/session_source.hpp"
#include "workloads/source.hpp"

namespace ridgeline {

namespace {

class GeneratedSessions final : public SessionStream {
 public:
  GeneratedSessions(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload),
        config_(*workload.sessions),
        arrivals_(make_arrivals(*workload.arrival, config_.num_sessions, seed)),
        turns_(config_.turns, seed, "turns"),
        tool_calls_(config_.tool_calls, seed, "tool_calls"),
        tool_tokens_(config_.tool_tokens, seed, "tool_tokens"),
        input_(workload.input_tokens, seed, "input_tokens"),
        output_(workload, seed),
        think_time_(seed, "workload", "think_time"),
        tool_time_(seed, "workload", "tool_time") {
    if (workload.shared_prefix) prefix_.emplace(*workload.shared_prefix, seed);
  }

  std::optional<Session> next() override {
    while (!config_.num_sessions || started_ < *config_.num_sessions) {
      const std::optional<Time> start = arrivals_->next();
      if (!start || (workload_.duration && start->since_start() >= *workload_.duration)) return std::nullopt;
      Session session = draw_session(*start);
      if (!session.steps.empty()) return session;
      ++too_long_;
    }
    return std::nullopt;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = describe_generated(workload_);
    if (too_long_ > 0) {
      notes.warnings.push_back(std::to_string(too_long_) + " of " + std::to_string(started_) +
                               " sessions sent nothing: their first request already exceeds max_context_tokens");
    }
  }

 private:
  Session draw_session(Time start) {
    ++started_;
    Session session{start, {}};
    history_.clear();
    context_ = Tokens{};
    if (prefix_) append((*prefix_)());
    const std::uint64_t name = combine64(hash64("session"), static_cast<std::uint64_t>(started_));
    const std::int64_t turns = turns_().count();
    bool fits = true;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      const Duration thought = turn == 0 ? Duration{} : draw(config_.think_time, think_time_);
      fits = fits && add_step(session, name, input_(), thought);
      const std::int64_t calls = tool_calls_ ? tool_calls_().count() : 0;
      for (std::int64_t call = 0; call < calls; ++call) {
        const Duration ran = draw(config_.tool_time, tool_time_);
        fits = fits && add_step(session, name, tool_tokens_(), ran);
      }
    }
    return session;
  }

  // A request whose prompt is the history and `added` tokens, sent `delay` after the previous answer. False: it would be
  // longer than the session may get.
  bool add_step(Session& session, std::uint64_t name, Tokens added, Duration delay) {
    SessionStep step;
    RequestSpec& request = step.request;
    request.row = row_;
    request.session = name;
    request.input = context_ + added;
    output_.set(request, std::nullopt, std::nullopt);
    if (config_.max_context_tokens && request.input + request.max_tokens > *config_.max_context_tokens) return false;
    ++row_;
    append({prompt_stream(request.row), context_, added});
    request.content = std::make_shared<Content>(history_);
    append({output_stream(request.row), Tokens{}, request.output});
    step.delay = delay;
    if (!session.steps.empty()) step.after = {static_cast<std::uint32_t>(session.steps.size() - 1)};
    session.steps.push_back(std::move(step));
    return true;
  }

  void append(const ContentRun& run) {
    history_.push_back(run);
    context_ += run.length;
  }

  WorkloadConfig workload_;
  SessionConfig config_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  DrawnLength turns_, tool_calls_, tool_tokens_, input_;
  DrawnOutput output_;
  RandomStream think_time_, tool_time_;
  std::optional<DrawnPrefix> prefix_;
  std::int64_t started_ = 0;
  std::int64_t too_long_ = 0;
  std::int64_t row_ = 0;
  Content history_;  // of the session being drawn
  Tokens context_;   // its length
};

}  // namespace

std::unique_ptr<SessionStream> generate_sessions(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<GeneratedSessions>(workload, seed);
}

}  // namespace ridgeline
