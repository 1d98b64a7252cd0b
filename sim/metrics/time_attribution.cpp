#include "sim/metrics/time_attribution.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ridgeline {

TimeParts RequestTime::tpot() const {
  if (output <= 1) return {};
  return scaled_to(decoding, decoding.total() / (output - 1));
}

TimeAttribution::TimeAttribution(std::vector<std::shared_ptr<StepCost>> costs, std::size_t replicas, ServiceLevel slo)
    : costs_(std::move(costs)), slo_(slo), replicas_(replicas) {}

void TimeAttribution::arrived(const Request& request, Time now) {
  Live live;
  live.time.row = request.spec.row;
  live.time.output = request.spec.output.count();
  live.prompt = request.spec.input.count();
  live.since = now;
  if (!live_.emplace(request.spec.row, std::move(live)).second) {
    throw InternalError(fmt::format("two requests of workload row {} at once", request.spec.row));
  }
}

void TimeAttribution::admitted(const Request& request, Tokens, Time) {
  replicas_[request.replica].starts.push_back({.kind = Milestone::Kind::admitted, .row = request.spec.row, .at = request.step_start});
}

void TimeAttribution::preempted(const Request& request, Time) {
  replicas_[request.replica].starts.push_back({.kind = Milestone::Kind::preempted, .row = request.spec.row, .at = request.step_start});
}

void TimeAttribution::first_token(const Request& request, Time now) {
  replicas_[request.replica].ends.push_back({.kind = Milestone::Kind::first_token, .row = request.spec.row, .at = now});
}

void TimeAttribution::finished(const Request& request, Time now) {
  live_.at(request.spec.row).time.pool = PoolId{request.pool};
  replicas_[request.replica].ends.push_back({.kind = Milestone::Kind::finished,
                                             .row = request.spec.row,
                                             .at = now,
                                             .ttft = request.first_token - request.sent,
                                             .e2el = now - request.sent});
}

void TimeAttribution::step_done(const StepDone& fact) {
  ReplicaTime& replica = replicas_[fact.replica.value()];
  if (fact.start > replica.now) {
    const Duration gap = fact.start - replica.now;
    replica.clocks.decoding[TimePart::idle] += gap;
    replica.clocks.waiting[TimePart::idle] += gap;
    replica.now = fact.start;
  }
  take_starts(replica, fact.start);

  const Step step = split(fact);
  for (const PrefillChunk& chunk : fact.plan->batch.chunks) {
    Live* const live = find(chunk.request);
    if (live == nullptr) continue;  // ended while this step, planned ahead, was in flight
    live->phase = Phase::prefilling;
    charge(*live, replica);
    charge_chunk(*live, chunk, fact, step);
  }
  replica.clocks.decoding += step.decoding;
  replica.clocks.decoding[TimePart::prefills] += step.time - step.decoding.total();
  replica.clocks.waiting[TimePart::prefills] += step.prefills;
  replica.clocks.waiting[TimePart::decodes] += step.time - step.prefills;
  replica.now = fact.end;
  for (const PrefillChunk& chunk : fact.plan->batch.chunks) {
    Live* const live = find(chunk.request);
    if (live == nullptr) continue;
    mark(*live, replica);
    // Where a recomputation ends is seen only by no further chunk coming.
    if (live->emitted) live->phase = Phase::decoding;
  }
  take_ends(replica);
}

TimeAttribution::Live* TimeAttribution::find(std::int64_t row) {
  const auto found = live_.find(row);
  return found == live_.end() ? nullptr : &found->second;
}

void TimeAttribution::take_starts(ReplicaTime& replica, Time until) {
  std::size_t taken = 0;
  for (; taken < replica.starts.size() && replica.starts[taken].at <= until; ++taken) {
    const Milestone& milestone = replica.starts[taken];
    Live* const live = find(milestone.row);
    if (live == nullptr) continue;  // preempted by a plan made ahead of its last token
    charge(*live, replica);
    live->phase = milestone.kind == Milestone::Kind::admitted ? Phase::prefilling : Phase::preempted;
  }
  replica.starts.erase(replica.starts.begin(), replica.starts.begin() + static_cast<std::ptrdiff_t>(taken));
}

void TimeAttribution::take_ends(ReplicaTime& replica) {
  for (const Milestone& milestone : replica.ends) {
    Live& live = live_.at(milestone.row);
    charge(live, replica);
    if (milestone.kind == Milestone::Kind::finished) {
      finish(milestone, live);
    } else {
      live.emitted = true;
      live.phase = Phase::decoding;
    }
  }
  replica.ends.clear();
}

void TimeAttribution::charge(Live& live, const ReplicaTime& replica) {
  TimeParts& parts = live.parts();
  switch (live.phase) {
    case Phase::queued: parts[TimePart::queue] += replica.now - live.since; break;
    case Phase::prefilling: parts += replica.clocks.waiting - live.mark.waiting; break;
    case Phase::decoding: parts += replica.clocks.decoding - live.mark.decoding; break;
    case Phase::preempted: parts[TimePart::preempted] += replica.now - live.since; break;
  }
  mark(live, replica);
}

// What the prompt alone would have taken is its own; of the rest, the other prompts take what they add, the decodes what is left.
void TimeAttribution::charge_chunk(Live& live, const PrefillChunk& chunk, const StepDone& fact, const Step& step) {
  const BatchShape& batch = fact.plan->batch;
  const std::int64_t end = chunk.history.count() + chunk.new_tokens.count();
  TimeByCause own;
  if (batch.chunks.size() == 1 && batch.decode_sequences == 0 && batch.padding == Tokens{}) {
    own = scaled_to(fact.price->by_cause, step.time);
  } else {
    scratch_.clear();
    scratch_.chunks.push_back(chunk);
    scratch_.sampled_sequences = end >= live.prompt ? 1 : 0;
    const TimeByCause alone = costs_[fact.pool.value()]->of(scratch_).by_cause;
    own = scaled_to(alone, std::min(alone.total(), step.time));
  }
  TimeParts& parts = live.parts();
  if (chunk.history.count() < live.computed || live.emitted) parts[TimePart::recomputation] += own.total();
  else parts += own;
  const Duration others = std::max(Duration{}, Duration{step.prefills - own.total()});
  parts[TimePart::prefills] += others;
  parts[TimePart::decodes] += step.time - own.total() - others;
  live.computed = std::max(live.computed, end);
}

TimeAttribution::Step TimeAttribution::split(const StepDone& fact) {
  const BatchShape& batch = fact.plan->batch;
  Step step{.time = fact.end - fact.start};
  const auto priced = [&](const BatchShape& part) {
    const TimeByCause price = costs_[fact.pool.value()]->of(part).by_cause;
    return scaled_to(price, std::min(price.total(), step.time));
  };
  if (batch.chunks.empty()) {
    step.decoding = scaled_to(fact.price->by_cause, step.time);  // a step takes at least a picosecond
  } else if (batch.decode_sequences == 0) {
    step.prefills = step.time;
  } else {
    scratch_ = batch;
    scratch_.chunks.clear();
    scratch_.padding = Tokens{};
    scratch_.sampled_sequences = std::min(batch.sampled_sequences, batch.decode_sequences);
    scratch_.proposing_sequences = std::min(batch.proposing_sequences, batch.decode_sequences);
    step.decoding = priced(scratch_);
    scratch_ = batch;
    scratch_.decode_sequences = scratch_.verified_drafts = 0;
    scratch_.decode_queries = scratch_.decode_context = scratch_.decode_context_in_window = Tokens{};
    scratch_.sampled_sequences -= std::min(batch.sampled_sequences, batch.decode_sequences);
    scratch_.proposing_sequences -= std::min(batch.proposing_sequences, batch.decode_sequences);
    step.prefills = priced(scratch_).total();
  }
  return step;
}

void TimeAttribution::finish(const Milestone& milestone, Live& live) {
  RequestTime& time = live.time;
  const Duration decoding = milestone.e2el - milestone.ttft;
  if (time.ttft.total() != milestone.ttft || time.decoding.total() != decoding) {
    throw InternalError(fmt::format("the parts of request {} do not sum to its latency: {} of {} ps, {} of {} ps", time.row,
                                    time.ttft.total().count(), milestone.ttft.count(), time.decoding.total().count(), decoding.count()));
  }
  const Duration tpot = time.output > 1 ? Duration{decoding / (time.output - 1)} : Duration{};
  time.good = slo_.kept_by(milestone.ttft, tpot, milestone.e2el);
  finished_.push_back(time);
  live_.erase(milestone.row);
}

}  // namespace ridgeline
