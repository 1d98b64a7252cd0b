// Conditions on the keys of a scenario, as written in skip rules:
//
//     engine.tensor_parallel_size > model.num_key_value_heads and not (fleet[0].gpu == 'h100-sxm-80gb')
//
// Operators, weakest first: or; and; not; == != < <= > >=; + -; * / %; unary minus. Text stands in quotes; a bare word is a key.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ridgeline {

using Value = std::variant<bool, double, std::string>;

class Expression {
 public:
  /// What a key stands for; nullopt when it has no value here.
  using Names = std::function<std::optional<Value>(const std::string& key)>;

  /// Throws ConfigError, without a place, naming the column of the first mistake.
  static Expression parse(const std::string& text);

  /// True or false; nullopt when that hangs on a key without a value. Throws ConfigError when types do not fit: a comparison of
  /// text with a number, arithmetic on text, a result that is neither true nor false.
  [[nodiscard]] std::optional<bool> holds(const Names& names) const;

  /// Every key it mentions, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  struct Node;

 private:
  std::string text_;
  std::vector<std::string> keys_;
  std::shared_ptr<const Node> root_;
};

}  // namespace ridgeline
