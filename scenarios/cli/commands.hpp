// The commands of `ridgeline`. Each takes the arguments after its name and returns the exit code; mistakes are thrown.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cli {

using Arguments = std::vector<std::string>;

struct Command {
  std::string name;
  std::string usage;        ///< what follows the name
  std::string description;  ///< one line
  int (*run)(const Arguments& arguments);
};

/// In the order `ridgeline --help` lists them.
const std::vector<Command>& commands();

int run_command(const Arguments& arguments);
int explain_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);
int compare_command(const Arguments& arguments);
int plan_command(const Arguments& arguments);
int calibrate_command(const Arguments& arguments);
int validate_command(const Arguments& arguments);
int check_schedule_command(const Arguments& arguments);
int list_command(const Arguments& arguments);

}  // namespace ridgeline::cli
