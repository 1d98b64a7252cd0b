// What the vLLM V1 scheduler keeps per request and per step.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/kv_cache.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/scheduler.hpp"

namespace ridgeline::vllm_v1 {

enum class State : std::uint8_t { waiting, running, preempted, finished };

/// A request in the scheduler. No phases: `computed` chases `known()`; that covers chunks, hits, drafts and recomputes.
struct Sequence {
  Request* request = nullptr;
  std::int64_t row = 0;
  std::int64_t prompt = 0;
  std::int64_t target = 0;      ///< outputs really generated
  std::int64_t max_tokens = 0;  ///< outputs the engine was told
  std::int32_t priority = 0;
  State state = State::waiting;
  bool prefilling = true;       ///< no output has arrived since the (re-)admission: rows are logged as prefill
  bool partial = false;         ///< the latest scheduled chunk did not reach the last known token
  Time arrival;
  Time last_chunk;              ///< when the client last got tokens

  std::int64_t computed = 0;      ///< tokens whose KV is computed or scheduled, drafts included
  std::int64_t outputs = 0;
  std::int64_t placeholders = 0;  ///< async: tokens (drafts included) of steps in flight that will become outputs
  std::int64_t in_flight = 0;     ///< scheduled tokens of steps in flight
  std::int64_t stale = 0;         ///< of those, scheduled before a preemption: they deliver tokens but move no counter
  std::int64_t drafts = 0;        ///< draft tokens to verify next
  std::int64_t verified = 0;      ///< verify steps so far: position in the acceptance sequence

  std::uint64_t admission = 0;    ///< running list order
  Sequence* previous = nullptr;   ///< in the running list
  Sequence* next = nullptr;
  std::int32_t pins = 0;          ///< steps in flight that still name this sequence

  KvSequence kv;

  [[nodiscard]] std::int64_t known() const { return prompt + outputs; }
};

/// What a step in flight does for one sequence.
struct Row {
  Sequence* sequence = nullptr;
  std::int64_t scheduled = 0;
  std::int64_t drafts = 0;  ///< of those, tokens to verify
  bool padded = false;      ///< the drafts are padding that never matches
  bool samples = false;     ///< reaches the last known token
  bool decode = false;      ///< extends the output: no recompute, no piece of a prompt
  bool logged_as_prefill = false;
};

/// A step in flight.
struct Step {
  std::vector<Row> rows;             ///< in batch order
  std::vector<Sequence*> preempted;  ///< since the step before; only when rows are kept
  void clear() { rows.clear(), preempted.clear(); }
};

}  // namespace ridgeline::vllm_v1
