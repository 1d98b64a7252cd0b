// `ridgeline sweep` killed, resumed and run side by side: the same bytes whatever happens.
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "sim/base/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

using namespace ridgeline::test;

namespace {

// 40 points of a few hundredths of a second each.
const std::string forty =
    "name: forty\nengine: {max_model_len: 4096, num_gpu_blocks_override: 1000}\nfleet: [{}]\ncost: {model: constant, step_time: 1 ms}\n"
    "workload: {request_rate: 50, num_prompts: 4000, input_tokens: {distribution: uniform, min: 8, max: 64}, output_tokens: 8}\n"
    "sweep:\n  workload.request_rate: {from: 20, to: 400, steps: 10}\n  engine.max_num_seqs: [4, 16, 64, 0]\n"
    "  skip: [engine.max_num_seqs == 64 and workload.request_rate > 300]\n";

struct Files {
  std::string db, csv;
};

std::string command_for(const std::string& scenario, const Files& files, int jobs) {
  return "sweep " + scenario + " --db " + files.db + " --csv " + files.csv + " --jobs " + std::to_string(jobs);
}

// Starts the sweep, kills it after `wait`; true when the kill found it alive.
bool killed_after(std::chrono::microseconds wait, const std::string& scenario, const Files& files) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int silence = ::open("/dev/null", O_WRONLY);
    ::dup2(silence, STDOUT_FILENO);
    ::execl(RIDGELINE_BINARY, RIDGELINE_BINARY, "sweep", scenario.c_str(), "--db", files.db.c_str(), "--csv", files.csv.c_str(), "--jobs", "2",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  std::this_thread::sleep_for(wait);
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status);
}

}  // namespace

TEST_CASE("Killed ten times at random, a sweep ends with the same bytes; so do one thread and two") {
  const Folder folder;
  const std::string scenario = folder.write("forty.yaml", forty);
  const Files whole{folder.file("whole.db"), folder.file("whole.csv")};
  REQUIRE(run(command_for(scenario, whole, 1) + " > /dev/null").code == 0);
  const std::string csv = content(whole.csv);
  const std::string db = content(whole.db);
  CHECK(csv.find(",ok,") != std::string::npos);
  CHECK(csv.find(",skipped,") != std::string::npos);
  CHECK(csv.find(",infeasible,") != std::string::npos);
  REQUIRE(db.size() > 4096);

  const Files two{folder.file("two.db"), folder.file("two.csv")};
  REQUIRE(run(command_for(scenario, two, 2) + " > /dev/null").code == 0);
  CHECK(content(two.csv) == csv);
  CHECK(content(two.db) == db);

  ridgeline::RandomStream random(20, "sweep", "kill");
  const Files killed{folder.file("killed.db"), folder.file("killed.csv")};
  int kills = 0;
  for (int i = 0; i < 10; ++i) {
    kills += killed_after(std::chrono::microseconds(static_cast<int>(20'000 + random.uniform() * 130'000)), scenario, killed) ? 1 : 0;
  }
  CHECK(kills > 0);
  REQUIRE(run(command_for(scenario, killed, 2) + " > /dev/null").code == 0);
  CHECK(content(killed.csv) == csv);
  CHECK(content(killed.db) == db);

  // All points are stored: now the kills hit the reading and the last writing of the file.
  for (int i = 0; i < 10; ++i) (void)killed_after(std::chrono::microseconds(static_cast<int>(random.uniform() * 60'000)), scenario, killed);
  REQUIRE(run(command_for(scenario, killed, 1) + " > /dev/null").code == 0);
  CHECK(content(killed.csv) == csv);
  CHECK(content(killed.db) == db);
  CHECK(folder.entries() == 7);  // nothing is left beside the scenario and the three pairs of files
}

TEST_CASE("Two processes on one file: one works, the other is told, and the file is whole") {
  const Folder folder;
  const std::string scenario = folder.write("forty.yaml", forty);
  const Files files{folder.file("s.db"), folder.file("s.csv")};
  const std::string both = run(command_for(scenario, files, 1) + " > /dev/null 2> " + folder.file("first") + " & " + RIDGELINE_BINARY + " " +
                               command_for(scenario, {files.db, folder.file("t.csv")}, 1) + " > /dev/null 2> " + folder.file("second") + "; wait").output;
  const std::string messages = content(folder.file("first")) + content(folder.file("second"));
  INFO(both << messages);
  // On a busy machine the one may end before the other begins; then both are right.
  CHECK((messages.empty() || messages.find("s.db: in use by another ridgeline process") != std::string::npos));
  const Files alone{folder.file("alone.db"), folder.file("alone.csv")};
  REQUIRE(run(command_for(scenario, alone, 1) + " > /dev/null").code == 0);
  CHECK(content(files.db) == content(alone.db));
}

TEST_CASE("Wrong sweeps exit with 1 and say why") {
  const Folder folder;
  const std::string text = folder.write("notes.txt", std::string(200, 'x'));
  const std::string scenario = folder.write("forty.yaml", forty);
  struct Row {
    std::string arguments;
    const char* message;
  };
  for (const Row& row : {Row{scenario + " --db " + text, "notes.txt: is not an SQLite database"}, Row{scenario + " --db -", "--db: expected the name of a file"},
                         Row{scenario + " --db " + folder.file("no/s.db"), "cannot create"}, Row{scenario + " --jobs 0", "--jobs: expected a whole number"},
                         Row{scenario + " --set 'sweep.skip=[engine.max_seqs == 4]'", "no point has a key `engine.max_seqs`"},
                         Row{scenario + " --set 'sweep.skip=[engine.max_num_seqs >]'", "at column 22: expected a key"}}) {
    INFO(row.arguments);
    const Outcome outcome = run("sweep " + row.arguments + " 2>&1");
    INFO(outcome.output);
    CHECK(outcome.code == 1);
    CHECK(outcome.output.find(row.message) != std::string::npos);
  }
}

TEST_CASE("Progress: plain lines away from a terminal, and silence on demand") {
  const Folder folder;
  const std::string scenario = folder.write("forty.yaml", forty);
  CHECK(run("sweep " + scenario + " --progress never 2>&1 >/dev/null").output.empty());
  CHECK(run("sweep " + scenario + " --progress sometimes 2>&1").output.find("expected auto, always or never") != std::string::npos);
}
