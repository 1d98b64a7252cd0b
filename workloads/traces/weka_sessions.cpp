// Weka's agentic coding traces (github.com/callanjfox/kv-cache-tester 94f6046d): a session a line or a file, or a folder of such
// files. A request waits for the answer before it, and for the sub-agents that ended since; sub-agents start after that
// answer and run side by side. Pauses are the trace's own: from the end of the last of those answers, as the source system
// gave them, to the send. Hash ids name blocks of the prompt's start; a last block that isn't full has none.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/rng.hpp"
#include "workloads/draws.hpp"
#include "workloads/source.hpp"
#include "workloads/traces/session_trace.hpp"
#include "workloads/traces/trace_reader.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::json;

std::vector<std::string> files_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".json" || entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class WekaSessions final : public SessionStream {
 public:
  WekaSessions(const WorkloadConfig& workload, std::uint64_t seed)
      : workload_(workload), files_(files_of(workload.trace->file)), output_(workload, seed), starts_(workload, seed) {}

  std::optional<Session> next() override {
    while (const std::optional<Json> json = next_object()) {
      Session session = read_checked(*json);
      ++sessions_;
      if (session.steps.empty()) continue;
      const std::optional<Time> start = starts_.next(Duration{});
      if (!start) return std::nullopt;
      session.start = *start;
      return session;
    }
    return std::nullopt;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = fmt::format(
        "weka-agentic JSON `{}`, sessions of requests and sub-agents that wait for answers, blocks of {} tokens{}, every model "
        "served as the scenario's, not used: ttft, stop, input_types, output_types, tool_tokens, system_tokens; {}",
        workload_.trace->file, block_size_, workload_.arrival ? "" : ", all starting at time zero", describe_generated(workload_));
    notes.rows_read = requests_;
    notes.zero_rows = zero_rows_;
    if (zero_rows_ > 0) notes.warnings.push_back(fmt::format("{} of {} requests have no input or no output tokens", zero_rows_, requests_));
    if (unknown_ends_ > 0) {
      notes.warnings.push_back(fmt::format("{} of {} requests state no api_time: the pause after them counts from their send",
                                           unknown_ends_, requests_));
    }
  }

 private:
  // The last request of a chain: what the next waits for, and when the source system had answered it.
  struct Link {
    std::optional<std::uint32_t> step;  // none: nothing was sent yet
    double end = 0.0;                   // s from the session's start
  };

  std::optional<Json> next_object() {
    std::string_view line;
    while (!lines_ || !lines_->next(line)) {
      if (file_ == files_.size()) return std::nullopt;
      lines_ = std::make_unique<LineReader>(files_[file_++]);
    }
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) lines_->fail("is not a JSON object of a session on one line");
    return json;
  }

  template <class T>
  T value(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end() || !(std::is_integral_v<T> ? found->is_number_integer() : found->is_number())) {
      lines_->fail(fmt::format("`{}`: expected a number in every request", key));
    }
    return found->get<T>();
  }

  Session read_checked(const Json& json) {
    try {
      return read(json);
    } catch (const Json::exception& error) {
      lines_->fail(fmt::format("is not a session of this format: {}", error.what()));
    }
  }

  Session read(const Json& json) {
    block_size_ = workload_.trace->trace_block_size ? workload_.trace->trace_block_size->count() : value<std::int64_t>(json, "block_size");
    if (block_size_ < 1) lines_->fail("`block_size`: expected at least 1");
    const bool global = json.value("hash_id_scope", "local") == "global";
    name_ = combine64(hash64("weka session"), static_cast<std::uint64_t>(sessions_));
    stream_ = global ? hash64("weka blocks") : combine64(hash64("weka blocks"), name_);
    session_ = {};
    const auto requests = json.find("requests");
    if (requests == json.end() || !requests->is_array()) lines_->fail("`requests`: expected a list");
    std::vector<Link> waits_for(1);  // the answer before, then the sub-agents that ended since
    for (const Json& entry : *requests) {
      if (!entry.is_object()) lines_->fail("`requests`: expected a list of objects");
      if (entry.value("type", "") == "subagent") {
        waits_for.push_back(read_subagent(entry, waits_for.front()));
      } else if (const std::optional<Link> sent = read_request(entry, value<double>(entry, "t"), waits_for)) {
        waits_for = {*sent};
      }
    }
    return std::move(session_);
  }

  // Its `t` is when it ended; the times of its requests count from its start.
  Link read_subagent(const Json& entry, const Link& parent) {
    const double start = value<double>(entry, "t") - value<double>(entry, "duration_ms") * 1e-3;
    const auto requests = entry.find("requests");
    if (requests == entry.end() || !requests->is_array()) lines_->fail("a sub-agent without `requests`");
    Link last = parent;
    for (const Json& request : *requests) {
      if (const std::optional<Link> sent = read_request(request, start + value<double>(request, "t"), {last})) last = *sent;
    }
    return last;
  }

  // nullopt: the request is left out.
  std::optional<Link> read_request(const Json& entry, double sent, const std::vector<Link>& waits_for) {
    ++requests_;
    Tokens input{value<std::int64_t>(entry, "in")}, output{value<std::int64_t>(entry, "out")};
    if (input < Tokens{0} || input > longest_length || output < Tokens{0} || output > longest_length) {
      lines_->fail(fmt::format("`in`, `out`: expected from 0 to {} tokens", longest_length.count()));
    }
    if (input == Tokens{0} || output == Tokens{0}) ++zero_rows_;
    const bool kept = keep_lengths(*workload_.trace, input, output, {lines_->file(), static_cast<int>(lines_->line_number()), 0});
    if (!kept) return std::nullopt;

    SessionStep step;
    double last_end = 0.0;
    for (const Link& link : waits_for) {
      if (!link.step) continue;
      if (std::find(step.after.begin(), step.after.end(), *link.step) == step.after.end()) step.after.push_back(*link.step);
      last_end = std::max(last_end, link.end);
    }
    step.delay = Duration::seconds(std::max(0.0, sent - last_end));
    RequestSpec& request = step.request;
    request.row = row_++;
    request.session = name_;
    request.input = input;
    output_.set(request, output, std::nullopt);
    if (workload_.trace->use_hash_ids) request.content = read_blocks(entry, input);
    session_.steps.push_back(std::move(step));

    const auto took = entry.find("api_time");
    const bool known = took != entry.end() && took->is_number();
    if (!known) ++unknown_ends_;
    return Link{static_cast<std::uint32_t>(session_.steps.size() - 1), sent + (known ? took->get<double>() : 0.0)};
  }

  std::shared_ptr<const Content> read_blocks(const Json& entry, Tokens input) {
    const auto ids = entry.find("hash_ids");
    if (ids == entry.end() || ids->is_null()) return nullptr;
    const std::int64_t full = input.count() / block_size_;
    if (!ids->is_array() || std::ssize(*ids) != full) {
      lines_->fail(fmt::format("`hash_ids`: expected a list of {} for {} tokens in blocks of {}", full, input.count(), block_size_));
    }
    auto content = std::make_shared<Content>();
    for (const Json& id : *ids) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() > (1ULL << 40)) lines_->fail("`hash_ids`: expected whole numbers up to 2^40");
      const Tokens offset{static_cast<std::int64_t>(id.get<std::uint64_t>()) * block_size_};
      if (!content->empty() && content->back().offset + content->back().length == offset) {
        content->back().length += Tokens{block_size_};
      } else {
        content->push_back({stream_, offset, Tokens{block_size_}});
      }
    }
    return content;
  }

  WorkloadConfig workload_;
  std::vector<std::string> files_;
  DrawnOutput output_;
  SessionStarts starts_;
  std::size_t file_ = 0;  // the next to open
  std::unique_ptr<LineReader> lines_;
  std::int64_t block_size_ = 0;
  std::uint64_t name_ = 0;    // of the session being read
  std::uint64_t stream_ = 0;  // its hash ids' content
  Session session_;
  std::int64_t sessions_ = 0;
  std::int64_t requests_ = 0;
  std::int64_t zero_rows_ = 0;
  std::int64_t unknown_ends_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<SessionStream> open_weka_sessions(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<WekaSessions>(workload, seed);
}

// Recognition only: the file is no table of rows.
TraceFormat weka_format() {
  TraceFormat format;
  format.name = "weka-agentic";
  format.description = "Weka agentic coding sessions with sub-agents, JSON, a session a line or a folder of files";
  format.jsonl = true;
  format.block_size = Tokens{64};
  format.sessions = TraceFormat::Sessions::always;
  format.open_sessions = open_weka_sessions;
  format.matches = [](const TraceHead& head) { return head.jsonl && head.has_all({"requests", "block_size"}); };
  return format;
}

}  // namespace ridgeline
