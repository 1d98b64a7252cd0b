#include "hardware/table_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hardware/device.hpp"
#include "hardware/measurement.hpp"

namespace ridgeline {

namespace {

/// What must match exactly for two calls to share a grid. Unused places are zero.
using Key = std::array<std::int64_t, 8>;

/// Where a call lies on its grid. The last axis varies fastest: it is the one with the most points.
using Place = std::array<double, 3>;

/// A call of the table's terms.
struct Coordinates {
  Key key;
  Place place;
};

enum Table : std::int64_t { gemm_table, elementwise_table, collective_table, decode_table, prefill_table, moe_table };

template <class Enum>
std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

double real(std::int64_t value) { return static_cast<double>(value); }

Coordinates locate(const GemmShape& s) {
  const std::int64_t format = number(s.math) * 4 + (s.quantises_input ? 2 : 0) + (s.block_scaled ? 1 : 0);
  return {{gemm_table, s.n, s.k, format, number(s.weight), std::llround(s.weight_bits * 1000)}, {1.0, 1.0, real(s.m)}};
}

Coordinates locate(const ElementwiseShape& s) { return {{elementwise_table, number(s.family), s.width}, {1.0, 1.0, real(s.rows)}}; }

Coordinates locate(const CollectiveShape& s) {
  return {{collective_table, number(s.kind), s.ranks, s.in_graph ? 1 : 0}, {1.0, 1.0, s.bytes.as_double()}};
}

Coordinates locate(const MoeShape& s) {
  return {{moe_table, s.hidden, s.intermediate, s.experts, s.total_experts, s.top_k, number(s.math) * 2 + (s.block_scaled ? 1 : 0),
           std::llround(s.skew * 1000)},
          {1.0, 1.0, real(s.tokens)}};
}

Key attention_key(Table table, const AttentionShape& s, std::int64_t queries_each) {
  return {table, s.query_heads, s.kv_heads, s.head_dim, s.value_dim, number(s.kv), s.window * 2 + (s.causal ? 1 : 0), queries_each};
}

Coordinates locate_decode(const AttentionShape& s) {
  const std::int64_t n = s.decode_sequences;
  return {attention_key(decode_table, s, s.decode_queries.count() / n), {1.0, real(n), s.decode_context.as_double() / real(n)}};
}

/// Prompts enter by their mean length and history.
Coordinates locate_prefill(const AttentionShape& s) {
  double history = 0.0;
  double tokens = 0.0;
  for (const PrefillChunk& chunk : s.chunks) {
    history += chunk.history.as_double();
    tokens += chunk.new_tokens.as_double();
  }
  const auto n = static_cast<double>(s.chunks.size());
  return {attention_key(prefill_table, s, 0), {n, 1.0 + history / n, tokens / n}};
}

/// Measured times over up to three axes, all in natural logarithms; inner vectors are sorted by coordinate.
class Grid {
 public:
  void add(const Place& place, double time) { points_[log_of(place[0])][log_of(place[1])][log_of(place[2])].push_back(std::log(time)); }

  /// Seconds; nullopt outside the measured range.
  [[nodiscard]] std::optional<double> at(const Place& place) const {
    const auto along_last = [&](const Line& line) -> std::optional<double> {
      return interpolate(line, log_of(place[2]), [](const std::vector<double>& times) { return std::optional(median(times)); });
    };
    const auto along_middle = [&](const Plane& plane) { return interpolate(plane, log_of(place[1]), along_last); };
    const std::optional<double> logarithm = interpolate(points_, log_of(place[0]), along_middle);
    return logarithm ? std::optional(std::exp(*logarithm)) : std::nullopt;
  }

 private:
  using Line = std::map<double, std::vector<double>>;
  using Plane = std::map<double, Line>;

  static double log_of(double value) { return std::log(std::max(value, 1e-300)); }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  template <class Map, class Value>
  static std::optional<double> interpolate(const Map& map, double x, Value value) {
    constexpr double same = 1e-9;
    const auto above = map.lower_bound(x - same);
    if (above == map.end()) return std::nullopt;
    if (above->first <= x + same) return value(above->second);
    if (above == map.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const std::optional<double> low = value(below->second);
    const std::optional<double> high = value(above->second);
    if (!low || !high) return std::nullopt;
    return *low + (*high - *low) * (x - below->first) / (above->first - below->first);
  }

  std::map<double, Plane> points_;
};

class TableModel final : public DeviceModel {
 public:
  explicit TableModel(std::unique_ptr<DeviceModel> fallback) : fallback_(std::move(fallback)) {}

  void add(const Measurement& row) {
    const auto coordinates = std::visit([](const auto& shape) { return single(shape); }, row.work.shape);
    if (coordinates) grids_[coordinates->key].add(coordinates->place, row.time.seconds());
  }

  [[nodiscard]] OpPrice price(const Op& op) const override {
    const std::optional<double> seconds = std::visit([&](const auto& shape) { return look_up(shape); }, op.shape);
    OpPrice price = fallback_->price(op);
    if (!seconds) return price;
    return {Duration::seconds(*seconds), scaled(price, Duration::seconds(*seconds)), Provenance::measured};
  }

 private:
  template <class Shape>
  static std::optional<Coordinates> single(const Shape& shape) {
    return locate(shape);
  }
  /// A measured mixed call has no place on a grid.
  static std::optional<Coordinates> single(const AttentionShape& shape) {
    if (shape.decode_sequences > 0 && !shape.chunks.empty()) return std::nullopt;
    return shape.decode_sequences > 0 ? locate_decode(shape) : locate_prefill(shape);
  }

  [[nodiscard]] std::optional<double> on_grid(const Coordinates& coordinates) const {
    const auto grid = grids_.find(coordinates.key);
    return grid == grids_.end() ? std::nullopt : grid->second.at(coordinates.place);
  }

  template <class Shape>
  [[nodiscard]] std::optional<double> look_up(const Shape& shape) const {
    return on_grid(locate(shape));
  }
  [[nodiscard]] std::optional<double> look_up(const AttentionShape& shape) const {
    double sum = 0.0;
    if (shape.decode_sequences > 0) {
      const auto decode = on_grid(locate_decode(shape));
      if (!decode) return std::nullopt;
      sum += *decode;
    }
    if (!shape.chunks.empty()) {
      const auto prefill = on_grid(locate_prefill(shape));
      if (!prefill) return std::nullopt;
      sum += *prefill;
    }
    return sum;
  }

  /// The fallback's split by cause, stretched to the measured time; the largest part takes the rounding.
  static TimeByCause scaled(const OpPrice& price, Duration time) {
    TimeByCause parts;
    Cause largest = Cause::overhead;
    Duration left = time;
    for (std::size_t i = 0; i < cause_count; ++i) {
      const Cause cause{static_cast<std::uint8_t>(i)};
      if (price.by_cause[cause] > price.by_cause[largest]) largest = cause;
      if (price.time == Duration{}) continue;
      const double share = price.by_cause[cause].as_double() / price.time.as_double();
      parts[cause] = std::min(Duration{static_cast<std::int64_t>(time.as_double() * share)}, left);
      left -= parts[cause];
    }
    parts[largest] += left;
    return parts;
  }

  std::unique_ptr<DeviceModel> fallback_;
  std::map<Key, Grid> grids_;
};

}  // namespace

std::unique_ptr<DeviceModel> make_table_model(const std::filesystem::path& file, const GpuSpec& gpu,
                                              std::unique_ptr<DeviceModel> fallback) {
  Measurements measurements;
  read_measurements(file, measurements);
  auto model = std::make_unique<TableModel>(std::move(fallback));
  bool any = false;
  for (const Measurement& row : measurements.rows) {
    if (row.gpu != gpu.name && catalog_gpu(row.gpu) != gpu.name) continue;
    model->add(row);
    any = true;
  }
  if (!any) throw ConfigError(Diagnostic{{file.string(), 0, 0}, {}, "has no operator measurement of GPU `" + gpu.name + "`"});
  return model;
}

}  // namespace ridgeline
