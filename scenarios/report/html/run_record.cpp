#include "scenarios/report/html/run_record.hpp"

namespace ridgeline::html {

namespace {

std::vector<std::uint32_t> pool_of_each_replica(const std::vector<Pool>& fleet) {
  std::vector<std::uint32_t> pools;
  for (std::uint32_t pool = 0; pool < fleet.size(); ++pool) {
    pools.insert(pools.end(), static_cast<std::size_t>(fleet[pool].replicas), pool);
  }
  return pools;
}

}  // namespace

RunRecord::RunRecord(const Scenario& scenario) : history_(scenario.fleet.size(), pool_of_each_replica(scenario.fleet)) {}

void RunRecord::finished(const Request& request, Time now) {
  ttft_.add(request.first_token - request.sent);
  e2el_.add(now - request.sent);
  const std::int64_t gaps = request.spec.output.count() - 1;
  if (gaps > 0) tpot_.add((now - request.first_token) / gaps);
}

}  // namespace ridgeline::html
