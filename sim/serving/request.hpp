// A request from the client's wish to its last token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"

namespace ridgeline {

/// A run of prompt tokens whose identity is known: tokens offset … offset+length-1 of content stream `stream`.
/// Two requests share a prefix exactly as far as their runs name the same (stream, offset) tokens.
struct ContentRun {
  std::uint64_t stream = 0;
  Tokens offset;
  Tokens length;
};
/// Runs from the prompt's start; tokens beyond the last run are unique to the request.
using Content = std::vector<ContentRun>;

/// The content stream that the output tokens of workload row `row` are: a later prompt may quote them.
constexpr std::uint64_t output_stream(std::int64_t row) {
  return combine64(hash64("outputs"), static_cast<std::uint64_t>(row));
}

/// The content stream that the prompt of row `row` has where it shares nothing, by place in the prompt.
constexpr std::uint64_t prompt_stream(std::int64_t row) {
  return combine64(hash64("unique prompt"), static_cast<std::uint64_t>(row));
}

/// What a client asks for.
struct RequestSpec {
  std::int64_t row = 0;      ///< 0-based row of the workload, names the request in logs
  Time arrival;
  Tokens input;              ///< prompt tokens, at least 1
  Tokens output;             ///< tokens really generated, at least 1
  Tokens max_tokens;         ///< what the scheduler is told; above `output` means an end-of-sequence token ends it
  std::int32_t priority = 0; ///< smaller = more urgent (vLLM)
  std::uint64_t session = 0; ///< names the conversation it belongs to, for routers; 0 = none
  std::shared_ptr<const Content> content;            ///< null: nothing is shared with other requests
  std::shared_ptr<const std::vector<int>> accepted;  ///< accepted drafts per verify step, cyclic; null: the engine's acceptance model
};

/// A live request. The cluster owns it from arrival to finish; addresses are stable.
struct Request {
  RequestSpec spec;
  std::uint32_t pool = 0;
  std::uint32_t replica = 0;
  Time sent;                 ///< when the client sent it: later than spec.arrival if max_concurrency held it back
  Time step_start;           ///< of the step that was being planned when it was last admitted or preempted
  Time first_token;
  Time last_token;
  Tokens emitted;            ///< output tokens delivered so far (exact at finish)
  Tokens cached_prompt;      ///< prompt tokens found in the prefix cache at first admission
  std::int32_t preemptions = 0;
};

}  // namespace ridgeline
