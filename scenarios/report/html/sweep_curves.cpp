#include "scenarios/report/html/sweep_curves.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace ridgeline::html {

namespace {

constexpr std::size_t most_curves = 12;  // more can't be told apart

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

std::set<std::string> values_of(const SweepTable& table, std::size_t axis) {
  std::set<std::string> values;
  for (const SweepRow& row : table.rows) values.insert(row.values[axis]);
  return values;
}

bool numeric(const std::set<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const std::string& value) { return number(value).has_value(); });
}

bool sets_load(const std::string& path) {
  constexpr std::array<std::string_view, 3> knobs{"request_rate", "rate_scale", "max_concurrency"};
  return std::any_of(knobs.begin(), knobs.end(), [&](std::string_view knob) { return path.ends_with(knob); });
}

std::optional<std::size_t> axis_along(const SweepTable& table) {
  std::optional<std::size_t> chosen;
  std::pair<bool, std::size_t> best{false, 1};
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis) {
    const std::set<std::string> values = values_of(table, axis);
    const std::pair rank{sets_load(table.axes[axis]), values.size()};
    if (values.size() < 2 || !numeric(values) || rank < best) continue;
    best = rank;
    chosen = axis;
  }
  return chosen;
}

// Keys paired with the axis have one value for each of its values: they tell no curves apart.
bool moves_with(const SweepTable& table, std::size_t axis, std::size_t along) {
  std::map<std::string, std::string> seen;
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const SweepRow& row) {
    return seen.emplace(row.values[along], row.values[axis]).first->second == row.values[axis];
  });
}

std::string key_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string curve_name(const SweepTable& table, const std::vector<std::size_t>& apart, const SweepRow& row) {
  std::string name;
  for (const std::size_t axis : apart) {
    const std::string key = table.axes[axis] == "alternative" ? "" : key_name(table.axes[axis]) + " ";
    name += (name.empty() ? "" : ", ") + key + row.values[axis];
  }
  return name.empty() ? "points" : name;
}

std::vector<SweepCurves::Curve> grouped_by(const SweepTable& table, const std::vector<std::size_t>& apart, std::optional<std::size_t> along) {
  std::vector<SweepCurves::Curve> curves;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const SweepRow& row = table.rows[i];
    if (row.outcome.status != PointStatus::ok) continue;
    const std::string name = curve_name(table, apart, row);
    const auto [entry, fresh] = known.emplace(name, curves.size());
    if (fresh) curves.push_back({name, {}});
    curves[entry->second].rows.push_back({i, along ? *number(row.values[*along]) : 0.0});
  }
  for (SweepCurves::Curve& curve : curves) {
    std::stable_sort(curve.rows.begin(), curve.rows.end(), [](const auto& a, const auto& b) { return a.along < b.along; });
  }
  return curves;
}

}  // namespace

SweepCurves sweep_curves(const SweepTable& table) {
  SweepCurves result;
  result.axis = axis_along(table);
  std::vector<std::size_t> apart, words;
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis) {
    const std::set<std::string> values = values_of(table, axis);
    if (values.size() < 2 || axis == result.axis) continue;
    if (!numeric(values)) words.push_back(axis);
    if (!result.axis || !moves_with(table, axis, *result.axis)) apart.push_back(axis);
  }
  result.curves = grouped_by(table, apart, result.axis);
  if (result.curves.size() <= most_curves) return result;
  result.axis.reset();
  words.resize(std::min<std::size_t>(words.size(), 1));
  result.curves = grouped_by(table, words, std::nullopt);
  if (result.curves.size() > most_curves) result.curves = grouped_by(table, {}, std::nullopt);
  return result;
}

}  // namespace ridgeline::html
