// The program as its users meet it: exit codes, messages, and files that are whole or absent.
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace fs = std::filesystem;
using namespace ridgeline::test;

namespace {

const std::string small =
    "name: small\nengine: {max_model_len: 4096, num_gpu_blocks_override: 100}\nfleet: [{}]\ncost: {model: constant, step_time: 1 ms}\n"
    "workload: {request_rate: 50, num_prompts: 20, input_tokens: 32, output_tokens: 8}\n";

}  // namespace

TEST_CASE("Help and version") {
  CHECK(run("--help").code == 0);
  CHECK(run("--help").output.find("check-schedule") != std::string::npos);
  CHECK(run("--version").output.find("ridgeline 0.") == 0);
  CHECK(run("run --help").output.find("--step-log") != std::string::npos);
}

TEST_CASE("Wrong command lines exit with 1 and say why") {
  struct Row {
    const char* arguments;
    const char* message;
  };
  for (const Row& row : {Row{"rum x.yaml", "unknown command `rum`; did you mean `run`?"}, Row{"run", "expected one SCENARIO.yaml, got none"},
                         Row{"run nowhere.yaml", "nowhere.yaml: no such file"}, Row{"run /tmp", "is a directory"},
                         Row{"run x.yaml --jsom f", "unknown option `--jsom`; did you mean `--json`?"},
                         Row{"list gpu", "did you mean `gpus`"},
                         Row{"plan nowhere.yaml", "nowhere.yaml: no such file"}, Row{"explain --model llama-2-7b", "--gpu"}}) {
    INFO(row.arguments);
    const Outcome outcome = run(std::string(row.arguments) + " 2>&1");
    INFO(outcome.output);
    CHECK(outcome.code == 1);
    CHECK(outcome.output.find(row.message) != std::string::npos);
  }
}

TEST_CASE("--json - prints JSON and nothing else; the same bytes every time") {
  const Folder folder;
  const std::string file = folder.write("small.yaml", small);
  const Outcome outcome = run("run " + file + " --json -");
  CHECK(outcome.code == 0);
  const nlohmann::json json = nlohmann::json::parse(outcome.output);
  CHECK(json["completed"] == 20);
  CHECK(run("run " + file + " --json -").output == outcome.output);
  CHECK(run("run " + file + " --json - --seed 5").output != outcome.output);
}

TEST_CASE("A result's scenario runs again to the same result") {
  const Folder folder;
  const nlohmann::ordered_json first = nlohmann::ordered_json::parse(run("run " + folder.write("small.yaml", small) + " --json -").output);
  const std::string again = folder.write("again.json", first["scenario"].dump());
  CHECK(nlohmann::ordered_json::parse(run("run " + again + " --json -").output) == first);
}

TEST_CASE("All outputs of a run") {
  const Folder folder;
  const std::string file = folder.write("small.yaml", small);
  const std::string out = folder.path.string();
  CHECK(run("run " + file + " --json " + out + "/r.json --requests " + out + "/q.csv --step-log " + out + "/s.csv --trace " + out + "/t.json").code == 0);
  CHECK(folder.entries() == 5);
  CHECK(nlohmann::json::parse(content(folder.path / "t.json")).contains("traceEvents"));
  CHECK(content(folder.path / "s.csv").find("time_s,pool,replica,step,request,phase") == 0);
}

TEST_CASE("Bad input writes nothing") {
  const Folder folder;
  const std::string file = folder.write("bad.yaml", small + "sede: 3\n");
  const std::string out = folder.path.string();
  const Outcome outcome = run("run " + file + " --json " + out + "/r.json --step-log " + out + "/s.csv 2>&1");
  CHECK(outcome.code == 1);
  CHECK(outcome.output.find("bad.yaml:6:7: sede: unknown key; did you mean `seed`?") != std::string::npos);
  CHECK(folder.entries() == 1);
}

TEST_CASE("An unreadable trace row is named and leaves no file") {
  const Folder folder;
  folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0.5,10,5\n0.7,ten,5\n");
  const std::string file = folder.write("s.yaml", "engine: {max_model_len: 4096, num_gpu_blocks_override: 100}\nfleet: [{}]\n"
                                                  "cost: {model: constant, step_time: 1 ms}\nworkload: {trace: t.csv}\n");
  const Outcome outcome = run("run " + file + " --json " + folder.path.string() + "/r.json 2>&1");
  CHECK(outcome.code == 1);
  CHECK(outcome.output.find("t.csv:3") != std::string::npos);
  CHECK(folder.entries() == 2);
}

TEST_CASE("A full disk and a closed pipe are reported") {
  const Folder folder;
  const std::string file = folder.write("small.yaml", small);
  if (fs::exists("/dev/full")) {
    const Outcome full = run("run " + file + " --step-log /dev/full 2>&1");
    CHECK(full.code == 1);
    CHECK(full.output.find("No space left on device") != std::string::npos);
    CHECK(run("run " + file + " > /dev/full 2>/dev/null").code == 1);
  }
  const Outcome closed = run("run " + file + " --step-log - 2>" + folder.path.string() + "/err >&- ; echo $?");
  CHECK(closed.output == "1\n");
  CHECK(content(folder.path / "err").find("standard output: cannot write") != std::string::npos);
}

TEST_CASE("A sweep gives the same bytes for any number of jobs") {
  const Folder folder;
  const std::string file = folder.write("sweep.yaml", small + "sweep: {workload.request_rate: [10, 20, 40, 80], engine.max_num_seqs: [1, 4, 0]}\n");
  const Outcome one = run("sweep " + file + " --jobs 1 --csv -");
  CHECK(one.code == 0);
  CHECK(run("sweep " + file + " --jobs 4 --csv -").output == one.output);
  CHECK(one.output.find("infeasible") != std::string::npos);  // max_num_seqs: 0
  const Outcome plain = run("run " + file + " 2>&1");
  CHECK(plain.code == 1);
  CHECK(plain.output.find("describes 12 points; use `ridgeline sweep") != std::string::npos);
}

TEST_CASE("Alternatives run side by side") {
  const Folder folder;
  const std::string file = folder.write("two.yaml", small + "alternatives: {one: {}, two: {fleet: [{replicas: 2}]}}\n");
  const Outcome both = run("run " + file);
  CHECK(both.code == 0);
  CHECK(both.output.find("requests completed") != std::string::npos);
  CHECK(nlohmann::json::parse(run("run " + file + " --json -").output)["alternatives"].size() == 2);
  CHECK(nlohmann::json::parse(run("run " + file + " --alternative two --json -").output)["fleet"]["replicas"] == 2);
  CHECK(run("compare " + file).code == 0);
}

TEST_CASE("Lists") {
  for (const char* what : {"gpus", "models", "engines", "schedulers", "routers", "workloads", "links"}) {
    INFO(what);
    const Outcome outcome = run(std::string("list ") + what);
    CHECK(outcome.code == 0);
    CHECK(outcome.output.size() > 100);
  }
}
