// Measured per-request logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ridgeline {

/// A logged request. Latencies in milliseconds, from the client's send.
struct LoggedRequest {
  int line = 0;
  double sent_s = 0.0;
  std::int64_t input = 0;
  std::int64_t output = 0;
  double ttft = 0.0;
  double e2e = 0.0;
};

/// The requests of one run, in order of sending.
struct RequestLogFile {
  std::string file;
  std::string label;            ///< what tells this run from others in the file; empty when it has one
  std::string model;            ///< as written; empty when the file does not say
  std::string gpu;
  int tp = 0;                   ///< 0 = not stated
  std::vector<LoggedRequest> requests;
};

/// Columns `send_us, input_tokens, output_tokens, ttft_ms, e2e_ms`; or LLMServingSim's `gpu, model, tp, input_tokens, output_tokens,
/// queued_s, first_token_s, last_token_s`, one log for every (model, tp). Failed requests (no output) are left out.
/// Throws ConfigError: unreadable files, missing columns, cells that are no numbers.
std::vector<RequestLogFile> read_request_logs(const std::filesystem::path& file);

}  // namespace ridgeline
