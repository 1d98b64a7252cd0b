// A sweep from document to table, and the file it resumes from.
#include "scenarios/sweep/run_sweep.hpp"

#include <filesystem>

#include "scenarios/report/sweep_csv.hpp"
#include "scenarios/report/version.hpp"
#include "scenarios/sweep/lock_file.hpp"
#include "scenarios/sweep/scenario_key.hpp"
#include "scenarios/sweep/store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

const std::string swept = constant_cost("name: small\n") + R"(sweep:
  engine.max_num_seqs: [1, 2, 0, 2]
  workload.num_prompts: [4, 8]
  skip: [{when: engine.max_num_seqs == 1 and workload.num_prompts == 8, because: slow}]
)";

struct Counted {
  SweepTable table;
  std::size_t runs = 0;
};

Counted sweep(const std::string& yaml, SweepStore* store = nullptr, std::size_t jobs = 2) {
  Counted counted;
  SweepOptions options{.jobs = jobs, .store = store};
  options.progress = [&](std::size_t, std::size_t wanted, std::size_t stored) { counted.runs = wanted - stored; };
  counted.table = run_sweep(Config::parse(yaml, "test.yaml"), options);
  return counted;
}

std::string refusal(const std::string& file) {
  try {
    SweepStore store(file);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Every point is a row: results, rules and mistakes") {
  const Counted counted = sweep(swept);
  const SweepTable& table = counted.table;
  CHECK(table.name == "small");
  CHECK(table.axes == std::vector<std::string>{"engine.max_num_seqs", "workload.num_prompts"});
  REQUIRE(table.rows.size() == 8);
  CHECK(counted.runs == 3);  // (1, 4), (2, 4), (2, 8); the second 2 asks for the same again
  CHECK(table.rows[0].outcome.status == PointStatus::ok);
  CHECK(table.rows[1].outcome.status == PointStatus::skipped);
  CHECK(table.rows[1].outcome.reason == "slow");
  CHECK(table.rows[4].outcome.status == PointStatus::infeasible);
  CHECK(table.rows[4].outcome.reason.find("max_num_seqs") != std::string::npos);
  CHECK(table.rows[6].key == table.rows[2].key);
  CHECK(table.rows[6].outcome.metrics == table.rows[2].outcome.metrics);

  // Four requests of 8 tokens, one at a time: 32 steps of a millisecond.
  const std::string csv = sweep_csv(table);
  CHECK(csv.find("engine.max_num_seqs,workload.num_prompts,status,gpus,completed,") == 0);
  CHECK(csv.find("\n1,4,ok,1,4,128,32,0.032,") != std::string::npos);
  CHECK(csv.find("\n1,8,skipped,,") != std::string::npos);
  CHECK(sweep_text(table).find("skipped: slow") != std::string::npos);
}

TEST_CASE("When nothing came of any point, the first reason is the answer") {
  CHECK_THROWS_AS(sweep(constant_cost() + "sweep: {engine.max_num_seqs: [0, -1]}\n"), ConfigError);
  // Feasible, but no replica can ever hold the request: 100 blocks of 16 tokens.
  CHECK_THROWS_AS(sweep(constant_cost("sweep: {seed: [1, 2]}\n", "{arrival: all_at_once, num_prompts: 1, input_tokens: 4000, output_tokens: 8}")), ConfigError);
}

TEST_CASE("A finished file: nothing runs again, and its bytes stay") {
  const Folder folder;
  const std::string file = folder.file("s.db");
  const auto finish = [&](const std::string& yaml) {
    SweepStore store(file);
    const Counted counted = sweep(yaml, &store);
    store.finish(counted.table);
    return counted;
  };
  const Counted first = finish(swept);
  CHECK(first.runs == 3);
  CHECK(folder.entries() == 1);  // neither log nor lock is left
  const std::string bytes = content(file);
  const Counted second = finish(swept);
  CHECK(second.runs == 0);
  CHECK(sweep_csv(second.table) == sweep_csv(first.table));
  CHECK(content(file) == bytes);

  SECTION("a wider sweep runs what is new") {
    std::string wider = swept;
    wider.replace(wider.find("[4, 8]"), 6, "[4, 8, 12]");
    CHECK(finish(wider).runs == 2);
    CHECK(finish(swept).runs == 0);  // and what was stored is still there
  }
  SECTION("another seed is another result") { CHECK(finish("seed: 2\n" + swept).runs == 3); }
}

TEST_CASE("An abandoned sweep is resumed") {
  const Folder folder;
  const std::string file = folder.file("s.db");
  {
    SweepStore store(file);
    const Counted counted = sweep(swept, &store);  // and never finished
    CHECK(counted.runs == 3);
  }
  SweepStore store(file);
  CHECK(sweep(swept, &store).runs == 0);
}

TEST_CASE("A changed trace is another result, though its name is the same") {
  const Folder folder;
  const std::string trace = folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0.5,10,5\n0.7,10,5\n");
  const Config resolved = scenario_from(constant_cost("", "{trace: " + trace + "}")).resolved;
  const std::string before = ScenarioKeys().of(resolved);
  CHECK(ScenarioKeys().of(resolved) == before);
  folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0.5,10,5\n0.7,10,6\n");
  CHECK(ScenarioKeys().of(resolved) != before);
}

TEST_CASE("Files that are not ours to write are refused by name") {
  const Folder folder;
  CHECK(refusal(folder.write("text.db", "This is no database, but a text of more than a hundred bytes, so that SQLite does not take it for an empty file.\n"))
            .find("text.db: is not an SQLite database") != std::string::npos);
  CHECK(refusal(folder.path.string()).find("is a directory") != std::string::npos);
  CHECK(refusal(folder.file("nowhere/s.db")).find("nowhere/s.db-lock: cannot create") != std::string::npos);
  CHECK(refusal(folder.write("empty.db", "")).empty());
  const LockFile lock(std::filesystem::weakly_canonical(folder.file("busy.db")).string() + "-lock", "busy.db");
  CHECK(refusal(folder.file("busy.db")).find("in use by another ridgeline process") != std::string::npos);
}

TEST_CASE("Results of another version are not mixed with ours") {
  const Folder folder;
  const std::string file = folder.file("s.db");
  {
    SweepStore store(file);
    store.finish(sweep(swept, &store).table);
  }
  // The row ('version', '0.1.0') lies in the file as its two texts, one after the other.
  std::string bytes = content(file);
  const std::size_t at = bytes.find("version" + std::string(version()));
  REQUIRE(at != std::string::npos);
  bytes[at + std::string("version").size()] = '9';
  folder.write("s.db", bytes);
  CHECK(refusal(file).find("s.db: holds results of ridgeline 9") != std::string::npos);

  // Any application's database: the four bytes at offset 68 of the header name ours.
  bytes = content(file);
  bytes[68] = 'X';
  folder.write("other.db", bytes);
  CHECK(refusal(folder.file("other.db")).find("is a database of another program") != std::string::npos);
}
