#include "scenarios/cli/options.hpp"

#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "scenarios/cli/terminal.hpp"

namespace ridgeline::cli {

namespace po = boost::program_options;

namespace {
constexpr const char* operand_key = "operand";
}

Options::Options(std::string command, std::string summary, std::string positional)
    : command_(std::move(command)), summary_(std::move(summary)), positional_(std::move(positional)), described_("Options", 110) {
  flag("help", "show this help");
}

void Options::value(const std::string& name, const std::string& placeholder, const std::string& description) {
  described_.add_options()(name.c_str(), po::value<std::string>()->value_name(placeholder), description.c_str());
}
void Options::values(const std::string& name, const std::string& placeholder, const std::string& description) {
  described_.add_options()(name.c_str(), po::value<std::vector<std::string>>()->value_name(placeholder), description.c_str());
}
void Options::flag(const std::string& name, const std::string& description) {
  described_.add_options()(name.c_str(), description.c_str());
}

std::string Options::help() const {
  std::ostringstream text;
  text << "ridgeline " << command_ << (positional_.empty() ? "" : " " + positional_) << " [OPTION]...\n\n" << summary_ << "\n\n" << described_;
  return text.str();
}

bool Options::parse(const Arguments& arguments) {
  po::options_description all;
  all.add(described_);
  all.add_options()(operand_key, po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add(operand_key, -1);
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positions).style(style).run(), parsed_);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const auto& option : described_.options()) names.push_back("--" + option->long_name());
    const std::string name = error.get_option_name();
    throw ConfigError(fmt::format("ridgeline {}: unknown option `{}`{}", command_, name, suggestion(name, names)));
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("ridgeline {}: {}", command_, error.what()));
  }
  if (has("help")) {
    print(help());
    return false;
  }
  operands_ = all_operands();
  if (positional_.empty() && !operands_.empty()) {
    throw ConfigError(fmt::format("ridgeline {}: unexpected argument `{}`", command_, operands_.front()));
  }
  return true;
}

std::vector<std::string> Options::all_operands() const {
  return parsed_.count(operand_key) > 0 ? parsed_[operand_key].as<std::vector<std::string>>() : std::vector<std::string>{};
}

const std::string& Options::operand() const {
  if (operands_.size() != 1) {
    throw ConfigError(fmt::format("ridgeline {}: expected one {}, got {}; see `ridgeline {} --help`", command_, positional_,
                                  operands_.empty() ? "none" : std::to_string(operands_.size()), command_));
  }
  return operands_.front();
}

std::optional<std::string> Options::get(const std::string& name) const {
  return has(name) ? std::optional(parsed_[name].as<std::string>()) : std::nullopt;
}

std::vector<std::string> Options::all(const std::string& name) const {
  return has(name) ? parsed_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

std::optional<std::int64_t> Options::integer(const std::string& name, std::int64_t least, std::int64_t most) const {
  const std::optional<std::string> text = get(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < least || value > most) {
    throw ConfigError(fmt::format("--{}: expected a whole number from {} to {}, got `{}`", name, least, most, *text));
  }
  return value;
}

void declare_scenario_options(Options& options) {
  options.values("set", "KEY=VALUE", "set a key of the scenario, like fleet[0].replicas=4; may be repeated");
  options.value("seed", "N", "seed of every random stream (replaces the scenario's)");
}

LoadOptions scenario_options(const Options& options) {
  LoadOptions load;
  load.overrides = options.all("set");
  if (const auto seed = options.integer("seed", 0, std::int64_t{1} << 53)) load.seed = static_cast<std::uint64_t>(*seed);
  return load;
}

}  // namespace ridgeline::cli
