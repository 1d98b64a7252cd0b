#include "scenarios/report/html/roofline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/report/text.hpp"

namespace ridgeline::html {

namespace {

constexpr double tera = 1e12;

Series operators_of(const ExplainedStep& step) {
  Series series{.name = step.name + " operators", .points = {}, .style = Series::Style::points};
  for (const OperatorRow& row : step.rows) {
    if (row.flops.count() <= 0 || row.bytes().count() <= 0 || row.time <= Duration{}) continue;
    series.points.push_back({row.intensity(), row.flops.count() / row.time.seconds() / tera, row.name});
  }
  return series;
}

Series trail_of(const std::vector<BatchPoint>& curve) {
  Series trail{.name = "decode step over batch", .points = {}, .style = Series::Style::trail};
  for (const BatchPoint& point : curve) {
    if (point.step.gpu <= Duration{} || point.intensity <= 0) continue;
    trail.points.push_back({point.intensity, point.step.flops.count() / point.step.gpu.seconds() / tera,
                            fmt::format("batch {}{}", point.batch, point.fits ? "" : " (does not fit)")});
  }
  return trail;
}

}  // namespace

std::optional<LineChart> roofline_chart(const Explanation& explanation) {
  if (explanation.steps.empty()) return std::nullopt;
  LineChart chart;
  chart.title = "Roofline of " + explanation.pool.gpu->name;
  chart.x = {"arithmetic intensity, FLOP/byte", true};
  chart.y = {"TFLOP/s per GPU", true};
  for (const ExplainedStep& step : explanation.steps) chart.series.push_back(operators_of(step));
  chart.series.push_back(trail_of(explanation.curve));

  double least = explanation.ridge_point;
  double most = explanation.ridge_point;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) least = std::min(least, point.x), most = std::max(most, point.x);
  }
  const double peak = explanation.pool.gpu->peak(explanation.math).count() / tera;
  const double slope = peak / explanation.ridge_point;
  const std::string ridge = "ridge point, " + figure(explanation.ridge_point) + " FLOP/byte";
  chart.series.insert(chart.series.begin(), Series{.name = "datasheet roofline",
                                                   .points = {{least / 2, slope * least / 2, ""},
                                                              {explanation.ridge_point, peak, ridge},
                                                              {most * 2, peak, ""}}});
  chart.caption = fmt::format(
      "Left of the ridge ({} FLOP/byte) memory bandwidth limits, right of it arithmetic. Prefill of {} tokens; decode of {} sequences at {} tokens.",
      figure(explanation.ridge_point), grouped(explanation.asked.prompt), grouped(explanation.asked.batch), grouped(explanation.asked.context));
  return chart;
}

}  // namespace ridgeline::html
