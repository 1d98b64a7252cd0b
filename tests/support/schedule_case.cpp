#include "tests/support/schedule_case.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "sim/scheduling/builtin.hpp"

namespace ridgeline::test {

namespace {

/// "0.000816" seconds as picoseconds, exactly.
Duration parse_seconds(const std::string& text) {
  const auto dot = text.find('.');
  std::string digits = text.substr(0, dot);
  std::string fraction = dot == std::string::npos ? "" : text.substr(dot + 1);
  fraction.resize(12, '0');
  return Duration{std::stoll(digits + fraction)};
}

/// Picoseconds as decimal seconds without trailing zeros.
std::string format_seconds(Duration value) {
  const std::int64_t ps = value.count();
  std::string fraction = std::to_string(ps % 1'000'000'000'000);
  fraction.insert(0, 12 - fraction.size(), '0');
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return std::to_string(ps / 1'000'000'000'000) + (fraction.empty() ? "" : "." + fraction);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  std::istringstream in(line);
  while (std::getline(in, field, ',')) fields.push_back(field);
  if (!line.empty() && line.back() == ',') fields.emplace_back();
  return fields;
}

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return lines_of(in);
}

SpeculationConfig read_speculation(const nlohmann::json& json) {
  SpeculationConfig speculation;
  speculation.method = json.at("method").get<std::string>();
  speculation.num_speculative_tokens = json.at("num_speculative_tokens").get<int>();
  if (json.contains("accepted")) speculation.accepted = json.at("accepted").get<std::vector<int>>();
  return speculation;
}

/// `X:12 out3:8`: the prompt starts with the first 12 tokens of X, then the first 8 of request 3's outputs.
Content read_content(const std::string& text) {
  Content content;
  std::istringstream in(text);
  for (std::string piece; in >> piece;) {
    const auto colon = piece.rfind(':');
    const std::string name = piece.substr(0, colon);
    const bool outputs = name.rfind("out", 0) == 0;
    content.push_back({.stream = outputs ? output_stream(std::stoll(name.substr(3))) : hash64(name),
                       .offset = Tokens{0},
                       .length = Tokens{std::stoll(piece.substr(colon + 1))}});
  }
  return content;
}

void use_profile(EngineConfig& engine, const std::string& profile) {
  engine.profile = profile;
  if (profile == "main_2026") return;  // the defaults of EngineConfig
  if (profile != "v0.11") throw std::runtime_error("unknown profile " + profile);
  engine.scheduler_reserve_full_isl = false;
  engine.prepend_unhashed_free_blocks = false;
  engine.chunked_off_skips = true;
  engine.lookahead_at_admission = false;
  engine.pads_new_decodes = false;
}

EngineConfig read_engine(const nlohmann::json& json) {
  EngineConfig engine;
  engine.async_scheduling = false;  // the cases' default, unlike the engine's
  if (json.contains("profile")) use_profile(engine, json.at("profile").get<std::string>());
  for (const auto& [key, value] : json.items()) {
    if (key == "engine") engine.scheduler = value.get<std::string>();
    else if (key == "block_size") engine.block_size = value;
    else if (key == "num_gpu_blocks_override") engine.num_gpu_blocks = value;
    else if (key == "max_num_seqs") engine.max_num_seqs = value;
    else if (key == "max_num_batched_tokens") engine.max_num_batched_tokens = value;
    else if (key == "max_model_len") engine.max_model_len = value;
    else if (key == "enable_prefix_caching") engine.enable_prefix_caching = value;
    else if (key == "enable_chunked_prefill") engine.enable_chunked_prefill = value;
    else if (key == "long_prefill_token_threshold") engine.long_prefill_token_threshold = value;
    else if (key == "scheduling_policy") engine.scheduling_policy = value;
    else if (key == "async_scheduling") engine.async_scheduling = value;
    else if (key == "reserve_full_isl") engine.scheduler_reserve_full_isl = value;
    else if (key == "watermark") engine.watermark = value;
    else if (key == "speculation") engine.speculation = read_speculation(value);
    else if (key == "kv_groups") {
      for (const auto& window : value) engine.kv_groups.push_back(window.is_null() ? 0 : window.get<std::int64_t>());
    } else if (key == "chunked_prefill_size") engine.chunked_prefill_size = value;
    else if (key == "max_prefill_tokens") engine.max_prefill_tokens = value;
    else if (key == "schedule_policy") engine.schedule_policy = value;
    else if (key == "schedule_conservativeness") engine.schedule_conservativeness = value;
    else if (key == "enable_mixed_chunk") engine.enable_mixed_chunk = value;
    else if (key == "capacity_policy") engine.capacity_policy = value;
    else if (key == "chunk_unit") engine.chunk_unit = value;
    else if (key == "chunk_policy") engine.chunk_policy = value;
    else if (key != "profile" && key != "step_time_s" && key != "trace_block_size") {
      throw std::runtime_error("config.json: unknown key " + key);
    }
  }
  return engine;
}

std::vector<RequestSpec> read_requests(const std::filesystem::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  const std::vector<std::string> names = split(lines.at(0));
  std::vector<RequestSpec> specs;
  for (std::size_t row = 1; row < lines.size(); ++row) {
    const std::vector<std::string> fields = split(lines[row]);
    const auto field = [&](const std::string& name) -> std::string {
      const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      return at < fields.size() ? fields[at] : "";
    };
    RequestSpec spec;
    spec.row = static_cast<std::int64_t>(row) - 1;
    spec.arrival = Time{parse_seconds(field("arrival_s"))};
    spec.input = Tokens{std::stoll(field("input_tokens"))};
    spec.output = spec.max_tokens = Tokens{std::stoll(field("output_tokens"))};
    if (!field("priority").empty()) spec.priority = std::stoi(field("priority"));
    if (!field("max_tokens").empty()) spec.max_tokens = Tokens{std::stoll(field("max_tokens"))};
    if (!field("prefix").empty()) spec.content = std::make_shared<Content>(read_content(field("prefix")));
    if (!field("accepted").empty()) {
      std::istringstream in(field("accepted"));
      std::vector<int> accepted;
      for (int count = 0; in >> count;) accepted.push_back(count);
      spec.accepted = std::make_shared<std::vector<int>>(std::move(accepted));
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// Stamps the requests as a replica would.
class Stamps : public SchedulerListener {
 public:
  Time now;

  void admitted(Request& request, Tokens cached) override {
    if (request.preemptions == 0) request.cached_prompt = cached;
  }
  void preempted(Request& request) override { ++request.preemptions; }
  void first_token(Request& request) override { request.first_token = now; }
  void chunks(std::int64_t, std::int64_t, Time) override {}
  void finished(Request& request) override {
    request.last_token = now;
    ++done;
  }
  std::size_t done = 0;
};

const char* name_of(StepRow::Kind kind) {
  switch (kind) {
    case StepRow::Kind::prefill: return "prefill";
    case StepRow::Kind::decode: return "decode";
    case StepRow::Kind::preempted: return "preempted";
  }
  return "?";
}

constexpr std::int64_t most_steps = 100'000;

constexpr const char* step_log_header =
    "time_s,pool,replica,step,request,phase,scheduled_tokens,computed_tokens,output_tokens,running,waiting,free_"
    "blocks\n";

void append_rows(std::string& log, Time start, std::int64_t step, const Scheduler& scheduler) {
  const SchedulerLoad load = scheduler.load();
  for (const StepRow& row : scheduler.rows()) {
    std::ostringstream line;
    line << format_seconds(start.since_start()) << ",0,0," << step << ',' << row.request << ',' << name_of(row.kind)
         << ',' << row.scheduled.count() << ',' << row.computed.count() << ',' << row.output.count() << ','
         << load.running << ',' << load.waiting << ',' << load.free_blocks << '\n';
    log += line.str();
  }
}

std::vector<ScheduleResult> results_of(const std::vector<Request>& requests) {
  std::vector<ScheduleResult> results(requests.size());
  for (const Request& request : requests) {
    ScheduleResult& result = results[static_cast<std::size_t>(request.spec.row)];
    result.ttft = request.first_token - request.spec.arrival;
    result.e2el = request.last_token - request.spec.arrival;
    const std::int64_t gaps = request.spec.output.count() - 1;
    if (gaps > 0) result.tpot = (result.e2el - result.ttft).as_double() * 1e-12 / static_cast<double>(gaps);
    result.preemptions = request.preemptions;
  }
  return results;
}

}  // namespace

ScheduleCase load_schedule_case(const std::filesystem::path& folder) {
  std::ifstream in(folder / "config.json");
  if (!in) throw std::runtime_error("cannot read " + (folder / "config.json").string());
  const nlohmann::json json = nlohmann::json::parse(in);
  ScheduleCase scenario;
  scenario.engine = read_engine(json);
  scenario.step_time = parse_seconds(json.at("step_time_s").get<std::string>());
  scenario.requests = read_requests(folder / "requests.csv");
  return scenario;
}

ScheduleOutcome run_schedule(const ScheduleCase& scenario, Scheduler& scheduler) {
  std::vector<Request> requests(scenario.requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].spec = scenario.requests[i];
    requests[i].sent = requests[i].spec.arrival;
  }
  std::vector<Request*> arrivals;
  for (Request& request : requests) arrivals.push_back(&request);
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Request* a, const Request* b) { return a->spec.arrival < b->spec.arrival; });

  scheduler.keep_rows(true);
  ScheduleOutcome outcome;
  outcome.step_log = step_log_header;
  Stamps stamps;
  StepPlan plan;
  Time last_end;
  std::deque<Time> in_flight;  // start of each planned step, oldest first
  std::int64_t step = 0;
  std::size_t next = 0;
  while (stamps.done < requests.size() || !in_flight.empty()) {
    // Next instant: the oldest step's end, or an arrival. While a step runs, the engine is only asked when it ends.
    const Time arrival = next < arrivals.size() ? arrivals[next]->spec.arrival : Time::max();
    const Time end = in_flight.empty() ? Time::max() : in_flight.front() + scenario.step_time;
    const Time now = stamps.now = std::min(arrival, end);
    if (now == Time::max()) throw InternalError("the scheduler hangs: nothing runs and nothing will arrive");
    const bool completes = end == now;
    if (completes) {
      scheduler.complete(now, stamps);
      append_rows(outcome.step_log, in_flight.front(), ++step, scheduler);
      if (step > most_steps) throw InternalError("the scheduler makes no progress: a case should take fewer steps");
      in_flight.pop_front();
    }
    while (next < arrivals.size() && arrivals[next]->spec.arrival == now) scheduler.add(*arrivals[next++], now);
    if (!completes && !in_flight.empty()) continue;
    while (in_flight.size() < static_cast<std::size_t>(scheduler.steps_in_flight())) {
      plan.clear();
      if (!scheduler.plan(now, plan, stamps)) break;
      const Time start = in_flight.empty() ? now : std::max(now, last_end);
      in_flight.push_back(start);
      last_end = start + scenario.step_time;
    }
  }
  outcome.results = results_of(requests);
  return outcome;
}

ScheduleOutcome run_schedule(const ScheduleCase& scenario) {
  const auto& row = find_row(schedulers(), scenario.engine.scheduler, "scheduler");
  return run_schedule(scenario, *row.make(scenario.engine, "fleet[0].replica[0]"));
}

std::vector<std::filesystem::path> schedule_case_folders(const std::filesystem::path& cases,
                                                         const std::string& prefix) {
  std::vector<std::filesystem::path> folders;
  if (!std::filesystem::exists(cases)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    if (entry.is_directory() && entry.path().filename().string().rfind(prefix, 0) == 0) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string difference(const std::filesystem::path& folder, const ScheduleOutcome& outcome) {
  const std::vector<std::string> expected = lines_of(folder / "expected.csv");
  std::istringstream log(outcome.step_log);
  const std::vector<std::string> actual = lines_of(log);
  for (std::size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const std::string want = i < expected.size() ? expected[i] : "(end)";
    const std::string got = i < actual.size() ? actual[i] : "(end)";
    if (want == got) continue;
    std::string text = folder.filename().string() + " differs at line " + std::to_string(i + 1) + "\n";
    for (std::size_t j = i < 6 ? 0 : i - 6; j < i; ++j) text += "           " + expected[j] + "\n";
    return text + "  expected " + want + "\n  actual   " + got + "\n";
  }
  const std::vector<std::string> results = lines_of(folder / "results.csv");
  for (std::size_t i = 1; i < results.size(); ++i) {
    const std::vector<std::string> fields = split(results[i]);
    const ScheduleResult& result = outcome.results.at(i - 1);
    const double tpot = fields.at(5).empty() ? 0.0 : std::stod(fields[5]);
    if (parse_seconds(fields.at(4)) != result.ttft || parse_seconds(fields.at(6)) != result.e2el ||
        std::abs(tpot - result.tpot) > 1e-12 || std::stoi(fields.at(7)) != result.preemptions) {
      return folder.filename().string() + " results.csv differs for request " + fields[0];
    }
  }
  return "";
}

}  // namespace ridgeline::test
