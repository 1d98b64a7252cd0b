#include "workloads/source.hpp"

#include <algorithm>

#include <boost/random/uniform_int_distribution.hpp>
#include <fmt/format.h>

#include "workloads/traces/trace_source.hpp"

namespace ridgeline {

namespace {

// A length drawn from its own stream of random numbers.
class Drawn {
 public:
  Drawn(const std::optional<LengthConfig>& lengths, std::uint64_t seed, std::string_view purpose)
      : sampler_(lengths ? make_sampler(*lengths) : nullptr), random_(seed, "workload", purpose) {}
  explicit operator bool() const { return sampler_ != nullptr; }
  Tokens operator()() { return sampler_->draw(random_); }

 private:
  std::unique_ptr<LengthSampler> sampler_;
  RandomStream random_;
};

// Picks the shared prefix of each request.
class Prefixes {
 public:
  Prefixes(const SharedPrefixConfig& config, std::uint64_t seed)
      : tokens_(config.tokens), pick_(0, config.count - 1), random_(seed, "workload", "shared_prefix") {}
  void put_before(RequestSpec& request) {
    const auto which = static_cast<std::uint64_t>(pick_(random_));
    request.input += tokens_;
    request.content =
        std::make_shared<Content>(Content{{combine64(hash64("shared_prefix"), which), Tokens{0}, tokens_}});
  }

 private:
  Tokens tokens_;
  boost::random::uniform_int_distribution<std::int64_t> pick_;
  RandomStream random_;
};

class ComposedSource final : public WorkloadSource {
 public:
  ComposedSource(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload),
        input_(workload.input_tokens, seed, "input_tokens"),
        output_(workload.output_tokens, seed, "output_tokens"),
        max_tokens_(workload.max_tokens, seed, "max_tokens") {
    if (workload.arrival)
      arrivals_ = make_arrivals(*workload.arrival, workload.trace ? std::nullopt : workload.num_prompts, seed);
    if (workload.trace) trace_.emplace(*workload.trace, trace_needs(workload));
    if (workload.shared_prefix) prefixes_.emplace(*workload.shared_prefix, seed);
  }

 protected:
  std::optional<RequestSpec> produce() override {
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
  static std::string describe_generated(const WorkloadConfig& workload);
  friend std::string ridgeline::describe(const WorkloadConfig& workload);

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
    set_output(request, item ? &item->row : nullptr);
    if (prefixes_) prefixes_->put_before(request);
    if (item) {
      request.priority = item->row.priority;
      if (!item->row.content.empty()) request.content = std::make_shared<Content>(std::move(item->row.content));
      if (!item->row.accepted.empty())
        request.accepted = std::make_shared<std::vector<int>>(std::move(item->row.accepted));
    }
    return true;
  }

  // The model stops by itself after `natural` tokens, unless it is not allowed to yet or any more.
  void set_output(RequestSpec& request, const TraceRow* row) {
    const std::optional<Tokens> asked = max_tokens_      ? std::optional(max_tokens_())
                                        : row != nullptr ? row->max_tokens
                                                         : std::nullopt;
    const std::optional<Tokens> natural = output_          ? std::optional(output_())
                                          : row != nullptr ? row->output
                                                           : std::nullopt;
    Tokens output = std::max(natural.value_or(Tokens{1}), workload_.min_tokens);
    if (asked) output = workload_.ignore_eos ? *asked : std::min(output, *asked);
    request.output = output;
    request.max_tokens = asked.value_or(output);
  }

  WorkloadConfig workload_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::optional<TraceStream> trace_;
  Drawn input_, output_, max_tokens_;
  std::optional<Prefixes> prefixes_;
  std::int64_t row_ = 0;
  bool ended_ = false;
};

std::string ComposedSource::describe_generated(const WorkloadConfig& workload) {
  std::vector<std::string> parts;
  if (!workload.preset.empty()) parts.push_back("preset " + workload.preset);
  if (workload.arrival) parts.push_back(describe(*workload.arrival));
  if (workload.input_tokens) parts.push_back("input tokens " + describe(*workload.input_tokens));
  if (workload.output_tokens) parts.push_back("output tokens " + describe(*workload.output_tokens));
  if (workload.max_tokens) parts.push_back("max_tokens " + describe(*workload.max_tokens));
  if (workload.min_tokens > Tokens{1}) parts.push_back(fmt::format("min_tokens {}", workload.min_tokens.count()));
  if (workload.ignore_eos) parts.emplace_back("ignore_eos");
  if (workload.shared_prefix) {
    parts.push_back(fmt::format("{} shared prefixes of {} tokens", workload.shared_prefix->count,
                                workload.shared_prefix->tokens.count()));
  }
  parts.push_back(workload.max_concurrency
                      ? fmt::format("closed loop of at most {} requests in flight", *workload.max_concurrency)
                      : std::string("open loop"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

WorkloadNotes WorkloadSource::notes() const {
  WorkloadNotes notes;
  notes.statistics = statistics_.summary();
  annotate(notes);
  const WorkloadStatistics::Rates& rates = notes.statistics.rates;
  if (rates.quiet_start) {
    const double hours = rates.quiet_start->seconds() / 3600.0;
    notes.warnings.push_back(fmt::format(
        "the first {} carry {:.3g} requests/s, what follows {:.3g}: a run that stops early sees only the quiet part "
        "(`start` skips it)",
        hours >= 1.0 ? fmt::format("{:.3g} h", hours) : fmt::format("{:.3g} s", rates.quiet_start->seconds()),
        rates.quiet_rate, rates.later_rate));
  }
  return notes;
}

std::unique_ptr<WorkloadSource> make_source(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<ComposedSource>(workload, seed);
}

std::string describe(const WorkloadConfig& workload) { return make_source(workload, 0)->notes().description; }

}  // namespace ridgeline
