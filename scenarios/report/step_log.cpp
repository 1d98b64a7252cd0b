#include "scenarios/report/step_log.hpp"

#include <iterator>

#include <fmt/format.h>

#include "scenarios/report/decimal.hpp"

namespace ridgeline {

namespace {

std::string_view phase_name(StepRow::Kind kind) {
  switch (kind) {
    case StepRow::Kind::prefill: return "prefill";
    case StepRow::Kind::decode: return "decode";
    case StepRow::Kind::preempted: return "preempted";
  }
  throw InternalError("a step row of an unknown phase");
}

}  // namespace

StepLog::StepLog(TextSink& sink) : sink_(sink) {
  sink_.write("time_s,pool,replica,step,request,phase,scheduled_tokens,computed_tokens,output_tokens,running,waiting,free_blocks\n");
}

void StepLog::step_done(const StepDone& fact) {
  if (fact.rows == nullptr) throw InternalError("a step log without rows");
  const std::string head = fmt::format("{},{},{},{}", seconds_text(fact.start), fact.pool.value(), fact.replica.value(), fact.step);
  const std::string tail = fmt::format("{},{},{}\n", fact.load.running, fact.load.waiting, fact.load.free_blocks);
  for (const StepRow& row : *fact.rows) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{},{},{},{},{},{},{}", head, row.request, phase_name(row.kind), row.scheduled.count(),
                   row.computed.count(), row.output.count(), tail);
    sink_.write(line_);
  }
}

}  // namespace ridgeline
