// ridgeline validate operators|serving|requests|schedules FILE...
#include <algorithm>

#include <fmt/format.h>

#include "hardware/validate_operators.hpp"
#include "scenarios/cli/commands.hpp"
#include "scenarios/cli/options.hpp"
#include "scenarios/cli/outputs.hpp"
#include "scenarios/cli/terminal.hpp"
#include "scenarios/cli/validate_runs.hpp"
#include "scenarios/report/csv_cell.hpp"
#include "scenarios/report/text.hpp"

namespace ridgeline::cli {

namespace {

std::string groups_text(const OperatorValidation& validation) {
  TextTable table;
  table.add({"gpu", "operator", "dtype", "source", "rows", "MAPE", "median", "p90", "pure roofline"});
  for (const OperatorGroup& group : validation.groups) {
    table.add({group.gpu, group.op, group.dtype, group.source, grouped(static_cast<std::int64_t>(group.rows)), percent(group.mape),
               percent(group.median), percent(group.p90), percent(group.roofline_mape)});
  }
  return table.text();
}

std::string worst_text(const OperatorValidation& validation) {
  std::string text = "\nworst rows of each group\n";
  for (const OperatorGroup& group : validation.groups) {
    text += fmt::format("  {} {} {} {}\n", group.gpu, group.op, group.dtype, group.source);
    for (const std::size_t index : group.worst) {
      const ValidatedRow& row = validation.rows[index];
      text += fmt::format("    {:+.1f} %  {}  measured {} us, predicted {} us  ({}:{})\n", row.error() * 100, row.shape,
                          figure(row.measured.microseconds()), figure(row.predicted.microseconds()), row.file, row.line);
    }
  }
  return text;
}

std::string skipped_text(const OperatorValidation& validation) {
  std::string text;
  for (const SkippedRows& skipped : validation.skipped) {
    text += fmt::format("  {} rows not priced: {}\n", grouped(static_cast<std::int64_t>(skipped.rows)), skipped.reason);
  }
  return text.empty() ? "" : "\n" + text;
}

std::string rows_csv(const OperatorValidation& validation) {
  std::string text = "file,line,gpu,op,dtype,source,label,shape,measured_us,predicted_us,roofline_us,error,provenance\n";
  for (const ValidatedRow& row : validation.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(row.file), row.line, csv_cell(row.gpu), csv_cell(row.op),
                        csv_cell(row.dtype), csv_cell(row.source), csv_cell(row.label), csv_cell(row.shape), row.measured.microseconds(),
                        row.predicted.microseconds(), row.roofline.microseconds(), row.error(), to_string(row.provenance));
  }
  return text;
}

int validate_operators_command(const Arguments& arguments) {
  Options options("validate operators", "Prices every row of CSV files with measured operator times.", "FILE.csv...");
  options.value("json", "FILE", "write the groups as JSON; - for standard output");
  options.value("rows", "FILE", "write every row, measured and predicted, as CSV");
  options.flag("worst", "print the five worst rows of each group");
  if (!options.parse(arguments)) return 0;
  const std::vector<std::string>& files = options.operands();
  if (files.empty()) throw ConfigError("ridgeline validate operators: expected CSV files");

  Outputs outputs;
  AtomicFile* json = outputs.open(options.get("json"));
  AtomicFile* rows = outputs.open(options.get("rows"));
  const OperatorValidation validation = validate_operators({files.begin(), files.end()});
  if (json != nullptr) json->write(to_json(validation) + "\n");
  if (rows != nullptr) rows->write(rows_csv(validation));
  if (!outputs.uses_standard_output()) {
    print(groups_text(validation) + (options.has("worst") ? worst_text(validation) : "") + skipped_text(validation));
  }
  outputs.commit();
  return 0;
}

struct Kind {
  std::string_view name;
  std::string_view description;
  int (*run)(const Arguments& arguments);
};
constexpr Kind kinds[] = {
    {"operators", "operator times (hardware campaigns) against the price models", validate_operators_command},
    {"serving", "published benchmark rows: each row's scenario is built and run", validate_serving_command},
    {"requests", "per-request logs, replayed through a scenario's fleet", validate_requests_command},
    {"schedules", "step logs against expected ones (the same as check-schedule)", check_schedule_command},
};

std::string help() {
  std::string text = "ridgeline validate KIND FILE... [OPTION]...\n\nCompares predictions with measurements.\n\n";
  for (const Kind& kind : kinds) text += fmt::format("  {:<10} {}\n", kind.name, kind.description);
  return text + "\n`ridgeline validate KIND --help` lists the options.\n";
}

}  // namespace

int validate_command(const Arguments& arguments) {
  if (arguments.empty()) throw ConfigError("ridgeline validate: expected `operators`, `serving`, `requests` or `schedules`, and files");
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") {
    print(help());
    return 0;
  }
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind.run({arguments.begin() + 1, arguments.end()});
    names.emplace_back(kind.name);
  }
  throw ConfigError("ridgeline validate: nothing called `" + name + "`" + suggestion(name, names));
}

}  // namespace ridgeline::cli
