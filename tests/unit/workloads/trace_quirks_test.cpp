// What breaks trace parsers, each on a small hand-made sample.
#include "tests/support/folder.hpp"
#include "tests/unit/workloads/support.hpp"
#include "workloads/traces/instant.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

const std::string azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";

constexpr std::int64_t second = 1'000'000'000'000;
constexpr std::int64_t millisecond = 1'000'000'000;

}  // namespace

TEST_CASE("Azure 2023: CRLF, seven fractional digits, no newline at the end") {
  const auto requests =
      replay(azure_header + "\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[0]) == 0);
  CHECK(ps(requests[1]) == 4'314'579'000'000);  // 50.9951690 - 46.6805900 s
  CHECK(requests[1].input == Tokens{396});
  CHECK(requests[1].output == Tokens{109});
  CHECK(requests[1].max_tokens == Tokens{109});
  CHECK(requests[1].row == 1);
}

TEST_CASE("Azure 2024: a zone, and whole seconds without a fraction, across midnight") {
  const auto requests =
      replay(azure_header + "\n2024-05-11 23:59:59.990000+00:00,1,1\n2024-05-12 00:00:00+00:00,2,2\n");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[1]) == 10 * millisecond);
}

TEST_CASE("Azure LMM 2025: ISO dates and an extra column") {
  const TemporaryFile file("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,0,770,491\n"
                           "2024-10-15T12:00:05.819Z,1,949,126\n");
  const auto source = make_source(workload_from("trace: " + file.path()), 1);
  const auto requests = pull_all(*source);
  CHECK(ps(requests.at(1)) == 5'550 * millisecond);
  CHECK(requests[1].input == Tokens{949});
  CHECK(contains(source->notes().description, "azure-lmm-2025 CSV"));
  CHECK(contains(source->notes().description, "not used: NumImages"));
}

TEST_CASE("The two Azure years are told apart by their dates") {
  const TemporaryFile old_file(azure_header + "\n2023-11-16 18:15:46.6805900,374,44\n");
  const TemporaryFile new_file(azure_header + "\n2024-05-12 00:00:00+00:00,374,44\n");
  CHECK(contains(describe(workload_from("trace: " + old_file.path())), "azure-2023 CSV"));
  CHECK(contains(describe(workload_from("trace: " + new_file.path())), "azure-2024 CSV"));
}

TEST_CASE("Byte order mark, empty lines, quoted fields, blanks") {
  const auto requests = replay(
      "\xEF\xBB\xBF\"arrived_at\",num_prefill_tokens,\"num_decode_tokens\"\n\n0.5, 10 ,\"7\"\n   \n1.5,20,8\n\n");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[0]) == second / 2);
  CHECK(requests[0].output == Tokens{7});
  CHECK(requests[1].input == Tokens{20});
}

TEST_CASE("Quotes inside quotes, and quotes out of place") {
  CHECK(replay("name,arrival,input_tokens,output_tokens\n\"a \"\"b\"\", c\",1,2,3\n").at(0).input == Tokens{2});
  CHECK(contains(replay_complaint("name,arrival,input_tokens,output_tokens\n\"open,1,2,3\n"),
                 ":2: a quote is out of place"));
}

TEST_CASE("Rows with zero tokens follow an explicit rule and are counted") {
  const std::string text =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n6,GPT-4,0,0,0,API log\n7,GPT-4,30,0,30,API log\n9,GPT-4,30,4,34,API "
      "log\n";
  const TemporaryFile file(text);
  SECTION("dropped by default") {
    const auto source = make_source(workload_from("trace: " + file.path()), 1);
    const auto requests = pull_all(*source);
    REQUIRE(requests.size() == 2);
    CHECK(ps(requests[1]) == 4 * second);  // BurstGPT's clock starts at midnight: the first row is time zero
    CHECK(requests[1].row == 1);
    CHECK(source->notes().zero_rows == 2);
    CHECK(source->notes().rows_read == 4);
    CHECK(contains(source->notes().warnings.at(0), "2 of 4 rows have no input or no output tokens and were left out"));
  }
  SECTION("kept") {
    const auto requests = replay(text, ", zero_tokens: keep_as_one");
    REQUIRE(requests.size() == 4);
    CHECK(requests[1].input == Tokens{1});
    CHECK(requests[2].input == Tokens{30});
    CHECK(requests[2].output == Tokens{1});
  }
  SECTION("refused") { CHECK(contains(replay_complaint(text, ", zero_tokens: error"), ":3: has no input tokens")); }
}

TEST_CASE("BurstGPT 3: columns by name, float times, empty session ids") {
  const auto requests = replay(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n19440161.5,,2,ChatGPT,36,29,65,API log\n");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[1]) == 51'500 * millisecond);
  CHECK(requests[1].input == Tokens{36});
}

TEST_CASE("Rows out of order are put into their place; too far out is an error with its line") {
  const std::string text = "arrived_at,num_prefill_tokens,num_decode_tokens\n3,30,1\n1,10,1\n2,20,1\n2,21,1\n";
  const TemporaryFile file(text);
  const auto source = make_source(workload_from("trace: " + file.path()), 1);
  const auto requests = pull_all(*source);
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].input == Tokens{10});
  CHECK(requests[1].input == Tokens{20});  // equal times keep the order of the file
  CHECK(requests[2].input == Tokens{21});
  CHECK(requests[3].input == Tokens{30});
  CHECK(requests[3].row == 3);
  CHECK(source->notes().late_rows == 3);
  CHECK(contains(replay_complaint(text, ", reorder_rows: 0"), ":3: arrives before rows already replayed"));
}

TEST_CASE("Mooncake: ids of 64 bits, shared prefixes as runs, a partly filled last block") {
  const auto requests = replay(
      "{\"timestamp\": 0, \"input_length\": 1300, \"output_length\": 5, \"hash_ids\": [7, 8, 18446744073709551615]}\n"
      "{\"timestamp\": 27482, \"input_length\": 1024, \"output_length\": 6, \"hash_ids\": [7, 9007199254740993]}\n"
      "{\"timestamp\": 27482, \"input_length\": 600, \"output_length\": 6, \"hash_ids\": [7, 9007199254740992]}\n");
  REQUIRE(requests.size() == 3);
  CHECK(ps(requests[1]) == 27'482 * millisecond);
  const Content& first = *requests[0].content;
  const Content& second_content = *requests[1].content;
  REQUIRE(first.size() == 2);  // ids 7 and 8 follow one another: one run
  CHECK(first[0].length == Tokens{1024});
  CHECK(first[1].length == Tokens{276});  // 1300 - 2 * 512
  REQUIRE(second_content.size() == 2);
  CHECK(second_content[0].stream == first[0].stream);
  CHECK(second_content[0].offset == first[0].offset);
  CHECK(second_content[0].length == Tokens{512});
  // 2^53 + 1 and 2^53 are different blocks, which doubles could not tell apart.
  const ContentRun& other = requests[2].content->at(1);
  CHECK((other.stream != second_content[1].stream || other.offset != second_content[1].offset));
}

TEST_CASE("Mooncake: seconds in the place of milliseconds, and ids that do not fit the length") {
  const std::string seconds = "{\"timestamp\": 0.0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [0]}\n"
                              "{\"timestamp\": 0.2, \"input_length\": 20, \"output_length\": 8, \"hash_ids\": [0, 1]}\n"
                              "{\"timestamp\": 0.4, \"input_length\": 15, \"output_length\": 6, \"hash_ids\": [2]}\n";
  // 20 tokens are one block of 512, not two.
  const std::string refused = replay_complaint(seconds);
  CHECK(contains(refused, ":2: 2 hash ids for 20 tokens, but blocks of 512 tokens need 1"));
  CHECK(contains(refused, "trace_block_size"));
  CHECK(replay(seconds, ", trace_block_size: 16").size() == 3);

  const TemporaryFile file(seconds);
  const auto source = make_source(workload_from("trace: {file: " + file.path() + ", trace_block_size: 16}"), 1);
  const auto requests = pull_all(*source);
  CHECK(ps(requests.at(1)) == millisecond / 5);
  CHECK(contains(source->notes().description, "times in ms"));
  REQUIRE(source->notes().warnings.size() == 1);
  CHECK(contains(source->notes().warnings[0], ":2: a time below 1 with a fraction was taken as milliseconds"));
  CHECK(contains(source->notes().warnings[0], "time_unit: s"));

  const auto in_seconds = replay(seconds, ", use_hash_ids: false, time_unit: s");
  CHECK(ps(in_seconds.at(2)) == 2 * second / 5);
  CHECK(in_seconds[2].content == nullptr);
}

TEST_CASE("Mooncake as AIPerf and Dynamo write it") {
  const auto requests = replay(
      "{\"timestamp\": 0, \"session_id\": \"s1\", \"input_length\": 1024, \"output_length\": 52, \"hash_ids\": [0, "
      "1]}\n"
      "{\"created_time\": 105.5, \"input_tokens\": 700, \"output_tokens\": 30, \"hash_ids\": [4294967296, 5]}\n");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[1]) == 105'500'000'000);
  CHECK(requests[1].input == Tokens{700});
  CHECK(contains(
      replay_complaint("{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5}\n"
                       "{\"session_id\": \"s1\", \"delay\": 2000, \"input_length\": 16, \"output_length\": 2}\n"),
      ":2: is its session's first row and has no arrival time"));
  CHECK(contains(replay_complaint("{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5}\n"
                                  "{\"timestamp\": 105.5, \"text_input\": \"no lengths\", \"output_length\": 4}\n"),
                 ":2: `text_input`: prompts without `input_length`"));
  CHECK(contains(replay_complaint("{\"timestamp\": 0, \"input_length\": 10}\n"), ":1: has no number of output tokens"));
}

TEST_CASE("Qwen-Bailian: seconds and blocks of 16 tokens") {
  const auto requests = replay(
      "{\"chat_id\": 0, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 40, \"output_length\": 25, "
      "\"type\": \"text\", \"turn\": 1, \"hash_ids\": [0, 1, 2]}\n"
      "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0.318, \"input_length\": 32, \"output_length\": 7, "
      "\"type\": \"search\", \"turn\": 1, \"hash_ids\": [3, 4]}\n");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[1]) == 318 * millisecond);
  CHECK(requests[0].content->at(0).length == Tokens{40});
}

TEST_CASE("LLMServingSim: nanoseconds; agent sessions must be whole") {
  const std::string row =
      "{\"input_toks\":10,\"output_toks\":70,\"arrival_time_ns\":46926808,\"input_tok_ids\":[1,2,3]}\n";
  const auto requests = replay(row);
  CHECK(ps(requests.at(0)) == 46'926'808'000);
  CHECK(contains(
      replay_complaint(row + "{\"session_id\": 1, \"arrival_time_ns\": 50000000, \"sub_requests\": [{\"input_toks\": 1}]}\n"),
      ":2: `output_toks`: expected a whole number"));
}

TEST_CASE("Vidur, Frontier and splitwise-sim") {
  const auto frontier = replay(
      "arrived_at,num_prefill_tokens,num_decode_tokens,session_id,block_hash_ids\n0.0,32,2,7,11|22\n10.0,32,2,7,11|"
      "22\n");
  REQUIRE(frontier.size() == 2);
  CHECK(frontier[0].content->size() == 2);
  CHECK(frontier[0].content->at(1).stream == frontier[1].content->at(1).stream);
  const std::string header =
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n";
  CHECK(ps(replay(header + "0,2,0,1,1,4096,32\n1,2,0,3,1,2048,8\n").at(1)) == 3 * second);
  CHECK(contains(replay_complaint(header + "0,2,0,1,1,4096,32\n1,0,0,3,1,2048,8\n"),
                 ":3: `request_type` is `0`, expected 2"));
}

TEST_CASE("A trace without times needs an arrival process") {
  const TemporaryFile file(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.8\n2015,156,2171,12.9\n");
  const std::string mistake = mistakes_in("trace: " + file.path());
  CHECK(contains(mistake, "has no column for the arrival time"));
  CHECK(contains(mistake, "num_prefill_tokens"));
  const auto requests = requests_of("trace: " + file.path() + "\narrival: {process: constant, request_rate: 2}");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[1]) == second);
  CHECK(requests[1].input == Tokens{2015});
}

TEST_CASE("vLLM's names, CSV and JSON lines") {
  const auto table = replay("arrival_time_ms,prompt_len,output_len\n1500,10,20\n");
  CHECK(ps(table.at(0)) == 1'500 * millisecond);
  const auto lines = replay("{\"arrival_time\": 1.5, \"prompt_len\": 10, \"expected_output_len\": 20}\n");
  CHECK(ps(lines.at(0)) == 1'500 * millisecond);
  CHECK(lines[0].output == Tokens{20});
}

TEST_CASE("Any table with named columns") {
  const std::string text = "t_us;x,when,p,g\n1,250,10.0,20\n2,1e3,11,21\n";
  const auto requests = replay(text, ", columns: {arrival: when, input_tokens: p, output_tokens: g}, time_unit: us");
  REQUIRE(requests.size() == 2);
  CHECK(ps(requests[0]) == 250'000'000);
  CHECK(ps(requests[1]) == millisecond);
  CHECK(requests[0].input == Tokens{10});
  // Names of units count: `_ms`.
  CHECK(ps(replay("at_ms,p,g\n3,1,1\n", ", columns: {arrival: at_ms, input_tokens: p, output_tokens: g}").at(0)) ==
        3 * millisecond);
  CHECK(contains(replay_complaint(text, ", columns: {arrival: wen, input_tokens: p, output_tokens: g}"),
                 "has no column for the arrival time"));
  // Seconds since 1970 count from the first row.
  CHECK(ps(replay("timestamp,input_tokens,output_tokens\n1700000000.25,1,1\n1700000001.5,1,1\n").at(1)) ==
        1'250 * millisecond);
}

TEST_CASE("Our own format: exact times, content runs, accepted drafts, end-of-sequence") {
  const auto requests = replay(
      "arrival_s,input_tokens,output_tokens,priority,max_tokens,prefix,accepted\n"
      "0.003429000,82,16,,,E:16 E2:32,\n0.000000000001,4,3,-2,9,B:8,3 0 1\n1.000000000,30,5,,,out1:3 E:4,\n");
  REQUIRE(requests.size() == 3);
  CHECK(ps(requests[0]) == 1);
  CHECK(ps(requests[1]) == 3'429'000'000);
  CHECK(requests[0].priority == -2);
  CHECK(requests[0].output == Tokens{3});
  CHECK(requests[0].max_tokens == Tokens{9});
  CHECK(*requests[0].accepted == std::vector<int>{3, 0, 1});
  REQUIRE(requests[0].content->size() == 1);
  CHECK(requests[0].content->at(0).length == Tokens{4});  // B:8 cut to a prompt of 4
  CHECK(requests[1].content->at(1).length == Tokens{32});
  CHECK(requests[2].content->at(0).stream == output_stream(1));
  CHECK(requests[2].content->at(1).stream == requests[1].content->at(0).stream);
  CHECK(contains(replay_complaint("arrival_s,input_tokens,output_tokens,prefix\n0,1,1,E\n"),
                 ":2: `prefix`: expected runs like X:12 Y:8, got `E`"));
  CHECK(contains(replay_complaint("arrival_s,input_tokens,output_tokens,max_tokens\n0,1,5,4\n"),
                 ":2: `max_tokens` is 4, below the 5"));
}

TEST_CASE("Window and speed") {
  const std::string text = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n10,2,1\n20,3,1\n30,4,1\n";
  const auto requests = replay(text, ", start: 10 s, end: 30 s, rate_scale: 2");
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].input == Tokens{2});
  CHECK(ps(requests[0]) == 0);
  CHECK(ps(requests[1]) == 5 * second);
  CHECK(contains(replay_complaint(text, ", start: 10 s, end: 5 s"), "is not after `start`"));
  CHECK(contains(replay_complaint("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n99999999,2,1\n"),
                 ":3: arrives more than 106 days"));
}

TEST_CASE("Unreadable rows are named by file and line") {
  const std::string header = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,1\n";
  const TemporaryFile file(header + "1,2\n");
  CHECK(contains(complaint([&] { requests_of("trace: " + file.path()); }),
                 file.path() + ":3: expected 3 fields as in the header, got 2"));
  CHECK(contains(replay_complaint(header + "1,2,x\n"),
                 ":3: `num_decode_tokens`: expected a whole number of tokens from 0 to 100000000, got `x`"));
  CHECK(contains(replay_complaint(header + "1,-2,1\n"), "got `-2`"));
  CHECK(contains(replay_complaint(header + "1,2.5,1\n"), "got `2.5`"));
  CHECK(contains(replay_complaint(header + "1,10737418240,1\n"), "got `10737418240`"));  // 10 Gi tokens
  CHECK(contains(replay_complaint(header + "1,99999999999999999999,1\n"), "got `99999999999999999999`"));
  CHECK(contains(replay_complaint(header + "nan,2,1\n"), ":3: `arrived_at`: expected a number, got `nan`"));
  CHECK(contains(replay_complaint(header + "inf,2,1\n"), "got `inf`"));
  CHECK(contains(replay_complaint(header + "1e999,2,1\n"), "got `1e999`"));
  CHECK(contains(replay_complaint(header + ",2,1\n"), ":3: has no arrival time"));
  CHECK(contains(replay_complaint(header + "-1,2,1\n"), ":3"));
  CHECK(contains(replay_complaint(azure_header + "\n2023-13-16 18:15:46.6,1,1\n"),
                 ":2: `TIMESTAMP`: expected a number or a date"));
  CHECK(contains(replay_complaint(
                     "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5}\n{\"timestamp\": 1, \"input_len"),
                 ":2: not valid JSON"));
  CHECK(contains(replay_complaint("{\"timestamp\": 0, \"input_length\": \"10\", \"output_length\": 5}\n"),
                 ":1: `input_length`: expected a number, got the text"));
  CHECK(contains(replay_complaint("{\"timestamp\": 0, \"input_length\": [10], \"output_length\": 5}\n"),
                 ":1: `input_length`: expected a number"));
  CHECK(contains(
      replay_complaint("{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1.5, 2]}\n"),
      ":1: `hash_ids`: expected a list"));
}

TEST_CASE("Files that are no traces") {
  CHECK(contains(mistakes_in("trace: /nowhere/x.csv"), "trace: /nowhere/x.csv: no such file"));
  const test::Folder empty;
  CHECK(contains(mistakes_in("trace: " + empty.path.string()), "is a directory without"));
  CHECK(contains(replay_complaint(""), "is empty"));
  CHECK(contains(replay_complaint(azure_header + "\n"), "has no rows"));
  CHECK(contains(replay_complaint("0,374,44\n1,2,3\n"), "expected a header"));
  CHECK(contains(replay_complaint("0,0.0367,0.41,Gamma,5.8,0.67\r\n600,0,0,,0,0\r\n"), "ServeGen"));
  CHECK(contains(replay_complaint("[{\"timestamp\": 0}]\n"), "one JSON object per line"));
  CHECK(contains(replay_complaint("a,b,c\n1,2,3\n"), "its columns are: a, b, c"));
  CHECK(contains(replay_complaint("arrival,arrival,input_tokens,output_tokens\n1,2,3,4\n"), "two columns `arrival`"));
  CHECK(contains(replay_complaint(std::string("\x1f\x8b\x08", 3)), "gzip"));
  CHECK(contains(replay_complaint(azure_header + "\n2023-11-16 18:15:46.6,1,1\n", ", format: mooncake"),
                 "is CSV, but the format mooncake is JSON lines"));
  CHECK(contains(replay_complaint(azure_header + "\n", ", format: azur-2023"), "did you mean `azure-2023`"));
  CHECK(contains(replay_complaint(azure_header + "\n" + std::string(17 << 20, '1')), ":2: a line of more than 16 MiB"));
}

TEST_CASE("Times keep every digit") {
  const auto parsed = [](std::string_view text, TimeUnit unit) {
    const auto instant = parse_decimal_time(text, unit);
    return instant ? static_cast<std::int64_t>(instant->picoseconds()) : std::int64_t{-1};
  };
  CHECK(parsed("3.429", TimeUnit::milliseconds) == 3'429'000'000);
  CHECK(parsed("1e-06", TimeUnit::milliseconds) == 1'000);
  CHECK(parsed("0.1", TimeUnit::seconds) == second / 10);
  CHECK(parsed("1.0E+1", TimeUnit::nanoseconds) == 10'000);
  CHECK(parsed("9000000.000000000001", TimeUnit::seconds) ==
        9'000'000 * second + 1);  // a double has 53 bits, this needs 63
  CHECK(parsed("0.0000000000005", TimeUnit::seconds) == 1);                              // half a picosecond rounds up
  CHECK(parsed("00000000000000000000000000000000000000000001", TimeUnit::seconds) == second);
  CHECK(parsed(".5", TimeUnit::seconds) == second / 2);
  for (const char* bad : {"", ".", "-", "1.2.3", "1e", "0x10", "1 s", "nan", "1e400", "12345678901234567890"}) {
    INFO(bad);
    CHECK_FALSE(parse_decimal_time(bad, TimeUnit::seconds).has_value());
  }
  const auto date = [](std::string_view text) { return parse_date_time(text); };
  CHECK(date("2024-02-29 00:00:00") < date("2024-03-01 00:00:00"));
  CHECK(date("2024-05-10 02:00:00+02:00") == date("2024-05-10T00:00:00Z"));
  CHECK(date("2024-05-10 00:00:00-0130") == date("2024-05-10 01:30:00"));
  for (const char* bad : {"2024-05-10", "2023-02-29 00:00:00", "2024-05-10 24:00:00", "2024-05-10 00:00:00.",
                          "2024-05-10 00:00:00 UTC", "2024-05-10 00:00:00+1"}) {
    INFO(bad);
    CHECK_FALSE(date(bad).has_value());
  }
}
