// ridgeline check-schedule CASE_DIR...
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "scenarios/build/run.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/load/load_scenario.hpp"
#include "scenarios/load/schedule_case.hpp"
#include "scenarios/report/step_log.hpp"

namespace ridgeline::cli {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> expected_lines(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw ConfigError(Diagnostic{{file.string()}, {}, "cannot be read"});
  return lines_of(in);
}

std::vector<std::string> simulated_lines(const fs::path& folder) {
  const Scenario scenario = resolve_scenario(schedule_case_document(folder));
  MemorySink sink;
  StepLog log(sink);
  (void)run(scenario, {.observers = {&log}, .log_steps = true});
  std::istringstream in(sink.text());
  return lines_of(in);
}

// Empty when equal, else the first line that differs.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& simulated) {
  for (std::size_t i = 0; i < std::max(expected.size(), simulated.size()); ++i) {
    const std::string& want = i < expected.size() ? expected[i] : "(end)";
    const std::string& got = i < simulated.size() ? simulated[i] : "(end)";
    if (want != got) return fmt::format("line {}\n    expected  {}\n    simulated {}", i + 1, want, got);
  }
  return {};
}

}  // namespace

int check_schedule_command(const Arguments& arguments) {
  Options options("check-schedule", "Runs case folders (config.json, requests.csv) with a constant step time and compares the step log with the\n"
                  "folder's expected.csv, line by line. Exit code 1 when one differs.", "CASE_DIR...");
  options.flag("quiet", "print only the cases that differ, and the sum");
  if (!options.parse(arguments)) return 0;
  if (options.operands().empty()) throw ConfigError("ridgeline check-schedule: expected case folders");
  std::size_t equal = 0;
  for (const std::string& folder : options.operands()) {
    std::string why;
    try {
      why = difference(expected_lines(fs::path(folder) / "expected.csv"), simulated_lines(folder));
    } catch (const ConfigError& error) {
      why = error.what();
    }
    if (why.empty()) ++equal;
    if (!why.empty()) print(fmt::format("DIFFERS  {}: {}\n", folder, why));
    else if (!options.has("quiet")) print(fmt::format("equal    {}\n", folder));
  }
  print(fmt::format("{} of {} cases equal\n", equal, options.operands().size()));
  return equal == options.operands().size() ? 0 : 1;
}

}  // namespace ridgeline::cli
