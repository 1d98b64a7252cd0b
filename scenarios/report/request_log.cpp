#include "scenarios/report/request_log.hpp"

#include <fmt/format.h>

#include "scenarios/report/csv_cell.hpp"
#include "scenarios/report/decimal.hpp"

namespace ridgeline {

RequestLog::RequestLog(TextSink& sink, std::vector<std::string> pool_names) : sink_(sink), pool_names_(std::move(pool_names)) {
  sink_.write("request,pool,replica,arrival_s,sent_s,first_token_s,finish_s,input_tokens,output_tokens,cached_tokens,preemptions,"
              "ttft_ms,tpot_ms,e2el_ms\n");
}

void RequestLog::finished(const Request& request, Time /*now*/) {
  const std::int64_t output = request.spec.output.count();
  const Duration decode = request.last_token - request.first_token;
  const std::string tpot = output > 1 ? milliseconds_text(Duration{decode.picoseconds() / (output - 1)}) : "";
  sink_.write(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", request.spec.row, csv_cell(pool_names_.at(request.pool)), request.replica,
                          seconds_text(request.spec.arrival), seconds_text(request.sent), seconds_text(request.first_token),
                          seconds_text(request.last_token), request.spec.input.count(), output, request.cached_prompt.count(),
                          request.preemptions, milliseconds_text(request.first_token - request.sent), tpot,
                          milliseconds_text(request.last_token - request.sent)));
}

}  // namespace ridgeline
