// Command-line parsing on Boost.Program_options, with our own messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "scenarios/cli/commands.hpp"
#include "scenarios/load/load_scenario.hpp"

namespace ridgeline::cli {

/// The options of one command, parsed.
class Options {
 public:
  /// `positional` names what may stand without a dash ("SCENARIO.yaml"); empty when nothing may.
  Options(std::string command, std::string summary, std::string positional);

  /// Declares an option with a value.
  void value(const std::string& name, const std::string& placeholder, const std::string& description);
  /// Declares an option that may be given several times.
  void values(const std::string& name, const std::string& placeholder, const std::string& description);
  void flag(const std::string& name, const std::string& description);

  /// False: help was asked for and printed. Throws ConfigError for unknown options (with near matches) and missing values.
  bool parse(const Arguments& arguments);

  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }
  /// The only operand; throws ConfigError when there are none or several.
  [[nodiscard]] const std::string& operand() const;
  [[nodiscard]] std::optional<std::string> get(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> all(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return parsed_.count(name) > 0; }
  /// Throws ConfigError naming the option when its value is not a whole number in [least, most].
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most) const;

 private:
  [[nodiscard]] std::string help() const;
  [[nodiscard]] std::vector<std::string> all_operands() const;

  std::string command_;
  std::string summary_;
  std::string positional_;
  boost::program_options::options_description described_;
  boost::program_options::variables_map parsed_;
  std::vector<std::string> operands_;
};

/// `--set` and `--seed`, which every command that reads a scenario has.
void declare_scenario_options(Options& options);
LoadOptions scenario_options(const Options& options);

}  // namespace ridgeline::cli
