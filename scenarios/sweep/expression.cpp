#include "scenarios/sweep/expression.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {

// `op` is an operator's spelling, "-1" for unary minus, "key" or "value".
struct Expression::Node {
  std::string op;
  Value value = false;                             // of a value
  std::string key;                                 // of a key
  std::vector<std::shared_ptr<const Node>> parts;  // operands
};

namespace {

using Node = Expression::Node;
using NodePointer = std::shared_ptr<const Node>;

NodePointer operation(std::string op, std::vector<NodePointer> parts) {
  return std::make_shared<Node>(Node{.op = std::move(op), .parts = std::move(parts)});
}

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '[' || c == ']'; }

// Recursive descent: one function per level of precedence.
class Parser {
 public:
  Parser(const std::string& text, std::vector<std::string>& keys) : text_(text), keys_(keys) {}

  NodePointer parse() {
    NodePointer root = disjunction();
    skip_blanks();
    if (at_ < text_.size()) fail(fmt::format("unexpected `{}`", text_.substr(at_, 12)));
    return root;
  }

 private:
  // Parentheses and signs nest by recursion; no rule of a person's comes near this.
  static constexpr int deepest = 200;

  NodePointer disjunction() {
    NodePointer left = conjunction();
    while (take_word("or")) left = operation("or", {left, conjunction()});
    return left;
  }
  NodePointer conjunction() {
    NodePointer left = negation();
    while (take_word("and")) left = operation("and", {left, negation()});
    return left;
  }
  NodePointer negation() {
    if (!take_word("not")) return comparison();
    const Depth depth(*this);
    return operation("not", {negation()});
  }
  NodePointer comparison() {
    NodePointer left = sum();
    const std::string op = take_comparison();
    if (op.empty()) return left;
    left = operation(op, {left, sum()});
    const std::size_t after = at_;
    if (!take_comparison().empty()) {
      at_ = after;
      fail("two comparisons in a row; join them with `and`");
    }
    return left;
  }
  NodePointer sum() {
    NodePointer left = product();
    for (char op = take_one_of("+-"); op != '\0'; op = take_one_of("+-")) left = operation(std::string(1, op), {left, product()});
    return left;
  }
  NodePointer product() {
    NodePointer left = factor();
    for (char op = take_one_of("*/%"); op != '\0'; op = take_one_of("*/%")) left = operation(std::string(1, op), {left, factor()});
    return left;
  }
  NodePointer factor() {
    const Depth depth(*this);
    skip_blanks();
    if (at_ == text_.size()) fail("expected a key, a number or text in quotes");
    const char c = text_[at_];
    if (take_one_of("(") != '\0') {
      NodePointer inner = disjunction();
      if (take_one_of(")") == '\0') fail("expected `)`");
      return inner;
    }
    if (take_one_of("-") != '\0') return operation("-1", {factor()});
    if (c == '\'' || c == '"') return quoted();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (starts_word(c)) return key_or_truth();
    fail(fmt::format("expected a key, a number or text in quotes, got `{}`", c));
  }
  NodePointer quoted() {
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) fail("a quote without its end");
    std::string content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::make_shared<Node>(Node{.op = "value", .value = std::move(content)});
  }
  NodePointer number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) fail("not a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && starts_word(text_[at_])) fail("a number runs into a word; text stands in quotes");
    return std::make_shared<Node>(Node{.op = "value", .value = value});
  }
  NodePointer key_or_truth() {
    std::size_t end = at_;
    while (end < text_.size() && in_word(text_[end])) ++end;
    std::string word = text_.substr(at_, end - at_);
    at_ = end;
    if (word == "true" || word == "false") return std::make_shared<Node>(Node{.op = "value", .value = word == "true"});
    if (word == "and" || word == "or" || word == "not") {
      at_ -= word.size();
      fail(fmt::format("expected a key, a number or text in quotes, got `{}`", word));
    }
    keys_.push_back(word);
    return std::make_shared<Node>(Node{.op = "key", .key = std::move(word)});
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char take_one_of(std::string_view characters) {
    skip_blanks();
    if (at_ == text_.size() || characters.find(text_[at_]) == std::string_view::npos) return '\0';
    return text_[at_++];
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!std::string_view(text_).substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && in_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  std::string take_comparison() {
    skip_blanks();
    constexpr std::array<std::string_view, 6> operators{"==", "!=", "<=", ">=", "<", ">"};
    for (const std::string_view op : operators) {
      if (!std::string_view(text_).substr(at_).starts_with(op)) continue;
      at_ += op.size();
      return std::string(op);
    }
    if (at_ < text_.size() && text_[at_] == '=') fail("`=` sets nothing here; compare with `==`");
    return {};
  }
  [[noreturn]] void fail(const std::string& message) const { throw ConfigError(fmt::format("at column {}: {}", at_ + 1, message)); }

  struct Depth {
    explicit Depth(Parser& of) : parser(of) {
      if (++parser.depth_ > deepest) parser.fail("nested too deeply");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  const std::string& text_;
  std::vector<std::string>& keys_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string shown(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return "'" + std::get<std::string>(value) + "'";
}

double as_number(const Value& value, const std::string& op) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  throw ConfigError(fmt::format("`{}` needs numbers, got {}", op, shown(value)));
}

bool as_truth(const Value& value, const std::string& op) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth;
  throw ConfigError(fmt::format("{} needs true or false, got {}", op, shown(value)));
}

Value combine(const std::string& op, const Value& left, const Value& right) {
  if (op == "==" || op == "!=") {
    if (left.index() != right.index()) throw ConfigError(fmt::format("`{}` compares {} with {}", op, shown(left), shown(right)));
    return (left == right) == (op == "==");
  }
  const double a = as_number(left, op);
  const double b = as_number(right, op);
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (b == 0) throw ConfigError(fmt::format("`{}` by zero", op));
  return op == "/" ? a / b : std::fmod(a, b);
}

std::optional<Value> evaluate(const Node& node, const Expression::Names& names) {
  if (node.op == "value") return node.value;
  if (node.op == "key") return names(node.key);
  const std::optional<Value> left = evaluate(*node.parts.front(), names);
  if (node.op == "and" || node.op == "or") {
    // A known operand may decide alone, whichever side it stands on.
    const bool decides = node.op == "or";
    if (left && as_truth(*left, node.op) == decides) return decides;
    const std::optional<Value> right = evaluate(*node.parts.back(), names);
    if (right && as_truth(*right, node.op) == decides) return decides;
    return left && right ? std::optional<Value>(!decides) : std::nullopt;
  }
  if (!left) return std::nullopt;
  if (node.op == "not") return !as_truth(*left, node.op);
  if (node.op == "-1") return -as_number(*left, "-");
  const std::optional<Value> right = evaluate(*node.parts.back(), names);
  return right ? std::optional<Value>(combine(node.op, *left, *right)) : std::nullopt;
}

}  // namespace

Expression Expression::parse(const std::string& text) {
  Expression expression;
  expression.text_ = text;
  expression.root_ = Parser(text, expression.keys_).parse();
  return expression;
}

std::optional<bool> Expression::holds(const Names& names) const {
  const std::optional<Value> value = evaluate(*root_, names);
  return value ? std::optional(as_truth(*value, "a rule")) : std::nullopt;
}

}  // namespace ridgeline
