#include "scenarios/report/html/page.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scenarios/load/config_json.hpp"
#include "scenarios/report/text.hpp"
#include "scenarios/report/version.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {
std::span<const EmbeddedFile> report_assets();
}

namespace ridgeline::html {

namespace {

using Json = nlohmann::ordered_json;

std::string_view asset(std::string_view name) {
  for (const EmbeddedFile& file : report_assets()) {
    if (file.name == name) return file.text;
  }
  throw InternalError("the report asset " + std::string(name) + " is missing");
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

// JSON that can't end the script element it stands in.
std::string script_json(const Json& json) {
  std::string out;
  for (const char c : dump(json)) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

// JSON has no infinities; a chart leaves a gap instead.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json axis_json(const Axis& axis) { return {{"label", axis.label}, {"log", axis.logarithmic}}; }

std::string_view style_name(Series::Style style) {
  switch (style) {
    case Series::Style::line: return "line";
    case Series::Style::dashed: return "dashed";
    case Series::Style::points: return "points";
    case Series::Style::steps: return "steps";
    case Series::Style::trail: return "trail";
  }
  throw InternalError("unknown series style");
}

class Writer {
 public:
  std::string html;
  Json charts = Json::array();

  void operator()(const Paragraph& paragraph) { html += fmt::format("<p>{}</p>\n", escaped(paragraph.text)); }

  void operator()(const std::vector<Tile>& tiles) {
    html += "<dl class=\"tiles\">\n";
    for (const Tile& tile : tiles) {
      const char* mood = tile.mood == Tile::Mood::good ? " good" : tile.mood == Tile::Mood::bad ? " bad" : "";
      html += fmt::format("<div class=\"tile{}\"><dt>{}</dt><dd>{}</dd>", mood, escaped(tile.label), escaped(tile.value));
      if (!tile.note.empty()) html += fmt::format("<dd class=\"note\">{}</dd>", escaped(tile.note));
      html += "</div>\n";
    }
    html += "</dl>\n";
  }

  void operator()(const Table& table) {
    html += "<div class=\"scroll\"><table>\n<thead><tr>";
    for (const std::string& cell : table.head) html += fmt::format("<th scope=\"col\">{}</th>", escaped(cell));
    html += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      html += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        html += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", escaped(row[i])) : fmt::format("<td{}>{}</td>", row[i].size() > 48 ? " class=\"prose\"" : "", escaped(row[i]));
      }
      html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
  }

  void operator()(const LineChart& chart) {
    Json json{{"type", "lines"}, {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}, {"series", Json::array()}};
    Table numbers{{"series", chart.x.label, chart.y.label}, {}};
    for (const Series& series : chart.series) {
      Json points = Json::array();
      for (const Point& point : series.points) {
        Json one{{"x", number(point.x)}, {"y", number(point.y)}};
        if (!point.label.empty()) one["label"] = point.label;
        points.push_back(std::move(one));
        const std::string name = point.label.empty() ? series.name : series.name + ": " + point.label;
        numbers.rows.push_back({name, figure(point.x), figure(point.y)});
      }
      json["series"].push_back({{"name", series.name}, {"style", style_name(series.style)}, {"points", std::move(points)}});
    }
    figure_with(chart.title, chart.caption, std::move(json), numbers);
  }

  void operator()(const BarChart& chart) {
    Json json{{"type", "bars"},       {"value", axis_json(chart.value)},   {"categories", chart.categories},
              {"series", Json::array()}, {"horizontal", chart.horizontal}, {"stacked", chart.stacked}};
    Table numbers{{chart.value.label}, {}};
    for (const std::string& category : chart.categories) numbers.rows.push_back({category});
    for (const auto& [name, values] : chart.series) {
      if (values.size() != chart.categories.size()) throw InternalError("bars and categories differ in number");
      Json list = Json::array();
      for (const double value : values) list.push_back(number(value));
      json["series"].push_back({{"name", name}, {"values", std::move(list)}});
      numbers.head.push_back(name);
      for (std::size_t i = 0; i < values.size(); ++i) numbers.rows[i].push_back(figure(values[i]));
    }
    figure_with(chart.title, chart.caption, std::move(json), numbers, chart.horizontal ? chart.categories.size() : 0);
  }

  void operator()(const IntervalChart& chart) {
    Json json{{"type", "intervals"}, {"value", axis_json(chart.value)}, {"middle", chart.middle}, {"categories", Json::array()},
              {"intervals", Json::array()}, {"middles", Json::array()}};
    Table numbers{{chart.value.label, chart.middle, "low", "high"}, {}};
    for (const IntervalChart::Bar& bar : chart.bars) {
      const bool known = std::isfinite(bar.low) && std::isfinite(bar.high);
      json["categories"].push_back(bar.category);
      json["intervals"].push_back(known ? Json::array({bar.low, bar.high}) : Json());
      json["middles"].push_back(number(bar.middle));
      numbers.rows.push_back({bar.category, figure(bar.middle), known ? figure(bar.low) : "-", known ? figure(bar.high) : "-"});
    }
    figure_with(chart.title, chart.caption, std::move(json), numbers, chart.bars.size());
  }

  void operator()(const Verbatim& verbatim) {
    html += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", escaped(verbatim.title), escaped(verbatim.text));
  }

 private:
  // `rows`: categories down the left side, which need their height; 0 = none.
  void figure_with(const std::string& title, const std::string& caption, Json json, const Table& numbers, std::size_t rows = 0) {
    constexpr std::size_t fit = 9;  // rows that the usual height holds
    const std::size_t id = charts.size();
    const std::string height = rows > fit ? fmt::format(" style=\"height: {}rem\"", 4 + 2 * rows) : "";
    html += fmt::format("<figure>\n<h3>{}</h3>\n<div class=\"chart\"{}><canvas id=\"chart-{}\" role=\"img\" aria-label=\"{}\"></canvas></div>\n"
                        "<figcaption>{}</figcaption>\n<details><summary>Numbers</summary>\n",
                        escaped(title), height, id, escaped(title + ". " + caption), escaped(caption));
    (*this)(numbers);
    html += "</details>\n</figure>\n";
    charts.push_back(std::move(json));
  }
};

}  // namespace

std::string html_page(const Page& page) {
  Writer writer;
  for (const Section& section : page.sections) {
    writer.html += fmt::format("<section>\n<h2>{}</h2>\n", escaped(section.heading));
    for (const Block& block : section.blocks) std::visit(writer, block);
    writer.html += "</section>\n";
  }
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n<main>\n",
      escaped(page.title), asset("report_style"), escaped(page.title), escaped(page.subtitle));
  if (!page.warnings.empty()) {
    html += "<aside role=\"note\" aria-label=\"Warnings\">\n<ul>\n";
    for (const std::string& warning : page.warnings) html += fmt::format("<li>{}</li>\n", escaped(warning));
    html += "</ul>\n</aside>\n";
  }
  html += writer.html;
  html += fmt::format("</main>\n<footer>ridgeline {}</footer>\n", version());
  html += fmt::format("<script type=\"application/json\" id=\"charts\">{}</script>\n", script_json(writer.charts));
  // fmt would read Chart.js's braces: append it as it is.
  html += "<script>\n";
  html += asset("chart_library");
  html += "\n</script>\n<script>\n";
  html += asset("report_charts");
  html += "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace ridgeline::html
