// A report page as data: what a reader sees, without how it is drawn. `html_page` turns it into one self-contained file.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ridgeline::html {

/// A figure worth a glance: "TTFT p99", "412 ms", "limit 500 ms".
struct Tile {
  enum class Mood : unsigned char { plain, good, bad };
  std::string label;
  std::string value;
  std::string note;
  Mood mood = Mood::plain;
};

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;  ///< first column left, the others right
};

struct Axis {
  std::string label;  ///< with its unit
  bool logarithmic = false;
};

struct Point {
  double x = 0;
  double y = 0;
  std::string label;  ///< shown when pointed at; may be empty
};

struct Series {
  enum class Style : unsigned char { line, dashed, points, steps, trail };  ///< trail: points joined by a line
  std::string name;
  std::vector<Point> points;
  Style style = Style::line;
};

/// Curves or clouds of points over two numeric axes.
struct LineChart {
  std::string title;
  std::string caption;  ///< one sentence that says what to see; the chart's text for screen readers
  Axis x, y;
  std::vector<Series> series;
};

/// Bars per category; `series` of equal length as `categories`.
struct BarChart {
  std::string title;
  std::string caption;
  Axis value;
  std::vector<std::string> categories;
  std::vector<std::pair<std::string, std::vector<double>>> series;
  bool horizontal = false;
  bool stacked = false;
};

/// Means with their intervals, a row per category. Bounds that are not finite leave the mean alone.
struct IntervalChart {
  struct Bar {
    std::string category;
    double low = 0, middle = 0, high = 0;
  };
  std::string title;
  std::string caption;
  Axis value;
  std::string middle;  ///< what the point is: "mean"
  std::vector<Bar> bars;
};

struct Paragraph {
  std::string text;
};

/// Folded away until asked for: long text kept as it is.
struct Verbatim {
  std::string title;
  std::string text;
};

using Block = std::variant<Paragraph, std::vector<Tile>, Table, LineChart, BarChart, IntervalChart, Verbatim>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
};

struct Page {
  std::string title;
  std::string subtitle;
  std::vector<std::string> warnings;
  std::vector<Section> sections;
};

/// One HTML file that opens offline: style, Chart.js and data inside. Every text is escaped. Light, dark and print styles;
/// each chart has a caption and its numbers as a table.
std::string html_page(const Page& page);

}  // namespace ridgeline::html
