// The entry point: picks the command, prints mistakes, decides the exit code. 0 done, 1 the input is wrong, 2 our bug.
#include <csignal>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/report/version.hpp"
#include "sim/base/error.hpp"

namespace ridgeline::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> rows{
      {"run", "SCENARIO.yaml", "simulate a scenario: latencies, throughput, goodput, cost", run_command},
      {"explain", "SCENARIO.yaml | --model M --gpu G", "where the time of a prefill and a decode step goes, and the memory", explain_command},
      {"sweep", "SCENARIO.yaml", "run every point of the scenario's `sweep:` and `alternatives:`", sweep_command},
      {"compare", "A.yaml B.yaml ...", "run several scenarios on the same requests, side by side", compare_command},
      {"plan", "SCENARIO.yaml", "the highest rate a fleet serves, the cheapest fleet for a load, the Pareto front", plan_command},
      {"calibrate", "MEASUREMENTS.csv... --out FILE.yaml", "fit operator prices to measurements", calibrate_command},
      {"validate", "operators|serving|requests FILE.csv...", "compare predictions with measurements", validate_command},
      {"check-schedule", "CASE_DIR...", "compare step logs with expected ones, step by step", check_schedule_command},
      {"list", "gpus|models|engines|schedulers|routers|workloads|links", "what the catalogs hold", list_command},
  };
  return rows;
}

namespace {

std::string help() {
  std::string text =
      "ridgeline simulates fleets of GPUs that serve large language models: which latency, throughput and\n"
      "cost a fleet gives, what limits it, and which fleet to buy instead.\n\n"
      "usage: ridgeline COMMAND ...\n\n";
  for (const Command& command : commands()) text += fmt::format("  {:<15} {}\n", command.name, command.description);
  text +=
      "\nStart with   ridgeline run scenarios/h100-vs-a100.yaml\n"
      "       or   ridgeline explain --model llama-3.1-8b --gpu h100-sxm-80gb\n"
      "`ridgeline COMMAND --help` lists a command's options.\n"
      "Exit codes: 0 done; 1 the input is wrong (the message says where); 2 a bug of ridgeline.\n";
  return text;
}

// A closed standard stream must not become the number of the next file that is opened. Read-only, so that writing still fails.
void hold_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h" || arguments.front() == "help") {
    print(help());
    return arguments.empty() ? 1 : 0;
  }
  if (arguments.front() == "--version") {
    print(fmt::format("ridgeline {}\n", version()));
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == arguments.front()) return command.run({arguments.begin() + 1, arguments.end()});
    names.push_back(command.name);
  }
  throw ConfigError("unknown command `" + arguments.front() + "`" + suggestion(arguments.front(), names));
}

}  // namespace
}  // namespace ridgeline::cli

int main(int argc, char* argv[]) {
  using namespace ridgeline;
  cli::hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is reported like a full disk
  const auto our_bug = [](const char* what) {
    cli::complain(fmt::format("ridgeline {}: internal error: {}\nThis is a bug of ridgeline, not of your input. Please report it with the "
                              "command line and the scenario.\n", version(), what));
    return 2;
  };
  try {
    return cli::dispatch({argv + 1, argv + argc});
  } catch (const ConfigError& error) {
    cli::complain(std::string(error.what()) + "\n");
    return 1;
  } catch (const std::exception& error) {
    return our_bug(error.what());
  } catch (...) {
    return our_bug("an unknown exception");
  }
}
