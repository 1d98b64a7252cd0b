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
  replica.clocks.decoding[TimePart::prefills] += step.time - step.swap - step.decoding.total();
  replica.clocks.decoding[TimePart::swap] += step.swap;
  replica.clocks.waiting[TimePart::prefills] += step.prefills;
  replica.clocks.waiting[TimePart::decodes] += step.time - step.swap - step.prefills;
  replica.clocks.waiting[TimePart::swap] += step.swap;
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
    const bool back = milestone.kind == Milestone::Kind::admitted;
    live->phase = !back ? Phase::preempted : live->emitted ? Phase::decoding : Phase::prefilling;
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
  const Duration computing = step.time - step.swap;
  scratch_.clear();
  scratch_.chunks.push_back(chunk);
  scratch_.sampled_sequences = end >= live.prompt ? 1 : 0;
  const bool alone = batch.chunks.size() == 1 && batch.decode_sequences == 0 && batch.padding == Tokens{};
  TimeByCause own = costs_[fact.pool.value()]->of(alone ? batch : scratch_).by_cause;
  own = scaled_to(own, alone ? computing : std::min(own.total(), computing));
  TimeParts& parts = live.parts();
  if (chunk.history.count() < live.computed || live.emitted) parts[TimePart::recomputation] += own.total();
  else parts += own;
  const Duration others = std::max(Duration{}, Duration{step.prefills - own.total()});
  parts[TimePart::prefills] += others;
  parts[TimePart::decodes] += computing - own.total() - others;
  parts[TimePart::swap] += step.swap;
  live.computed = std::max(live.computed, end);
}

TimeAttribution::Step TimeAttribution::split(const StepDone& fact) {
  const BatchShape& batch = fact.plan->batch;
  Step step{.time = fact.end - fact.start, .swap = {}, .prefills = {}, .decoding = {}};
  const bool swaps = fact.plan->swapped.in.bytes > Bytes{} || fact.plan->swapped.out.bytes > Bytes{};
  if (swaps) step.swap = fact.price->total - costs_[fact.pool.value()]->of(batch).total;
  const Duration computing = step.time - step.swap;
  const auto priced = [&](const BatchShape& part) {
    const TimeByCause price = costs_[fact.pool.value()]->of(part).by_cause;
    return scaled_to(price, std::min(price.total(), computing));
  };
  if (batch.chunks.empty()) {
    // A step takes at least a picosecond, whatever its price.
    step.decoding = scaled_to(swaps ? costs_[fact.pool.value()]->of(batch).by_cause : fact.price->by_cause, computing);
  } else if (batch.decode_sequences == 0) {
    step.prefills = computing;
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
