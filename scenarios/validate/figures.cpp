#include "scenarios/validate/figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scenarios/report/csv_cell.hpp"

namespace ridgeline {

namespace {

using Json = nlohmann::ordered_json;

std::vector<FigureGroup> group_by(const std::vector<ValidatedFigure>& figures, bool finely) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, int, std::string>;
  std::map<Key, std::size_t> index;
  std::vector<FigureGroup> groups;
  std::vector<std::vector<double>> errors;
  for (const ValidatedFigure& figure : figures) {
    const Key key{figure.gpu, finely ? figure.engine : "", finely ? figure.model : "", figure.kind, finely ? figure.tp : 0, figure.metric};
    const auto [place, is_new] = index.try_emplace(key, groups.size());
    if (is_new) {
      groups.push_back({figure.gpu, std::get<1>(key), std::get<2>(key), figure.kind, std::get<4>(key), figure.metric});
      errors.emplace_back();
    }
    errors[place->second].push_back(figure.error());
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<double>& of_group = errors[i];
    groups[i].rows = of_group.size();
    std::sort(of_group.begin(), of_group.end());
    groups[i].bias = quantile(of_group, 0.5);
    for (double& error : of_group) error = std::abs(error);
    std::sort(of_group.begin(), of_group.end());
    groups[i].median = quantile(of_group, 0.5);
    groups[i].p90 = quantile(of_group, 0.9);
  }
  return groups;
}

}  // namespace

void FigureValidation::skip(const std::string& reason, std::size_t count) {
  const auto known = std::find_if(skipped.begin(), skipped.end(), [&](const SkippedRows& row) { return row.reason == reason; });
  if (known != skipped.end()) known->rows += count;
  else skipped.push_back({reason, count});
}

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<FigureGroup> group_figures(const std::vector<ValidatedFigure>& figures) { return group_by(figures, true); }

std::vector<FigureGroup> summarise_figures(const std::vector<ValidatedFigure>& figures) {
  std::vector<FigureGroup> groups = group_by(figures, false);
  std::stable_sort(groups.begin(), groups.end(), [](const FigureGroup& a, const FigureGroup& b) {
    return std::tie(a.kind, a.gpu, a.metric) < std::tie(b.kind, b.gpu, b.metric);
  });
  return groups;
}

std::string to_json(const FigureValidation& validation) {
  Json json;
  json["groups"] = Json::array();
  for (const FigureGroup& group : group_figures(validation.figures)) {
    json["groups"].push_back({{"gpu", group.gpu}, {"engine", group.engine}, {"model", group.model}, {"kind", group.kind},
                              {"tp", group.tp}, {"metric", group.metric}, {"rows", group.rows}, {"median", group.median},
                              {"p90", group.p90}, {"bias", group.bias}});
  }
  json["summary"] = Json::array();
  for (const FigureGroup& group : summarise_figures(validation.figures)) {
    json["summary"].push_back({{"gpu", group.gpu}, {"kind", group.kind}, {"metric", group.metric}, {"rows", group.rows},
                               {"median", group.median}, {"p90", group.p90}, {"bias", group.bias}});
  }
  json["skipped"] = Json::array();
  for (const SkippedRows& skipped : validation.skipped) {
    json["skipped"].push_back({{"reason", skipped.reason}, {"rows", skipped.rows}});
  }
  return json.dump(2) + "\n";
}

std::string figures_csv(const FigureValidation& validation) {
  std::string text = "file,line,id,gpu,engine,model,kind,tp,quality,metric,measured,predicted,error\n";
  for (const ValidatedFigure& row : validation.figures) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.5f}\n", csv_cell(row.file), row.line, csv_cell(row.id), row.gpu, row.engine,
                        row.model, row.kind, row.tp, row.quality, row.metric, row.measured, row.predicted, row.error());
  }
  return text;
}

}  // namespace ridgeline
