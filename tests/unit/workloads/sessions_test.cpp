// Requests that wait for each other's answers.
#include <map>
#include <set>

#include "sim/serving/kv_content.hpp"
#include "tests/unit/workloads/support.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

/// Serves a source like a fleet whose every answer takes `latency(request)`; requests in order of their arrival.
template <class Latency>
std::vector<RequestSpec> serve(RequestSource& source, Latency latency) {
  std::vector<RequestSpec> all;
  std::multimap<Time, Request> answers;
  while (source.next_arrival() != Time::max() || !answers.empty()) {
    if (answers.empty() || source.next_arrival() <= answers.begin()->first) {
      Request request;
      request.spec = source.next().value();
      request.sent = request.spec.arrival;
      all.push_back(request.spec);
      answers.emplace(request.sent + latency(request.spec), request);
    } else {
      source.answered(answers.begin()->second, answers.begin()->first);
      answers.erase(answers.begin());
    }
  }
  CHECK(source.exhausted());
  return all;
}

std::vector<RequestSpec> served(const std::string& yaml, Duration latency) {
  const auto source = make_source(workload_from(yaml), 1);
  return serve(*source, [&](const RequestSpec&) { return latency; });
}

double s(const RequestSpec& request) { return request.arrival.seconds(); }

const std::string conversation =
    "{arrival: all_at_once, input_tokens: 100, output_tokens: 20, shared_prefix: {tokens: 50}, "
    "sessions: {num_sessions: 1, turns: 3, think_time: 10 s}}";

}  // namespace

TEST_CASE("A turn is the history and new tokens, sent when the answer has ended and the user has thought") {
  // Prompts: 50 + 100; + 20 answered + 100; + 20 + 100. An answer takes 2 s, thinking 10 s.
  const auto requests = served(conversation, Duration::seconds(2));
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].input == Tokens{150});
  CHECK(requests[1].input == Tokens{270});
  CHECK(requests[2].input == Tokens{390});
  CHECK(s(requests[0]) == 0);
  CHECK(s(requests[1]) == Approx(12));
  CHECK(s(requests[2]) == Approx(24));
  CHECK(requests[0].session != 0);
  CHECK(requests[0].session == requests[2].session);
}

TEST_CASE("A turn's prompt has the KV blocks that its predecessor left, answer included") {
  const auto requests = served(conversation, Duration::seconds(1));
  REQUIRE(requests.size() == 3);
  BlockHashes first, second;
  first.start(requests[0], 10);
  second.start(requests[1], 10);
  CHECK(first.shareable_tokens() == BlockHashes::everything);
  // 150 prompt tokens and 20 of the answer are 17 blocks of 10; then the second turn's own tokens begin.
  for (int block = 0; block < 17; ++block) CHECK(first.at(block) == second.at(block));
  CHECK(first.at(17) != second.at(17));
}

TEST_CASE("What is asked does not depend on how fast a fleet answers") {
  const std::string yaml =
      "{request_rate: 2, input_tokens: {distribution: uniform, min: 10, max: 90}, output_tokens: {distribution: zipf, exponent: 1.1, "
      "min: 1, max: 50}, sessions: {num_sessions: 40, turns: {distribution: uniform, min: 1, max: 6}, think_time: "
      "{distribution: lognormal, mean: 20 s, median: 5 s}, tool_calls: {distribution: uniform, min: 1, max: 3}, tool_time: "
      "{distribution: exponential, mean: 1 s}, tool_tokens: 30}}";
  const auto by_row = [](std::vector<RequestSpec> requests) {
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> lengths;
    for (const RequestSpec& request : requests) lengths[request.row] = {request.input.count(), request.output.count()};
    REQUIRE(lengths.size() == requests.size());
    return lengths;
  };
  const auto fast = served(yaml, Duration::milliseconds(1)), slow = served(yaml, Duration::seconds(100));
  CHECK(by_row(fast) == by_row(slow));
  CHECK(fast.size() > 40 * 2);
  Time last;
  for (const RequestSpec& request : fast) {
    CHECK(request.arrival >= last);
    last = request.arrival;
  }
}

TEST_CASE("An agent's tool calls follow each answer") {
  // A turn of the user and two tool results: 3 requests. Prompts grow by answer and result: 100, 100+20+30, +20+30.
  const auto requests = served(
      "{arrival: all_at_once, input_tokens: 100, output_tokens: 20, sessions: {num_sessions: 1, turns: 1, think_time: 9 s, "
      "tool_calls: 2, tool_time: 3 s, tool_tokens: 30}}", Duration::seconds(1));
  REQUIRE(requests.size() == 3);
  CHECK(requests[1].input == Tokens{150});
  CHECK(requests[2].input == Tokens{200});
  CHECK(s(requests[1]) == Approx(4));
  CHECK(s(requests[2]) == Approx(8));
}

TEST_CASE("Sessions beyond the limit start when one has ended, and end before the context is full") {
  // Two at a time, each of two turns: 1 + 5 + 1 s. The third begins at 7 s.
  const auto requests = served(
      "{max_concurrent_sessions: 2, input_tokens: 10, output_tokens: 10, sessions: {num_sessions: 3, turns: 2, think_time: 5 s}}",
      Duration::seconds(1));
  REQUIRE(requests.size() == 6);
  CHECK(s(requests[1]) == 0);
  CHECK(s(requests[4]) == Approx(7));
  CHECK(s(requests[5]) == Approx(13));

  // Turn k needs 20k tokens of context: four fit into 80.
  CHECK(served("{arrival: all_at_once, input_tokens: 10, output_tokens: 10, sessions: {num_sessions: 1, turns: 9, think_time: 1 s, "
               "max_context_tokens: 80}}", Duration::seconds(1)).size() == 4);
}

TEST_CASE("Shared prefixes have lengths of their own and Zipf popularity") {
  const auto requests = requests_of(
      "{num_prompts: 4000, request_rate: 1, input_tokens: 1, output_tokens: 1, shared_prefix: {tokens: {distribution: uniform, "
      "min: 100, max: 900}, count: 4, zipf_exponent: 1}}");
  std::map<std::uint64_t, std::pair<std::int64_t, int>> seen;  // length and count by prefix
  for (const RequestSpec& request : requests) {
    auto& [length, count] = seen[request.content->front().stream];
    if (count++ > 0) CHECK(length == request.input.count());
    length = request.input.count();
  }
  REQUIRE(seen.size() == 4);
  std::vector<int> counts;
  std::set<std::int64_t> lengths;
  for (const auto& [stream, entry] : seen) counts.push_back(entry.second), lengths.insert(entry.first);
  std::sort(counts.rbegin(), counts.rend());
  CHECK(lengths.size() == 4);
  // 1 : 1/2 : 1/3 : 1/4 of 4000 are 1920, 960, 640, 480.
  CHECK(counts[0] == Approx(1920).epsilon(0.06));
  CHECK(counts[3] == Approx(480).epsilon(0.12));
}

TEST_CASE("Mistakes about sessions") {
  const std::string start = "{request_rate: 1, input_tokens: 1, output_tokens: 1, ";
  CHECK(contains(mistakes_in(start + "num_prompts: 5, sessions: {turns: 2, think_time: 1 s, num_sessions: 3}}"), "sessions are never cut"));
  CHECK(contains(mistakes_in(start + "sessions: {turns: 2, think_time: 1 s}}"), "give `num_sessions`"));
  CHECK(contains(mistakes_in(start + "sessions: {turns: 2, num_sessions: 3}}"), "think_time"));
  CHECK(contains(mistakes_in(start + "sessions: {turns: 2, think_time: 1 s, num_sessions: 3, tool_time: 2 s}}"), "needs `tool_calls`"));
  CHECK(contains(mistakes_in(start + "num_prompts: 3, max_concurrent_sessions: 2}"), "needs `sessions`"));
}

TEST_CASE("The resolved sessions read back to the same requests") {
  const std::string yaml =
      "{request_rate: 2, input_tokens: 9, output_tokens: 9, max_concurrent_sessions: 5, shared_prefix: {tokens: 40, count: 3, "
      "zipf_exponent: 0.8}, sessions: {num_sessions: 20, turns: {distribution: uniform, min: 1, max: 6}, think_time: "
      "{distribution: uniform, min: 1 s, max: 3 s}, tool_calls: 1, tool_time: 1 s, tool_tokens: 30, max_context_tokens: 400}}";
  const std::string again = to_config(workload_from(yaml)).to_yaml();
  const auto a = served(yaml, Duration::seconds(1)), b = served(again, Duration::seconds(1));
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].row == b[i].row);
    CHECK(a[i].arrival == b[i].arrival);
    CHECK(a[i].input == b[i].input);
  }
}

// --- Traces ----------------------------------------------------------------------------------------------------------

namespace {

std::vector<RequestSpec> served_trace(const std::string& text, Duration latency, const std::string& options = "") {
  const TemporaryFile file(text, ".jsonl");
  return served("{trace: {file: " + file.path() + "}" + options + "}", latency);
}

}  // namespace

TEST_CASE("Mooncake's extension: rows of a session wait for the answer and their delay") {
  const std::string rows =
      "{\"timestamp\": 0, \"session_id\": \"a\", \"input_length\": 1024, \"output_length\": 52, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 500, \"session_id\": \"b\", \"input_length\": 10, \"output_length\": 5}\n"
      "{\"session_id\": \"a\", \"delay\": 2000, \"input_length\": 1600, \"output_length\": 26, \"hash_ids\": [0, 1, 2, 3]}\n"
      "{\"session_id\": \"b\", \"input_length\": 35, \"output_length\": 5}\n";
  const auto requests = served_trace(rows, Duration::seconds(3));
  REQUIRE(requests.size() == 4);
  CHECK(requests[1].row == 1);
  CHECK(requests[2].row == 3);  // b's second turn has no delay: 0.5 + 3 s
  CHECK(s(requests[2]) == Approx(3.5));
  CHECK(requests[3].row == 2);
  CHECK(s(requests[3]) == Approx(5));
  CHECK(requests[3].session == requests[0].session);
  // Without hash ids a turn continues the conversation: 10 prompt tokens and the 5 answered.
  REQUIRE(requests[2].content->size() == 3);
  CHECK((*requests[2].content)[1].stream == output_stream(1));
  CHECK((*requests[2].content)[2].length == Tokens{20});

  CHECK(contains(complaint([&] { served_trace("{\"session_id\": \"a\", \"delay\": 5, \"input_length\": 4, \"output_length\": 2}\n", {}); }),
                 "first row and has no arrival time"));
  CHECK(contains(complaint([&] { served_trace(rows + "{\"timestamp\": 9000, \"text_input\": \"Hi\", \"output_length\": 2}\n", {}); }),
                 ":5: `text_input`: prompts without"));
}

TEST_CASE("LLMServingSim: sub-requests follow one another, a tool between them") {
  const auto requests = served_trace(
      "{\"input_toks\": 16, \"output_toks\": 4, \"arrival_time_ns\": 1000000000}\n"
      "{\"session_id\": 1, \"arrival_time_ns\": 2000000000, \"sub_requests\": [{\"input_toks\": 10, \"output_toks\": 5, "
      "\"tool_duration_ns\": 500000000}, {\"input_toks\": 40, \"output_toks\": 5}]}\n", Duration::seconds(1));
  REQUIRE(requests.size() == 3);
  CHECK(s(requests[1]) == Approx(2));
  CHECK(s(requests[2]) == Approx(3.5));
  CHECK((*requests[2].content)[1].stream == output_stream(1));
  CHECK(requests[2].session != 0);
}

TEST_CASE("Weka: sub-agents run side by side between two requests of their parent") {
  // Request 0 ends at 10 s. Sub-agents, `t` = their end: A from 11 to 21 s in two requests, B from 12 to 18 s in one. Request 1
  // is sent at 25 s: after 0, A and B, 4.5 s after A's last answer (at 11 + 6 + 3.5 s). Answers take 1 s here:
  // 0 at 0; A at 1 + 1 = 2, B at 1 + 2 = 3, A's second after 2 + 1 + (6 - 2) s = 7; request 1 at 8 + 4.5.
  const std::string session =
      "{\"id\": \"x\", \"models\": [\"m\"], \"block_size\": 64, \"hash_id_scope\": \"local\", \"requests\": ["
      "{\"t\": 0.0, \"type\": \"n\", \"model\": \"m\", \"in\": 130, \"out\": 7, \"hash_ids\": [1, 2], \"api_time\": 10.0},"
      "{\"t\": 21.0, \"type\": \"subagent\", \"duration_ms\": 10000, \"requests\": ["
      "{\"t\": 0.0, \"type\": \"n\", \"in\": 70, \"out\": 3, \"hash_ids\": [9], \"api_time\": 2.0},"
      "{\"t\": 6.0, \"type\": \"n\", \"in\": 128, \"out\": 3, \"hash_ids\": [9, 10], \"api_time\": 3.5}]},"
      "{\"t\": 18.0, \"type\": \"subagent\", \"duration_ms\": 6000, \"requests\": ["
      "{\"t\": 0.0, \"type\": \"n\", \"in\": 70, \"out\": 3, \"hash_ids\": [11], \"api_time\": 5.0}]},"
      "{\"t\": 25.0, \"type\": \"s\", \"model\": \"m\", \"in\": 200, \"out\": 9, \"hash_ids\": [1, 2, 3], \"api_time\": 1.0}]}\n";
  const auto requests = served_trace(session + session, Duration::seconds(1), ", request_rate: 0.01");
  REQUIRE(requests.size() == 10);
  std::vector<double> since;
  for (std::size_t i = 0; i < 5; ++i) since.push_back(s(requests[i]) - s(requests[0]));
  CHECK(since[1] == Approx(2));    // A
  CHECK(since[2] == Approx(3));    // B
  CHECK(since[3] == Approx(7));    // A's second
  CHECK(since[4] == Approx(12.5));
  CHECK(requests[4].input == Tokens{200});
  REQUIRE(requests[0].content->size() == 1);
  CHECK(requests[0].content->front().length == Tokens{128});  // the third block is not full and has no id
  CHECK(requests[0].content->front().stream == requests[4].content->front().stream);
  CHECK(requests[0].content->front().stream != requests[5].content->front().stream);  // ids are a session's own

  CHECK(contains(complaint([&] { served_trace("{\"requests\": [{\"t\": 0, \"in\": 64, \"out\": 1, \"hash_ids\": []}], \"block_size\": 64}\n", {}); }),
                 "expected a list of 1 for 64 tokens"));
}

TEST_CASE("Weka: every request of the shared sessions is replayed") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const auto source = make_source(
      workload_from("{trace: " + (shared / "data" / "traces" / "weka_agentic").string() + ", max_concurrent_sessions: 5}"), 1);
  const auto requests = serve(*source, [](const RequestSpec&) { return Duration::seconds(5); });
  // The folder's README: 984 requests in 39 sessions; input mean 75112, output mean 495.8.
  CHECK(requests.size() == 984);
  const WorkloadNotes notes = source->notes();
  CHECK(notes.sessions == 39);
  CHECK(notes.statistics.input.mean == Approx(75112).epsilon(1e-4));
  CHECK(notes.statistics.output.mean == Approx(495.8).epsilon(1e-3));
  CHECK(contains(notes.description, "not used: ttft"));
}

TEST_CASE("Qwen-Bailian: the chain of parents names the session") {
  const std::string rows =
      "{\"chat_id\": 0, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 4, \"output_length\": 2, \"turn\": 1}\n"
      "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0.3, \"input_length\": 3, \"output_length\": 7, \"turn\": 1}\n"
      "{\"chat_id\": 2, \"parent_chat_id\": 0, \"timestamp\": 2.9, \"input_length\": 8, \"output_length\": 1, \"turn\": 2}\n"
      "{\"chat_id\": 5, \"parent_chat_id\": 2, \"timestamp\": 9.9, \"input_length\": 9, \"output_length\": 1, \"turn\": 3}\n"
      "{\"chat_id\": 6, \"parent_chat_id\": 99, \"timestamp\": 9.9, \"input_length\": 9, \"output_length\": 1, \"turn\": 3}\n";
  const auto requests = replay(rows);
  REQUIRE(requests.size() == 5);
  CHECK(requests[0].session == requests[2].session);
  CHECK(requests[0].session == requests[3].session);
  CHECK(std::set<std::uint64_t>{requests[0].session, requests[1].session, requests[4].session}.size() == 3);
}

// --- ServeGen --------------------------------------------------------------------------------------------------------

TEST_CASE("ServeGen: clients' rates and lengths come out as their files say") {
  REQUIRE_SHARED_OR_SKIP(shared);
  const std::string folder = (shared / "data" / "traces" / "servegen" / "reason_deepseek-r1").string();
  const WorkloadNotes notes = notes_of("{servegen: {folder: " + folder + ", start: 12 h, end: 14 h}}");
  // Read independently (Python): sum of ceil(600 s x rate) over 20 clients and the 12 windows from 43200 s to 50400 s, and
  // the means of their lengths weighted by it. A window's last gap ends on its border: up to 20 requests fall either side.
  const auto requests = requests_of("{servegen: {folder: " + folder + ", start: 12 h, end: 14 h, rate_scale: 0.5}}");
  CHECK(static_cast<double>(notes.statistics.count) == Approx(25'420).margin(20));
  CHECK(notes.statistics.input.mean == Approx(867.0).epsilon(0.05));
  CHECK(notes.statistics.output.mean == Approx(652.9).epsilon(0.02));
  CHECK(static_cast<double>(requests.size()) == Approx(static_cast<double>(notes.statistics.count) / 2.0).epsilon(0.01));
  CHECK(contains(notes.description, "20 clients"));
  Time last;
  for (const RequestSpec& request : requests) {
    CHECK(request.arrival >= last);
    last = request.arrival;
  }
  CHECK(last < Time{Duration::seconds(7200)});
  CHECK(contains(mistakes_in("{servegen: /nowhere}"), "not a folder"));
  CHECK(contains(mistakes_in("{servegen: " + folder + ", request_rate: 3}"), "have their own"));
}
