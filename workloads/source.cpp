#include "workloads/source.hpp"

#include <utility>

#include <fmt/format.h>

#include "workloads/draws.hpp"
#include "workloads/session_source.hpp"
#include "workloads/traces/session_trace.hpp"
#include "workloads/traces/trace_source.hpp"

namespace ridgeline {

namespace {

class ComposedSource final : public WorkloadSource {
 public:
  ComposedSource(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload),
        input_(workload.input_tokens, seed, "input_tokens"),
        output_(workload, seed) {
    if (workload.arrival)
      arrivals_ = make_arrivals(*workload.arrival, workload.trace ? std::nullopt : workload.num_prompts, seed);
    if (workload.trace) trace_.emplace(*workload.trace, trace_needs(workload));
    if (workload.shared_prefix) prefix_.emplace(*workload.shared_prefix, seed);
  }

  Time next_arrival() override {
    if (!ahead_) ahead_ = make();
    return ahead_ ? ahead_->arrival : Time::max();
  }

 protected:
  std::optional<RequestSpec> produce() override {
    if (!ahead_) ahead_ = make();
    return std::exchange(ahead_, std::nullopt);
  }

  std::optional<RequestSpec> make() {
    if (ended_ || (workload_.num_prompts && row_ == *workload_.num_prompts)) return std::nullopt;
    RequestSpec request;
    ended_ = !produce_parts(request);
    if (ended_) return std::nullopt;
    request.row = row_++;
    return request;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = trace_ ? trace_->reader().describe() : std::string();
    const std::string generated = describe_generated(workload_);
    if (!generated.empty()) notes.description += (trace_ ? "; " : "") + generated;
    if (!trace_) return;
    notes.rows_read = trace_->rows_read();
    notes.zero_rows = trace_->zero_rows();
    notes.late_rows = trace_->late_rows();
    if (notes.zero_rows > 0) {
      const bool kept = workload_.trace->zero_tokens == TraceConfig::ZeroTokens::keep_as_one;
      notes.warnings.push_back(
          fmt::format("{} of {} rows have no input or no output tokens and were {}", notes.zero_rows, notes.rows_read,
                      kept ? "given one (zero_tokens: keep_as_one)" : "left out (zero_tokens: drop)"));
    }
    if (notes.late_rows > 0) {
      notes.warnings.push_back(fmt::format("{} of {} rows were out of order and were put into their place in time",
                                           notes.late_rows, notes.rows_read));
    }
    if (const std::string unit = trace_->reader().unit_warning(); !unit.empty()) notes.warnings.push_back(unit);
  }

 private:
  // False at the end of the workload.
  bool produce_parts(RequestSpec& request) {
    std::optional<TraceStream::Item> item;
    if (trace_) {
      item = trace_->next();
      if (!item) return false;
      request.arrival = Time{item->arrival};
    }
    if (arrivals_) {
      const std::optional<Time> arrival = arrivals_->next();
      if (!arrival) return false;
      request.arrival = *arrival;
    }
    if (workload_.duration && request.arrival.since_start() >= *workload_.duration) return false;
    request.input = input_ ? input_() : *item->row.input;
    output_.set(request, item ? item->row.output : std::nullopt, item ? item->row.max_tokens : std::nullopt);
    if (prefix_) {
      request.content = std::make_shared<Content>(Content{(*prefix_)()});
      request.input += request.content->front().length;
    }
    if (item) {
      request.priority = item->row.priority;
      request.session = item->row.session;
      if (!item->row.content.empty()) request.content = std::make_shared<Content>(std::move(item->row.content));
      if (!item->row.accepted.empty())
        request.accepted = std::make_shared<std::vector<int>>(std::move(item->row.accepted));
    }
    return true;
  }

  WorkloadConfig workload_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::optional<TraceStream> trace_;
  DrawnLength input_;
  DrawnOutput output_;
  std::optional<DrawnPrefix> prefix_;
  std::optional<RequestSpec> ahead_;
  std::int64_t row_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string describe_generated(const WorkloadConfig& workload) {
  std::vector<std::string> parts;
  if (!workload.preset.empty()) parts.push_back("preset " + workload.preset);
  if (workload.arrival) parts.push_back(describe(*workload.arrival));
  if (workload.input_tokens) parts.push_back("input tokens " + describe(*workload.input_tokens));
  if (workload.output_tokens) parts.push_back("output tokens " + describe(*workload.output_tokens));
  if (workload.max_tokens) parts.push_back("max_tokens " + describe(*workload.max_tokens));
  if (workload.min_tokens > Tokens{1}) parts.push_back(fmt::format("min_tokens {}", workload.min_tokens.count()));
  if (workload.ignore_eos) parts.emplace_back("ignore_eos");
  if (workload.shared_prefix) {
    std::string text = fmt::format("{} shared prefixes of {} tokens", workload.shared_prefix->count,
                                   describe(workload.shared_prefix->tokens));
    if (workload.shared_prefix->zipf_exponent > 0) {
      text += fmt::format(", Zipf popularity {:.4g}", workload.shared_prefix->zipf_exponent);
    }
    parts.push_back(std::move(text));
  }
  if (workload.sessions) parts.push_back(describe(*workload.sessions));
  if (workload.max_concurrent_sessions) parts.push_back(fmt::format("at most {} sessions at once", *workload.max_concurrent_sessions));
  parts.push_back(workload.max_concurrency
                      ? fmt::format("closed loop of at most {} requests in flight", *workload.max_concurrency)
                      : std::string(workload.sessions ? "each turn waits for the answer before it" : "open loop"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string quiet_start_warning(const WorkloadStatistics::Rates& rates) {
  if (!rates.quiet_start) return {};
  const double hours = rates.quiet_start->seconds() / 3600.0;
  return fmt::format(
      "the first {} carry {:.3g} requests/s, what follows {:.3g}: a run that stops early sees only the quiet part "
      "(`start` skips it)",
      hours >= 1.0 ? fmt::format("{:.3g} h", hours) : fmt::format("{:.3g} s", rates.quiet_start->seconds()),
      rates.quiet_rate, rates.later_rate);
}

WorkloadNotes WorkloadSource::notes() const {
  WorkloadNotes notes;
  notes.statistics = statistics_.summary();
  annotate(notes);
  if (std::string quiet = quiet_start_warning(notes.statistics.rates); !quiet.empty()) notes.warnings.push_back(std::move(quiet));
  return notes;
}

std::unique_ptr<WorkloadSource> make_source(const WorkloadConfig& workload, std::uint64_t seed) {
  if (workload.sessions) {
    return std::make_unique<SessionSource>(generate_sessions(workload, seed), workload.max_concurrent_sessions);
  }
  if (workload.servegen) return make_servegen_source(workload, seed);
  if (workload.trace && has_sessions(*workload.trace)) {
    return std::make_unique<SessionSource>(open_session_trace(workload, seed), workload.max_concurrent_sessions);
  }
  return std::make_unique<ComposedSource>(workload, seed);
}

std::string describe(const WorkloadConfig& workload) { return make_source(workload, 0)->notes().description; }

}  // namespace ridgeline
