// `sweep: {skip: […]}`: points that nobody wants to run, said as conditions on their keys.
//
//     skip:
//       - engine.tensor_parallel_size > model.num_key_value_heads
//       - {when: gpus > 16, because: beyond the budget}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/load/expand.hpp"
#include "scenarios/load/scenario.hpp"
#include "scenarios/sweep/expression.hpp"

namespace ridgeline {

struct SkipRule {
  Expression when;
  std::string reason;  ///< `because`, or the rule's text
  Config at;           ///< where it is written
};

/// Reads `sweep.skip` of a document. Throws ConfigError with every malformed rule.
std::vector<SkipRule> read_skip_rules(const Config& document);

/// Tells which rule, if any, a point falls under.
///
/// Keys are looked up in the resolved scenario, every default written out, where the point has one (`resolved`), then in what is
/// written. `engine.X` means any pool's; `model.num_attention_heads`, `model.num_key_value_heads`, `model.num_hidden_layers`,
/// `model.hidden_size`, `gpu.memory_gib`, `gpus` (of the whole fleet) and `replicas` are there beside the keys. A rule that holds for
/// one pool holds for the point; one that hangs on a key without a value does not.
class SkipJudge {
 public:
  explicit SkipJudge(std::vector<SkipRule> rules) : rules_(std::move(rules)) {}

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// The reason to skip; nullopt = run it. Throws ConfigError when a rule's types do not fit. Not for several threads.
  std::optional<std::string> reason(const ScenarioPoint& point, const Scenario* resolved);
  /// Call after every point was judged: throws ConfigError for keys that no point has, with near matches.
  void check_keys() const;

 private:
  std::vector<SkipRule> rules_;
  std::vector<std::string> known_;  // every key seen, sorted
};

/// `expand` without the points that fall under a rule.
std::vector<ScenarioPoint> expand_unskipped(const Config& document);

}  // namespace ridgeline
