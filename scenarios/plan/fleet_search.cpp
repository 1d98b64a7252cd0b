#include "scenarios/plan/fleet_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace ridgeline {

namespace {

using Options = std::vector<ReplicaOption>;

constexpr double no_limit = 1e300;  // dollars per hour

// A row of the space: one option's replicas vary, those of another (if any) stay.
struct Line {
  std::size_t option = 0;
  Fleet fixed;           // empty, or one other option
  double carried = 0.0;  // capacity of `fixed`
  double paid = 0.0;     // its price
  int gpus = 0;          // its GPUs
};

class Search {
 public:
  Search(const Options& options, const FleetSearch& search, const FleetJudge& judge) : options_(options), search_(search), judge_(judge) {}

  FleetSearchResult run() {
    search_singles();
    if (search_.mixed) search_pairs();
    std::stable_sort(result_.found.begin(), result_.found.end(), [](const auto& a, const auto& b) { return a.price < b.price; });
    const auto top = static_cast<std::size_t>(search_.top);
    if (result_.found.size() > top) result_.found.resize(top);
    return std::move(result_);
  }

 private:
  void search_singles() {
    std::vector<std::size_t> order(options_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return least_price(a) < least_price(b); });
    for (const std::size_t option : order) search_line({.option = option});
  }

  // Pairs of the best option of each kind: the cheapest found, else the one of the lowest bound.
  void search_pairs() {
    std::map<std::string, std::size_t> best;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const auto [row, added] = best.emplace(options_[i].kind, i);
      if (!added && known_price(i) < known_price(row->second)) row->second = i;
    }
    for (auto a = best.begin(); a != best.end(); ++a) {
      for (auto b = std::next(a); b != best.end(); ++b) {
        const auto [first, second] = std::minmax(a->second, b->second);
        search_pair(first, second);
      }
    }
  }

  void search_pair(std::size_t first, std::size_t second) {
    const ReplicaOption& column = options_[first];
    for (int n = column.least; n <= column.most(); ++n) {
      const auto count = static_cast<std::size_t>(n);
      search_line({.option = second, .fixed = {{first, n}}, .carried = column.capacity * n, .paid = column.price[count],
                   .gpus = column.gpus.empty() ? 0 : column.gpus[count]});
    }
  }

  static Fleet fleet_on(const Line& line, int n) {
    Fleet fleet = line.fixed;
    if (n > 0) fleet.emplace_back(line.option, n);
    return fleet;
  }

  // The smallest number of replicas on the line that passes, unless it can't cost less than what is already found.
  void search_line(const Line& line) {
    const ReplicaOption& option = options_[line.option];
    const int most = option.most();
    if (most < option.least) return;
    const int least = least_replicas(option, search_.load - line.carried);
    const int dearest = last_admissible(line);
    const int below = std::min(least - 1, most);
    SearchCounts& counts = result_.counts;
    counts.points += most - option.least + 1;
    counts.capacity += below - option.least + 1;
    counts.price += most - std::clamp(dearest, below, most);
    if (dearest < least) return;
    const std::int64_t judged_before = counts.judged;
    const std::optional<int> passes = smallest_passing(line, least, dearest);
    counts.order += (dearest - least + 1) - (counts.judged - judged_before);
    if (passes) keep(line, *passes, *passes - 1 < least);
  }

  // `least` - 1 fails by its bound, so the answer lies in [least, most], if anywhere.
  std::optional<int> smallest_passing(const Line& line, int least, int most) {
    int fails = least - 1;
    std::optional<int> passes;
    if (price_limit(line) < no_limit || !line.fixed.empty()) {
      // Only a fleet cheaper than those found is of use: ask for the largest such first.
      if (!judge(line, most)) return std::nullopt;
      passes = most;
    } else {
      for (int step = 1; !passes; step *= 2) {
        const int n = std::min(most, fails + step);
        if (judge(line, n)) passes = n;
        else if (n == most) return std::nullopt;
        else fails = n;
      }
    }
    while (*passes - fails > 1) {
      const int n = fails + (*passes - fails) / 2;
      (judge(line, n) ? *passes : fails) = n;
    }
    return passes;
  }

  bool judge(const Line& line, int n) {
    ++result_.counts.judged;
    return judge_(fleet_on(line, n));
  }

  static int least_replicas(const ReplicaOption& option, double load) {
    if (option.capacity <= 0.0) return option.most() + 1;
    const double replicas = std::ceil(load / option.capacity * (1 - 1e-12));
    const int least = static_cast<int>(std::clamp(replicas, 1.0, static_cast<double>(option.most()) + 1.0));
    return std::max(least, option.least);
  }

  double least_price(std::size_t index) const {
    const ReplicaOption& option = options_[index];
    const int least = least_replicas(option, search_.load);
    return least > option.most() ? no_limit : option.price[static_cast<std::size_t>(least)];
  }

  // What is known of an option's price: the found one, or (ranked after all those) its bound.
  std::pair<bool, double> known_price(std::size_t index) const {
    for (const FoundFleet& found : result_.found) {
      if (found.fleet.size() == 1 && found.fleet[0].first == index) return {false, found.price};
    }
    return {true, least_price(index)};
  }

  // Below this a fleet on the line is worth finding: cheaper than the one found of its kind, and among the `top`.
  double price_limit(const Line& line) const {
    std::vector<double> others;
    double limit = no_limit;
    for (const FoundFleet& found : result_.found) {
      if (same_kinds(found.fleet, fleet_on(line, 1))) limit = found.price;
      else others.push_back(found.price);
    }
    std::sort(others.begin(), others.end());
    const auto top = static_cast<std::size_t>(search_.top);
    return others.size() >= top ? std::min(limit, others[top - 1]) : limit;
  }

  int last_admissible(const Line& line) const {
    const ReplicaOption& option = options_[line.option];
    const double limit = price_limit(line);
    int n = option.most();
    while (n > 0) {
      const auto count = static_cast<std::size_t>(n);
      const double price = line.paid + option.price[count];
      const int gpus = line.gpus + (option.gpus.empty() ? 0 : option.gpus[count]);
      const bool allowed = (search_.most_price <= 0 || price <= search_.most_price) && (search_.most_gpus <= 0 || gpus <= search_.most_gpus);
      if (price < limit && allowed) break;
      --n;
    }
    return n;
  }

  bool same_kinds(const Fleet& a, const Fleet& b) const {
    const auto kinds = [&](const Fleet& fleet) {
      std::set<std::string> names;
      for (const auto& [option, count] : fleet) names.insert(options_[option].kind);
      return names;
    };
    return kinds(a) == kinds(b);
  }

  void keep(const Line& line, int n, bool fails_by_bound) {
    FoundFleet found{fleet_on(line, n), 0.0, {}, fails_by_bound};
    found.price = price_of(options_, found.fleet);
    if (n > options_[line.option].least || !line.fixed.empty()) found.fails = fleet_on(line, n - 1);
    std::erase_if(result_.found, [&](const FoundFleet& other) { return same_kinds(other.fleet, found.fleet); });
    result_.found.push_back(std::move(found));
    std::stable_sort(result_.found.begin(), result_.found.end(), [](const auto& a, const auto& b) { return a.price < b.price; });
  }

  const Options& options_;
  const FleetSearch& search_;
  const FleetJudge& judge_;
  FleetSearchResult result_;
};

}  // namespace

double price_of(const std::vector<ReplicaOption>& options, const Fleet& fleet) {
  double price = 0.0;
  for (const auto& [option, count] : fleet) price += options[option].price[static_cast<std::size_t>(count)];
  return price;
}

FleetSearchResult cheapest_fleets(const std::vector<ReplicaOption>& options, const FleetSearch& search, const FleetJudge& judge) {
  return Search(options, search, judge).run();
}

}  // namespace ridgeline
