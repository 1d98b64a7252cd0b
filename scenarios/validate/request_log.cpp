#include "scenarios/validate/request_log.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hardware/csv_table.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

constexpr const char* client_columns[] = {"send_us", "input_tokens", "output_tokens", "ttft_ms", "e2e_ms"};
constexpr const char* server_columns[] = {"model", "tp", "input_tokens", "output_tokens", "queued_s", "first_token_s", "last_token_s"};

template <std::size_t N>
bool has_all(const CsvTable& table, const char* const (&columns)[N]) {
  return std::all_of(std::begin(columns), std::end(columns), [&](const char* column) { return table.has(column); });
}

// A row's numbers, every one of them required.
struct Cells {
  const CsvTable& table;
  CsvTable::Row row;

  double operator()(const char* column) const {
    const auto value = row.number(column);
    if (value && *value >= 0.0) return *value;
    throw ConfigError(Diagnostic{{table.file(), row.line(), 0}, column, fmt::format("expected a number, got `{}`", row.text(column))});
  }
};

RequestLogFile& log_of(std::vector<RequestLogFile>& logs, const CsvTable& table, const CsvTable::Row& row, int tp) {
  const std::string model(row.text("model")), label = fmt::format("{} tp{}", model, tp);
  const auto known = std::find_if(logs.begin(), logs.end(), [&](const RequestLogFile& log) { return log.label == label; });
  if (known != logs.end()) return *known;
  return logs.emplace_back(RequestLogFile{table.file(), label, model, std::string(row.text("gpu")), tp, {}});
}

}  // namespace

std::vector<RequestLogFile> read_request_logs(const std::filesystem::path& file) {
  const CsvTable table = CsvTable::load(file);
  const bool client = has_all(table, client_columns), server = has_all(table, server_columns);
  if (!client && !server) {
    throw ConfigError(Diagnostic{{table.file(), 1, 1}, {}, "no request log: expected the columns send_us, input_tokens, output_tokens, ttft_ms, e2e_ms, or "
                                 "model, tp, input_tokens, output_tokens, queued_s, first_token_s, last_token_s"});
  }
  std::vector<RequestLogFile> logs;
  if (client) logs.push_back({table.file(), {}, {}, {}, 0, {}});
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Cells cell{table, table.row(i)};
    LoggedRequest request{.line = cell.row.line(), .input = std::llround(cell("input_tokens")), .output = std::llround(cell("output_tokens"))};
    if (request.output < 1 || request.input < 1) continue;
    if (client) {
      request.sent_s = cell("send_us") * 1e-6, request.ttft = cell("ttft_ms"), request.e2e = cell("e2e_ms");
      logs.front().requests.push_back(request);
    } else {
      request.sent_s = cell("queued_s");
      request.ttft = (cell("first_token_s") - request.sent_s) * 1e3, request.e2e = (cell("last_token_s") - request.sent_s) * 1e3;
      log_of(logs, table, cell.row, static_cast<int>(cell("tp"))).requests.push_back(request);
    }
  }
  for (RequestLogFile& log : logs) {
    std::stable_sort(log.requests.begin(), log.requests.end(), [](const LoggedRequest& a, const LoggedRequest& b) { return a.sent_s < b.sent_s; });
    if (log.requests.empty()) throw ConfigError(Diagnostic{{table.file(), 1, 0}, {}, "has no requests"});
  }
  return logs;
}

}  // namespace ridgeline
