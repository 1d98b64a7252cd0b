// Sessions from traces with one request a row: rows of one session follow each other, each after its delay.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "workloads/draws.hpp"
#include "workloads/source.hpp"
#include "workloads/traces/session_trace.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

// A session's rows may lie anywhere in the file, so the whole file is held.
class RowSessions final : public SessionStream {
 public:
  RowSessions(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload), reader_(*workload.trace, {true, true, !workload.output_tokens}), output_(workload, seed), starts_(workload, seed) {
    TraceRow row;
    while (reader_.next(row)) add(row);
    std::stable_sort(sessions_.begin(), sessions_.end(), [](const Session& a, const Session& b) { return a.start < b.start; });
    std::erase_if(sessions_, [](const Session& session) { return session.steps.empty(); });
  }

  std::optional<Session> next() override {
    while (next_ < sessions_.size()) {
      Session session = std::move(sessions_[next_++]);
      const TraceConfig& trace = *workload_.trace;
      const Duration own = session.start.since_start();
      if (own < trace.start.value_or(Duration{}) || (trace.end && own >= *trace.end)) continue;
      const Duration since = own - trace.start.value_or(Duration{});
      const std::optional<Time> start = starts_.next(Duration::seconds(since.seconds() / trace.rate_scale));
      if (!start) return std::nullopt;
      session.start = *start;
      return session;
    }
    return std::nullopt;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = reader_.describe() + ", sessions wait for their answers; " + describe_generated(workload_);
    notes.rows_read = rows_;
    notes.zero_rows = zero_rows_;
    if (zero_rows_ > 0) {
      const bool kept = workload_.trace->zero_tokens == TraceConfig::ZeroTokens::keep_as_one;
      notes.warnings.push_back(fmt::format("{} of {} rows have no input or no output tokens and were {}", zero_rows_, rows_,
                                           kept ? "given one (zero_tokens: keep_as_one)" : "left out (zero_tokens: drop)"));
    }
  }

 private:
  // Where a session stands while its rows are read.
  struct Open {
    std::size_t index = 0;    // of the session
    bool timed = false;       // its first row has a time
    Duration delay;           // of rows left out since the last step
    Content history;          // of the last step, its answer included
    Tokens history_length;
  };

  void add(TraceRow& row) {
    const std::int64_t number = rows_++;
    Tokens input = row.input.value(), output = row.output.value_or(Tokens{1});
    const bool zero = input == Tokens{0} || output == Tokens{0};
    if (zero) ++zero_rows_;
    const bool kept = keep_lengths(*workload_.trace, input, output, {workload_.trace->file, static_cast<int>(row.line), 0});
    if (row.session == 0) {
      Open alone = open(row);
      if (kept) add_step(alone, row, number, input, output);
      return;
    }
    const auto found = open_.find(row.session);
    Open& session = found != open_.end() ? found->second : open_.emplace(row.session, open(row)).first->second;
    if (!kept) {
      session.delay = session.delay + row.delay.value_or(Duration{});
      return;
    }
    add_step(session, row, number, input, output);
  }

  Open open(const TraceRow& row) {
    if (!row.time && !workload_.arrival) {
      reader_.fail(row.line, "is its session's first row and has no arrival time");
    }
    if (!origin_ && row.time) origin_ = reader_.starts_at_first_row() ? *row.time : Instant{};
    sessions_.push_back({Time{row.time ? since_origin(row) : Duration{}}, {}});
    return {sessions_.size() - 1, row.time.has_value(), {}, {}, {}};
  }

  Duration since_origin(const TraceRow& row) {
    const std::optional<Duration> since = row.time->since(*origin_);
    if (!since || *since < Duration{}) reader_.fail(row.line, "arrives before time zero or more than 106 days after it");
    return *since;
  }

  void add_step(Open& open, const TraceRow& row, std::int64_t number, Tokens input, Tokens output) {
    Session& session = sessions_[open.index];
    SessionStep step;
    RequestSpec& request = step.request;
    request.row = number;
    request.session = row.session;
    request.priority = row.priority;
    request.input = input;
    output_.set(request, row.output ? std::optional(output) : std::nullopt, row.max_tokens);
    Content content = row.content.empty() ? continued(open.history, open.history_length, number, input) : row.content;
    request.content = std::make_shared<Content>(content);
    if (session.steps.empty()) {
      step.delay = Duration{};
    } else if (row.time && open.timed && !row.delay) {
      step.delay = std::max(Duration{}, Duration{since_origin(row) - session.start.since_start()});  // at its own time, answered or not
    } else {
      step.after = {static_cast<std::uint32_t>(session.steps.size() - 1)};
      step.delay = row.delay.value_or(Duration{}) + open.delay;
    }
    open.delay = Duration{};
    open.history = std::move(content);
    open.history.push_back({output_stream(number), Tokens{}, request.output});
    open.history_length = input + request.output;
    session.steps.push_back(std::move(step));
  }

  WorkloadConfig workload_;
  TraceReader reader_;
  DrawnOutput output_;
  SessionStarts starts_;
  std::optional<Instant> origin_;
  std::vector<Session> sessions_;
  std::unordered_map<std::uint64_t, Open> open_;  // looked up, never iterated
  std::size_t next_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t zero_rows_ = 0;
};

}  // namespace

std::unique_ptr<SessionStream> open_row_sessions(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<RowSessions>(workload, seed);
}

}  // namespace ridgeline
