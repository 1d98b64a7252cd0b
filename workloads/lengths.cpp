#include "workloads/lengths.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/files.hpp"
#include "workloads/traces/csv.hpp"
#include "workloads/traces/line_reader.hpp"

namespace ridgeline {

namespace {

using Distribution = LengthConfig::Distribution;

const std::vector<std::string> names{"fixed", "uniform", "lognormal", "zipf", "histogram", "quantiles"};

constexpr double longest = 1e8;  // longest_length
constexpr Range any_length{1.0, longest};

// mu and sigma, or mean and median: median = e^mu, mean = e^(mu + sigma^2/2).
void read_lognormal(MapReader& map, LengthConfig& lengths) {
  const bool parameters = map.has("mu") || map.has("sigma"), moments = map.has("mean") || map.has("median");
  if (parameters == moments) {
    map.child("mu"), map.child("sigma"), map.child("mean"), map.child("median");
    map.mistake("distribution",
                "lognormal needs either `mu` and `sigma` (of ln tokens) or `mean` and `median` (in tokens)");
    return;
  }
  if (parameters) {
    lengths.mu = map.require<double>("mu", {-20.0, 18.4});  // e^18.4 = longest
    lengths.sigma = map.require<double>("sigma", {0.0, 10.0});
    map.child("mean"), map.child("median");
    return;
  }
  map.child("mu"), map.child("sigma");
  const double mean = map.require<double>("mean", any_length), median = map.require<double>("median", any_length);
  if (mean < 1.0 || median < 1.0) return;
  if (mean < median) {
    map.mistake("mean", "is below the median, which no lognormal distribution allows");
    return;
  }
  lengths.mu = std::log(median);
  lengths.sigma = std::sqrt(2.0 * std::log(mean / median));
}

// A CSV with a header: `tokens`, and `weight` (default 1 a row).
void read_histogram_file(LengthConfig& lengths) {
  LineReader lines(lengths.file);
  CsvSplitter csv;
  std::string_view line;
  if (!lines.next(line)) lines.fail("is empty, expected a histogram");
  const auto* header = csv.split(line);
  const auto column = [&](std::string_view name) {
    return header == nullptr ? std::ptrdiff_t{-1} : std::find(header->begin(), header->end(), name) - header->begin();
  };
  const auto width = header == nullptr ? std::ptrdiff_t{0} : std::ssize(*header);
  const std::ptrdiff_t tokens = column("tokens"), weight = column("weight");
  if (tokens < 0 || tokens == width)
    lines.fail("expected a header with the columns `tokens` and, optionally, `weight`");
  constexpr std::size_t most_rows = 10'000'000;
  while (lines.next(line)) {
    const auto* fields = csv.split(line);
    if (fields == nullptr || std::ssize(*fields) != width) lines.fail(fmt::format("expected {} fields", width));
    const auto number = [&](std::ptrdiff_t at, double least, double most) {
      const std::string_view text = (*fields)[static_cast<std::size_t>(at)];
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
        lines.fail(fmt::format("expected a number from {} to {}, got `{}`", least, most, text.substr(0, 40)));
      }
      return value;
    };
    lengths.values.push_back(number(tokens, 1.0, longest));
    lengths.weights.push_back(weight == width ? 1.0 : number(weight, 0.0, 1e300));
    if (lengths.values.size() > most_rows) lines.fail("more than 10 million rows in a histogram");
  }
  if (lengths.values.empty()) lines.fail("has no rows");
}

void read_histogram(MapReader& map, LengthConfig& lengths, Diagnostics& errors) {
  const std::optional<Config> file = map.child("file");
  if (file && file->is_scalar()) {
    map.child("values"), map.child("weights");
    if (map.has("values") || map.has("weights"))
      map.mistake("file", "stands beside `values` or `weights`: give one or the other");
    lengths.file = find_file(file->scalar(), file->where().file);
    try {
      read_histogram_file(lengths);
    } catch (const ConfigError& error) {
      for (Diagnostic diagnostic : error.diagnostics()) {
        diagnostic.key = file->path();
        errors.add(std::move(diagnostic));
      }
    }
  } else {
    lengths.values = map.list<double>("values", any_length);
    lengths.weights = map.list<double>("weights", non_negative);
    if (lengths.values.empty()) {
      map.mistake("values", "is missing: the token counts (or `file`)");
    } else if (lengths.values.size() != lengths.weights.size()) {
      map.mistake("weights", fmt::format("{} weights for {} values", lengths.weights.size(), lengths.values.size()));
    }
  }
  double sum = 0.0;
  for (const double weight : lengths.weights) sum += weight;
  if (!lengths.weights.empty() && !(sum > 0.0 && std::isfinite(sum)))
    map.mistake("weights", "the sum must be above 0 and finite");
}

void read_quantiles(MapReader& map, LengthConfig& lengths) {
  lengths.probabilities = map.list<double>("probabilities", fraction);
  lengths.values = map.list<double>("tokens", any_length);
  const std::vector<double>& p = lengths.probabilities;
  if (p.size() < 2 || p.front() != 0.0 || p.back() != 1.0 || !std::is_sorted(p.begin(), p.end())) {
    map.mistake("probabilities", "expected at least two rising numbers, the first 0 and the last 1");
  } else if (lengths.values.size() != p.size()) {
    map.mistake("tokens", fmt::format("{} token counts for {} probabilities", lengths.values.size(), p.size()));
  } else if (!std::is_sorted(lengths.values.begin(), lengths.values.end())) {
    map.mistake("tokens", "quantiles must not fall");
  }
}

}  // namespace

LengthConfig read_lengths(const Config& node, Diagnostics& errors) {
  LengthConfig lengths;
  if (node.is_scalar()) {
    lengths.tokens = read_value<Tokens>(node, errors, any_length).value_or(Tokens{1});
    if (lengths.tokens > longest_length) errors.add(node.mistake("more than 100,000,000 tokens"));
    return lengths;
  }
  MapReader map(node, errors);
  if (!map.has("distribution")) map.mistake("distribution", "is missing" + suggestion("", names));
  const std::string name = map.choice("distribution", "fixed", names);
  lengths.distribution = static_cast<Distribution>(std::find(names.begin(), names.end(), name) - names.begin());
  const auto limit = [&](std::string_view key, Tokens fallback, bool required) {
    if (required) map.require_child(key);
    return map.get<Tokens>(key, fallback, any_length);
  };
  const bool bounded = lengths.distribution == Distribution::uniform || lengths.distribution == Distribution::zipf;
  if (lengths.distribution != Distribution::fixed) {
    lengths.least = limit("min", lengths.least, bounded);
    lengths.most = limit("max", lengths.most, bounded);
    if (lengths.least > lengths.most) map.mistake("min", "is above `max`");
    if (lengths.most > longest_length) map.mistake("max", "is more than 100,000,000 tokens");
  }
  switch (lengths.distribution) {
    case Distribution::fixed:
      lengths.tokens = map.has("distribution") ? map.require<Tokens>("tokens", any_length) : Tokens{1};
      break;
    case Distribution::uniform: break;
    case Distribution::lognormal: read_lognormal(map, lengths); break;
    case Distribution::zipf: lengths.exponent = map.require<double>("exponent", {0.0, 100.0, true}); break;
    case Distribution::histogram: read_histogram(map, lengths, errors); break;
    case Distribution::quantiles: read_quantiles(map, lengths); break;
  }
  if (map.has("distribution")) map.done();
  return lengths;
}

std::string to_yaml(const LengthConfig& lengths) {
  if (lengths.distribution == Distribution::fixed) return fmt::format("{}", lengths.tokens.count());
  std::string text = "{distribution: " + names[static_cast<std::size_t>(lengths.distribution)];
  switch (lengths.distribution) {
    case Distribution::fixed:
    case Distribution::uniform: break;
    case Distribution::lognormal: text += fmt::format(", mu: {}, sigma: {}", lengths.mu, lengths.sigma); break;
    case Distribution::zipf: text += fmt::format(", exponent: {}", lengths.exponent); break;
    case Distribution::histogram:
      text += lengths.file.empty() ? fmt::format(", values: [{}], weights: [{}]", fmt::join(lengths.values, ", "),
                                                 fmt::join(lengths.weights, ", "))
                                   : fmt::format(", file: {}", quoted(lengths.file));
      break;
    case Distribution::quantiles:
      text += fmt::format(", probabilities: [{}], tokens: [{}]", fmt::join(lengths.probabilities, ", "),
                          fmt::join(lengths.values, ", "));
      break;
  }
  return text + fmt::format(", min: {}, max: {}}}", lengths.least.count(), lengths.most.count());
}

std::string describe(const LengthConfig& lengths) {
  switch (lengths.distribution) {
    case Distribution::fixed: return fmt::format("{}", lengths.tokens.count());
    case Distribution::uniform: return fmt::format("uniform {} to {}", lengths.least.count(), lengths.most.count());
    case Distribution::lognormal: return fmt::format("lognormal, mu {:.4g}, sigma {:.4g}", lengths.mu, lengths.sigma);
    case Distribution::zipf:
      return fmt::format("Zipf, exponent {:.4g}, {} to {}", lengths.exponent, lengths.least.count(),
                         lengths.most.count());
    case Distribution::histogram: return fmt::format("histogram of {} values", lengths.values.size());
    case Distribution::quantiles: {
      // Twice the integral of the inverse CDF, trapezium by trapezium.
      double twice_mean = 0.0;
      for (std::size_t i = 1; i < lengths.values.size(); ++i) {
        twice_mean +=
            (lengths.probabilities[i] - lengths.probabilities[i - 1]) * (lengths.values[i] + lengths.values[i - 1]);
      }
      return fmt::format("quantiles of mean {:.4g}", twice_mean / 2.0);
    }
  }
  return {};
}

}  // namespace ridgeline
