#include "workloads/servegen_clients.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"
#include "workloads/lengths.hpp"
#include "workloads/traces/csv.hpp"
#include "workloads/traces/line_reader.hpp"

namespace ridgeline {

namespace {

[[noreturn]] void fail(const std::string& file, const std::string& message) { throw ConfigError(Diagnostic{{file}, {}, message}); }

template <class Number>
bool parse_number(std::string_view& text, Number& value) {
  text.remove_prefix(std::min(text.find_first_not_of(" ,{"), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

}  // namespace

bool ServegenHistogram::parse(const std::string& text) {
  std::string_view left = text;
  if (!left.starts_with('{') || !left.ends_with('}')) return false;
  left.remove_suffix(1);
  double sum = 0.0;
  while (left.find_first_not_of(" ,{") != std::string_view::npos) {
    std::int64_t value = 0;
    double probability = 0.0;
    if (!parse_number(left, value) || !left.starts_with(':')) return false;
    left.remove_prefix(1);
    if (!parse_number(left, probability) || value < 0 || value > longest_length.count() || !(probability >= 0)) return false;
    values_.push_back(value);
    cumulative_.push_back(sum += probability);
  }
  return values_.empty() || sum > 0.0;
}

std::int64_t ServegenHistogram::draw(RandomStream& random) const {
  const double at = random.uniform() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  return values_[std::min(static_cast<std::size_t>(found - cumulative_.begin()), values_.size() - 1)];
}

namespace {

// No header: window start in s, requests/s, CV, pattern, shape, scale. The CV follows from the last three.
std::vector<ServegenWindow> read_windows(const std::string& file) {
  LineReader lines(file);
  CsvSplitter csv;
  std::string_view line;
  std::vector<ServegenWindow> windows;
  while (lines.next(line)) {
    const auto* fields = csv.split(line);
    if (fields == nullptr || fields->size() != 6) lines.fail("expected six fields: start, rate, CV, pattern, shape, scale");
    const auto number = [&](std::size_t at) {
      double value = 0.0;
      std::string_view text = (*fields)[at];
      if (!parse_number(text, value) || !text.empty() || !(value >= 0.0 && value < 1e9)) {
        lines.fail(fmt::format("field {}: expected a number of at least 0, got `{}`", at + 1, (*fields)[at]));
      }
      return value;
    };
    ServegenWindow window;
    window.start = Duration::seconds(number(0));
    window.rate = number(1);
    (void)number(2);
    const std::string pattern{(*fields)[3]};
    if (pattern != "Gamma" && pattern != "Weibull" && !pattern.empty()) lines.fail("unknown pattern `" + pattern + "`, expected Gamma or Weibull");
    if (window.rate > 0.0 && pattern.empty()) lines.fail("a rate above 0 without a pattern of gaps");
    window.weibull = pattern == "Weibull";
    window.shape = number(4);
    window.scale = number(5);
    if (window.rate > 0.0 && !(window.shape > 0.0 && window.scale > 0.0)) lines.fail("shape and scale must be above 0");
    if (!windows.empty()) {
      if (window.start <= windows.back().start) lines.fail("windows must follow each other in time");
      windows.back().length = window.start - windows.back().start;
    }
    windows.push_back(window);
  }
  if (windows.size() < 2) fail(file, "expected at least two windows");
  windows.back().length = windows[windows.size() - 2].length;
  return windows;
}

std::vector<ServegenLengths> read_lengths_file(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) fail(file, "cannot be read");
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!json.is_object()) fail(file, "is not a JSON object of windows");
  std::vector<ServegenLengths> all;
  for (const auto& [key, fields] : json.items()) {
    double start = 0.0;
    std::string_view text = key;
    if (!parse_number(text, start) || !text.empty() || !fields.is_object()) fail(file, "`" + key + "`: expected a window's start in seconds");
    ServegenLengths lengths;
    lengths.start = Duration::seconds(start);
    const auto histogram = [&](const char* name) {
      ServegenHistogram read;
      const auto found = fields.find(name);
      if (found == fields.end()) return read;
      if (!found->is_string() || !read.parse(found->get<std::string>())) {
        fail(file, fmt::format("`{}` of window {}: expected text like \"{{45: 0.01, 46: 0.99}}\"", name, key));
      }
      return read;
    };
    for (const char* name : {"input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens"}) {
      ServegenHistogram read = histogram(name);
      if (!read.empty()) lengths.input.push_back(std::move(read));
    }
    lengths.output = histogram("output_tokens");
    if (!lengths.input.empty() && !lengths.output.empty()) all.push_back(std::move(lengths));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return all;
}

}  // namespace

std::vector<ServegenClient> read_servegen_clients(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) fail(folder, "is not a folder of ServeGen client files");
  constexpr std::string_view ending = "-trace.csv";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  if (names.empty()) fail(folder, "holds no `chunk-N-trace.csv`");
  std::sort(names.begin(), names.end());
  std::vector<ServegenClient> clients;
  for (const std::string& name : names) {
    ServegenClient client{name, read_windows(folder + "/" + name + std::string(ending)),
                          read_lengths_file(folder + "/" + name + "-dataset.json")};
    const bool asks = std::any_of(client.windows.begin(), client.windows.end(), [](const auto& w) { return w.rate > 0.0; });
    if (asks && client.lengths.empty()) fail(folder + "/" + name + "-dataset.json", "has no lengths");
    if (asks) clients.push_back(std::move(client));
  }
  if (clients.empty()) fail(folder, "no client ever asks for anything");
  return clients;
}

}  // namespace ridgeline
