#include "scenarios/validate/requests.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "scenarios/build/replay.hpp"

namespace ridgeline {

namespace {

class LogSource final : public WorkloadSource {
 public:
  explicit LogSource(const RequestLogFile& log) : log_(log) {}
  Time next_arrival() override { return next_ < log_.requests.size() ? arrival(log_.requests[next_]) : Time::max(); }

 private:
  // Shifted by the client's overhead as a whole, which changes nothing inside.
  static Time arrival(const LoggedRequest& logged) { return Time{Duration::seconds(logged.sent_s)}; }

  std::optional<RequestSpec> produce() override {
    if (next_ == log_.requests.size()) return std::nullopt;
    const LoggedRequest& logged = log_.requests[next_];
    RequestSpec request;
    request.row = static_cast<std::int64_t>(next_++);
    request.arrival = arrival(logged);
    request.input = Tokens{logged.input};
    request.output = request.max_tokens = Tokens{logged.output};
    return request;
  }
  void annotate(WorkloadNotes& notes) const override { notes.description = "replay of " + log_.file; }

  const RequestLogFile& log_;
  std::size_t next_ = 0;
};

class LatencyObserver final : public Observer {
 public:
  explicit LatencyObserver(std::vector<ReplayedRequest>& requests) : requests_(requests) {}
  void finished(const Request& request, Time) override {
    ReplayedRequest& replayed = requests_.at(static_cast<std::size_t>(request.spec.row));
    replayed.ttft = (request.first_token - request.sent).milliseconds();
    replayed.e2e = (request.last_token - request.sent).milliseconds();
  }

 private:
  std::vector<ReplayedRequest>& requests_;
};

double tpot(double ttft, double e2e, std::int64_t output) { return (e2e - ttft) / static_cast<double>(output - 1); }

struct Latency {
  const char* name;
  double (*measured)(const ReplayedRequest&);
  double (*predicted)(const ReplayedRequest&);
};
constexpr Latency latencies[] = {
    {"ttft", [](const ReplayedRequest& r) { return r.logged.ttft; }, [](const ReplayedRequest& r) { return r.ttft; }},
    {"tpot", [](const ReplayedRequest& r) { return tpot(r.logged.ttft, r.logged.e2e, r.logged.output); },
     [](const ReplayedRequest& r) { return tpot(r.ttft, r.e2e, r.logged.output); }},
    {"e2e", [](const ReplayedRequest& r) { return r.logged.e2e; }, [](const ReplayedRequest& r) { return r.e2e; }},
};

std::vector<double> sorted_values(const ReplayedLog& log, const Latency& latency, double (*of)(const ReplayedRequest&)) {
  std::vector<double> values;
  for (const ReplayedRequest& request : log.requests) {
    if (latency.name == std::string_view("tpot") && request.logged.output < 2) continue;
    values.push_back(of(request));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

const std::vector<double>& compared_quantiles() {
  static const std::vector<double> quantiles{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99};
  return quantiles;
}

ReplayedLog replay(const RequestLogFile& log, const Scenario& scenario, Duration client_overhead) {
  Scenario replayed = scenario;
  replayed.workload.max_concurrency.reset();
  ReplayedLog result{log.file, log.label, false, {}};
  for (const LoggedRequest& request : log.requests) result.requests.push_back({request});
  LogSource source(log);
  LatencyObserver observer(result.requests);
  result.saturated = run_with(replayed, source, {.observers = {&observer}}).metrics.saturated;
  for (ReplayedRequest& request : result.requests) request.ttft += client_overhead.milliseconds(), request.e2e += client_overhead.milliseconds();
  return result;
}

FigureValidation quantile_figures(const std::vector<ReplayedLog>& logs, const Scenario& scenario) {
  const Pool& pool = scenario.fleet.front();
  FigureValidation validation;
  for (const ReplayedLog& log : logs) {
    ValidatedFigure figure{.file = log.file, .id = log.label, .gpu = pool.gpu ? pool.gpu->name : "", .engine = pool.engine.profile,
                           .model = pool.model ? pool.model->name : "", .kind = pool.model && pool.model->moe ? "moe" : "dense",
                           .tp = pool.tensor_parallel_size};
    for (const Latency& latency : latencies) {
      const std::vector<double> measured = sorted_values(log, latency, latency.measured);
      const std::vector<double> predicted = sorted_values(log, latency, latency.predicted);
      if (measured.empty()) continue;
      for (const double share : compared_quantiles()) {
        figure.metric = latency.name;
        figure.quality = fmt::format("p{:.0f}", share * 100);
        figure.measured = quantile(measured, share), figure.predicted = quantile(predicted, share);
        if (figure.measured <= 0.0) continue;
        validation.figures.push_back(figure);
        if (share != 0.5) continue;
        figure.metric += "_median";
        validation.figures.push_back(figure);
      }
    }
  }
  return validation;
}

std::vector<ReplayedRequest> worst_requests(const ReplayedLog& log, std::size_t count) {
  std::vector<ReplayedRequest> worst = log.requests;
  const auto error = [](const ReplayedRequest& r) { return std::abs(r.e2e / std::max(r.logged.e2e, 1e-9) - 1.0); };
  std::stable_sort(worst.begin(), worst.end(), [&](const ReplayedRequest& a, const ReplayedRequest& b) { return error(a) > error(b); });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

}  // namespace ridgeline
