// Prefix blocks in host memory: stored when a step has computed them, loaded for a prompt that the GPU's cache has forgotten.
#include <algorithm>

#include "sim/scheduling/vllm_v1.hpp"

namespace ridgeline {

// Where the host tier goes on after the GPU's `hit` tokens: takes blocks for what it has and parks the request until they are
// loaded. Nothing to load, no answer.
std::optional<VllmV1Scheduler::Admission> VllmV1Scheduler::fetch(Sequence& sequence, std::int64_t hit,
                                                                 SchedulerListener& listener) {
  // A preempted request may still end by a step in flight: it must not hold blocks then.
  if (sequence.in_flight > 0) return std::nullopt;
  const std::int64_t block = config_.block_size;
  const std::int64_t blocks = tier_->find(sequence.kv.hashes, hit / block, sequence.known() / block, now_);
  if (blocks == 0) return std::nullopt;
  const SlotRequest slots{.computed = hit,
                          .processed = hit,
                          .new_tokens = blocks * block,
                          .known = sequence.known(),
                          .whole_must_fit = config_.scheduler_reserve_full_isl,
                          .watermark = (running_.empty() ? 0 : watermark_blocks_) + parked_blocks_,
                          .in_prompt = true,
                          .commits = false};
  if (!kv_->allocate(sequence.kv, slots)) return Admission::stop;

  HostTraffic traffic;
  const Time loaded = tier_->load(sequence.kv.hashes, hit / block, blocks, now_, traffic.in);
  listener.offloaded(traffic);
  sequence.loaded = std::max(loaded, now_ + Duration::picoseconds(1));
  loads_.push_back(sequence.loaded);
  // The last known token is always computed: its logits give the next one.
  sequence.computed = std::min(hit + blocks * block, sequence.known() - 1);
  sequence.state = State::loading;
  sequence.parked = std::max<std::int64_t>(0, ceil_divide(sequence.known(), block) - sequence.kv.held);
  parked_blocks_ += sequence.parked;
  parked_.push_back(&sequence);
  return Admission::parked;
}

// Requests whose blocks have come stand before the waiting queue. False: memory is short, nobody else may be admitted.
bool VllmV1Scheduler::plan_parked(Step& step, Budget& budget, SchedulerListener& listener) {
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    if (budget.tokens <= 0 || budget.rows <= speculation_.draft_slots() || running_.size() >= config_.max_num_seqs) break;
    Sequence& sequence = **parked;
    if (sequence.loaded > now_) {
      ++parked;
      continue;
    }
    kv_->commit(sequence.kv, sequence.computed);
    const Admission answer = admit(sequence, step, budget, listener);
    if (answer == Admission::stop) return false;
    parked = answer == Admission::admitted ? parked_.erase(parked) : parked + 1;
  }
  return true;
}

// A step with tokens of the sequence has ended: its full blocks go to the host tier.
void VllmV1Scheduler::offload(Sequence& sequence, Time now, SchedulerListener& listener) {
  if (sequence.state != State::running) return;
  const std::int64_t full = std::min(sequence.computed - sequence.in_flight, sequence.known()) / config_.block_size;
  if (full <= sequence.stored) return;
  HostTraffic traffic;
  tier_->store(sequence.kv.hashes, sequence.stored, full, now, traffic.out);
  sequence.stored = full;
  if (traffic.out.blocks > 0) listener.offloaded(traffic);
}

}  // namespace ridgeline
