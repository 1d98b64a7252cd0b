#include "workloads/servegen.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/random/gamma_distribution.hpp>
#include <boost/random/weibull_distribution.hpp>
#include <fmt/format.h>

#include "workloads/draws.hpp"
#include "workloads/files.hpp"
#include "workloads/servegen_clients.hpp"
#include "workloads/source.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

ServegenConfig read_servegen(const Config& node, Diagnostics& errors) {
  ServegenConfig servegen;
  std::optional<Config> folder = node;
  if (!node.is_scalar()) {
    MapReader map(node, errors);
    folder = map.require_child("folder");
    servegen.start = map.get<Duration>("start", Duration{}, non_negative);
    servegen.end = map.get<Duration>("end", Duration{}, positive);
    servegen.rate_scale = map.get<double>("rate_scale", 1.0, {1e-9, 1e9});
    if (map.has("end") && servegen.end <= servegen.start) map.mistake("end", "is not after `start`");
    map.done();
  }
  if (!folder) return servegen;
  if (!folder->is_scalar()) {
    errors.add(folder->mistake("expected the name of a folder"));
    return servegen;
  }
  servegen.folder = find_file(folder->scalar(), folder->where().file);
  try {
    (void)read_servegen_clients(servegen.folder);
  } catch (const ConfigError& error) {
    for (Diagnostic diagnostic : error.diagnostics()) {
      diagnostic.key = folder->path();
      errors.add(std::move(diagnostic));
    }
  }
  return servegen;
}

std::string to_yaml(const ServegenConfig& servegen) {
  std::string text = fmt::format("{{folder: {}, start: {} s", quoted(servegen.folder), servegen.start.seconds());
  if (servegen.end > Duration{}) text += fmt::format(", end: {} s", servegen.end.seconds());
  return text + fmt::format(", rate_scale: {}}}", servegen.rate_scale);
}

namespace {

// One client's requests, window by window. As ServeGen does it: ceil(rate x window) gaps are drawn and stretched to fill
// the window, so the fitted distribution gives their unevenness and the window its rate.
class Client {
 public:
  Client(ServegenClient files, double rate_scale, std::uint64_t seed)
      : files_(std::move(files)), rate_scale_(rate_scale), gaps_(seed, "workload", files_.name + " gaps"),
        input_(seed, "workload", files_.name + " input"), output_(seed, "workload", files_.name + " output") {}

  [[nodiscard]] bool ended() const { return next_ == files_.windows.size(); }
  [[nodiscard]] Duration next_window() const { return files_.windows[next_].start; }

  struct Ask {
    Duration at;
    Tokens input, output;
  };
  /// Adds the requests of the next window.
  void generate(std::vector<Ask>& asks) {
    const ServegenWindow& window = files_.windows[next_++];
    const double length = window.length.seconds();
    const auto count = static_cast<std::size_t>(std::ceil(window.rate * rate_scale_ * length));
    const ServegenLengths& lengths = lengths_at(window.start);
    std::vector<double> gaps(count);
    double sum = 0.0;
    for (double& gap : gaps) sum += gap = draw_gap(window);
    double at = 0.0;
    for (const double gap : gaps) {
      at += gap;
      std::int64_t input = 0;
      for (const ServegenHistogram& part : lengths.input) input += part.draw(input_);
      asks.push_back({window.start + Duration::seconds(at / sum * length), Tokens{std::max<std::int64_t>(input, 1)},
                      Tokens{std::max<std::int64_t>(lengths.output.draw(output_), 1)}});
    }
  }

 private:
  double draw_gap(const ServegenWindow& window) {
    const double gap = window.weibull ? boost::random::weibull_distribution<double>(window.shape, window.scale)(gaps_)
                                      : boost::random::gamma_distribution<double>(window.shape, window.scale)(gaps_);
    return std::max(gap, 1e-300);  // a window of nothing but underflows still has an order
  }

  // The lengths of that time; where a client has requests but no lengths, those of the time before, or else after.
  [[nodiscard]] const ServegenLengths& lengths_at(Duration time) const {
    auto after = std::upper_bound(files_.lengths.begin(), files_.lengths.end(), time,
                                  [](Duration t, const ServegenLengths& lengths) { return t < lengths.start; });
    return after == files_.lengths.begin() ? *after : *--after;
  }

  ServegenClient files_;
  double rate_scale_;
  std::size_t next_ = 0;
  RandomStream gaps_, input_, output_;
};

class ServegenSource final : public WorkloadSource {
 public:
  ServegenSource(const WorkloadConfig& workload, std::uint64_t seed) : workload_(workload), output_(workload, seed) {
    for (ServegenClient& client : read_servegen_clients(workload.servegen->folder)) {
      clients_.emplace_back(std::move(client), workload.servegen->rate_scale, seed);
    }
  }

  Time next_arrival() override {
    fill();
    return next_ < asks_.size() ? Time{asks_[next_].at - workload_.servegen->start} : Time::max();
  }

 protected:
  std::optional<RequestSpec> produce() override {
    fill();
    if (next_ == asks_.size()) return std::nullopt;
    const Client::Ask& ask = asks_[next_++];
    RequestSpec request;
    request.row = row_++;
    request.arrival = Time{ask.at - workload_.servegen->start};
    request.input = ask.input;
    output_.set(request, ask.output, std::nullopt);
    return request;
  }

  void annotate(WorkloadNotes& notes) const override {
    notes.description = fmt::format(
        "ServeGen, {} clients of `{}` from {} s on, rates times {}, lengths in tokens of all modalities together, not used: "
        "reason_ratio, counts of images, audio and video; {}",
        clients_.size(), workload_.servegen->folder, workload_.servegen->start.seconds(), workload_.servegen->rate_scale,
        describe_generated(workload_));
  }

 private:
  // Superposes the clients' next windows when the last ones are used up.
  void fill() {
    const ServegenConfig& config = *workload_.servegen;
    while (next_ == asks_.size() && !(workload_.num_prompts && row_ >= *workload_.num_prompts)) {
      Duration window = Duration{std::numeric_limits<std::int64_t>::max()};
      for (const Client& client : clients_) {
        if (!client.ended()) window = std::min(window, client.next_window());
      }
      const Duration end = workload_.duration ? config.start + *workload_.duration : window + Duration::picoseconds(1);
      if (window == Duration{std::numeric_limits<std::int64_t>::max()} || window >= end) return;
      if (config.end > Duration{} && window >= config.end) return;
      asks_.clear();
      next_ = 0;
      for (Client& client : clients_) {
        if (!client.ended() && client.next_window() == window) client.generate(asks_);
      }
      std::erase_if(asks_, [&](const Client::Ask& ask) {
        return ask.at < config.start || (config.end > Duration{} && ask.at >= config.end) ||
               (workload_.duration && ask.at - config.start >= *workload_.duration);
      });
      std::stable_sort(asks_.begin(), asks_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    }
    if (workload_.num_prompts && row_ >= *workload_.num_prompts) asks_.clear(), next_ = 0;
  }

  WorkloadConfig workload_;
  DrawnOutput output_;
  std::vector<Client> clients_;
  std::vector<Client::Ask> asks_;  // of the windows under way, in order of time
  std::size_t next_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<WorkloadSource> make_servegen_source(const WorkloadConfig& workload, std::uint64_t seed) {
  return std::make_unique<ServegenSource>(workload, seed);
}

}  // namespace ridgeline
