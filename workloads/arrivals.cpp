#include "workloads/arrivals.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ridgeline {

namespace {

using Process = ArrivalConfig::Process;

const std::vector<std::string> process_names{"poisson", "gamma", "weibull", "constant", "all_at_once", "ramp", "steps"};
const std::string& name_of(Process process) { return process_names[static_cast<std::size_t>(process)]; }

// Rates above one per picosecond could not be told apart.
constexpr Range any_rate{0.0, 1e12, true};

// A rate that may be written `inf`, as vLLM does for "all at once".
bool is_infinite(const std::optional<Config>& node) {
  return node && node->is_scalar() && (node->scalar() == "inf" || node->scalar() == ".inf");
}

void read_ramp(MapReader& map, ArrivalConfig& config) {
  config.ramp_up_start_rps = map.require<RequestsPerSecond>("ramp_up_start_rps", {0.0, 1e12});
  config.ramp_up_end_rps = map.require<RequestsPerSecond>("ramp_up_end_rps", any_rate);
  config.ramp_up_time = map.require<Duration>("ramp_up_time", positive);
  config.ramp_up_exponential = map.choice("ramp_up_strategy", "linear", {"linear", "exponential"}) == "exponential";
  if (config.ramp_up_exponential && config.ramp_up_start_rps.count() <= 0.0 && map.has("ramp_up_start_rps")) {
    map.mistake("ramp_up_start_rps", "an exponential ramp cannot start at 0");
  }
}

void read_steps(MapReader& map, ArrivalConfig& config) {
  config.rates = map.list<RequestsPerSecond>("rates", {0.0, 1e12});
  config.durations = map.list<Duration>("durations", positive);
  config.repeat = map.get<bool>("repeat", false);
  if (!map.has("rates")) map.mistake("rates", "is missing");
  if (!map.has("durations")) map.mistake("durations", "is missing");
  if (!map.has("rates") || !map.has("durations")) return;
  if (config.rates.size() != config.durations.size()) {
    map.mistake("durations", fmt::format("{} durations for {} rates", config.durations.size(), config.rates.size()));
  }
  if (std::all_of(config.rates.begin(), config.rates.end(),
                  [](RequestsPerSecond rate) { return rate.count() == 0.0; })) {
    map.mistake("rates", "every rate is 0: no request ever arrives");
  }
}

// Reads the keys of the process; every key a process may have is asked for, so that only strangers are unknown.
class ArrivalReader {
 public:
  ArrivalReader(MapReader& workload, const std::optional<ArrivalConfig>& preset, Diagnostics& errors)
      : errors_(errors),
        node_(workload.child("arrival")),
        map_(node_ && !node_->is_scalar() ? *node_ : Config::make_map(workload.node().where(), workload.node().path()),
             errors),
        preset_(preset),
        rate_(either(workload, "request_rate")),
        burstiness_(either(workload, "burstiness")) {}

  ArrivalConfig read() {
    const Process process = read_process();
    if (preset_ && preset_->process == process) config_ = *preset_;
    config_.process = process;
    if (process <= Process::constant) {
      read_rate();
      if (process != Process::constant) config_.rescale = map_.get<bool>("rescale", config_.rescale);
    } else if (rate_ && !(process == Process::all_at_once && is_infinite(rate_))) {
      errors_.add(rate_->mistake(fmt::format("the process {} has no request_rate", name_of(process))));
    }
    read_burstiness();
    if (process == Process::weibull) config_.shape = map_.require<double>("shape", {0.05, 100.0});
    if (process == Process::ramp) read_ramp(map_, config_);
    if (process == Process::steps) read_steps(map_, config_);
    map_.done();
    return config_;
  }

 private:
  std::optional<Config> either(MapReader& workload, std::string_view key) {
    const std::optional<Config> inner = map_.child(key), outer = workload.child(key);
    if (inner && outer) map_.mistake(key, "is given twice: here and in `workload`");
    return inner ? inner : outer;
  }

  Process read_process() {
    std::string process = default_process();
    if (node_ && node_->is_scalar()) {
      process = node_->scalar();  // `arrival: poisson` is short for `arrival: {process: poisson}`
      if (std::find(process_names.begin(), process_names.end(), process) == process_names.end()) {
        errors_.add(node_->mistake("unknown arrival process `" + process + "`" + suggestion(process, process_names)));
        process = "all_at_once";
      }
    } else {
      process = map_.choice("process", process, process_names);
    }
    return static_cast<Process>(std::find(process_names.begin(), process_names.end(), process) - process_names.begin());
  }

  // vLLM's rules: an infinite rate is all at once, burstiness makes a gamma process of a Poisson process.
  [[nodiscard]] std::string default_process() const {
    if (is_infinite(rate_)) return "all_at_once";
    if (preset_ && (!burstiness_ || takes_burstiness(preset_->process))) return name_of(preset_->process);
    return burstiness_ ? "gamma" : "poisson";
  }
  static bool takes_burstiness(Process process) {
    return process == Process::gamma || process == Process::ramp || process == Process::steps;
  }

  void read_rate() {
    if (rate_) {
      config_.request_rate = read_value<RequestsPerSecond>(*rate_, errors_, any_rate).value_or(RequestsPerSecond{1.0});
    } else if (preset_) {
      config_.request_rate = preset_->request_rate;
    }
    if (!rate_ && config_.request_rate.count() <= 0.0)
      map_.mistake("request_rate", "is missing: how many requests per second arrive");
  }

  void read_burstiness() {
    if (burstiness_) {
      if (!takes_burstiness(config_.process)) {
        errors_.add(burstiness_->mistake(
            fmt::format("the process {} has no burstiness; `gamma` has", name_of(config_.process))));
      }
      config_.burstiness = read_value<double>(*burstiness_, errors_, {1e-4, 1e6}).value_or(1.0);
    } else if (config_.process == Process::gamma && !(preset_ && preset_->process == Process::gamma)) {
      map_.mistake("burstiness", "is missing: the gamma shape (1 = Poisson, below 1 = burstier)");
    }
  }

  Diagnostics& errors_;
  std::optional<Config> node_;
  MapReader map_;
  const std::optional<ArrivalConfig>& preset_;
  std::optional<Config> rate_, burstiness_;
  ArrivalConfig config_;
};

}  // namespace

ArrivalConfig read_arrivals(MapReader& workload, const std::optional<ArrivalConfig>& preset, Diagnostics& errors) {
  return ArrivalReader(workload, preset, errors).read();
}

std::string to_yaml(const ArrivalConfig& arrivals) {
  std::string text = "{process: " + name_of(arrivals.process);
  const auto rates = [](const std::vector<RequestsPerSecond>& list) {
    std::vector<double> values;
    for (const RequestsPerSecond rate : list) values.push_back(rate.count());
    return fmt::format("[{}]", fmt::join(values, ", "));
  };
  switch (arrivals.process) {
    case Process::poisson:
    case Process::gamma:
    case Process::weibull:
    case Process::constant:
      text += fmt::format(", request_rate: {}", arrivals.request_rate.count());
      if (arrivals.process == Process::gamma) text += fmt::format(", burstiness: {}", arrivals.burstiness);
      if (arrivals.process == Process::weibull) text += fmt::format(", shape: {}", arrivals.shape);
      if (arrivals.process != Process::constant) text += fmt::format(", rescale: {}", arrivals.rescale);
      break;
    case Process::all_at_once: break;
    case Process::ramp:
      text += fmt::format(
          ", ramp_up_start_rps: {}, ramp_up_end_rps: {}, ramp_up_time: {} s, ramp_up_strategy: {}, burstiness: {}",
          arrivals.ramp_up_start_rps.count(), arrivals.ramp_up_end_rps.count(), arrivals.ramp_up_time.seconds(),
          arrivals.ramp_up_exponential ? "exponential" : "linear", arrivals.burstiness);
      break;
    case Process::steps: {
      std::vector<std::string> durations;
      for (const Duration duration : arrivals.durations) durations.push_back(fmt::format("{} s", duration.seconds()));
      text += fmt::format(", rates: {}, durations: [{}], repeat: {}, burstiness: {}", rates(arrivals.rates),
                          fmt::join(durations, ", "), arrivals.repeat, arrivals.burstiness);
      break;
    }
  }
  return text + "}";
}

std::string describe(const ArrivalConfig& arrivals) {
  switch (arrivals.process) {
    case Process::poisson: return fmt::format("Poisson arrivals at {:.4g}/s", arrivals.request_rate.count());
    case Process::gamma:
      return fmt::format("gamma arrivals at {:.4g}/s, burstiness {:.4g}", arrivals.request_rate.count(),
                         arrivals.burstiness);
    case Process::weibull:
      return fmt::format("Weibull arrivals at {:.4g}/s, shape {:.4g}", arrivals.request_rate.count(), arrivals.shape);
    case Process::constant: return fmt::format("one arrival every {:.4g} s", 1.0 / arrivals.request_rate.count());
    case Process::all_at_once: return "all requests at once";
    case Process::ramp:
      return fmt::format("arrivals ramp from {:.4g}/s to {:.4g}/s within {:.4g} s", arrivals.ramp_up_start_rps.count(),
                         arrivals.ramp_up_end_rps.count(), arrivals.ramp_up_time.seconds());
    case Process::steps:
      return fmt::format("arrivals in {} steps of rate{}", arrivals.rates.size(), arrivals.repeat ? ", repeated" : "");
  }
  return {};
}

}  // namespace ridgeline
