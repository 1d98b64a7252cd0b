#include "sim/base/config.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace ridgeline {

struct Config::Node {
  Kind kind = Kind::null;
  bool quoted = false;
  std::string scalar;
  SourceLocation where;
  std::string path;
  std::vector<std::shared_ptr<const Node>> items;                          // sequence
  std::vector<std::pair<std::string, std::shared_ptr<const Node>>> entries;  // map

  [[nodiscard]] const Node* find(std::string_view key) const {
    for (const auto& [name, node] : entries) {
      if (name == key) return node.get();
    }
    return nullptr;
  }
};

using NodePointer = std::shared_ptr<const Config::Node>;

struct ConfigBuilder {
  static Config wrap(NodePointer node) { return Config(std::move(node)); }
  static const NodePointer& unwrap(const Config& config) { return config.node_; }
};

namespace {

constexpr std::size_t most_nodes = 200'000;

// Receives yaml-cpp's parse events and builds the tree, so that anchors, duplicates and places are ours to judge.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_scalar(mark, anchor, Config::Kind::null, "", false); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(mark, "an alias refers to the value that contains it");
    auto copy = std::make_shared<Config::Node>(*found->second);
    copy->where = place(mark);
    nodes_ += count(*copy);
    check_size(mark);
    attach(copy);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    const bool quoted = tag == "!";
    const bool null = !quoted && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
    add_scalar(mark, anchor, null ? Config::Kind::null : Config::Kind::scalar, value, quoted);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, Config::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, Config::Kind::map);
  }
  void OnMapEnd() override { close(); }

  NodePointer root;
  Diagnostics errors;

 private:
  struct Frame {
    std::shared_ptr<Config::Node> node;
    YAML::anchor_t anchor;
    std::optional<std::string> key;  // of a map: the key waiting for its value
    SourceLocation key_place;
  };

  [[nodiscard]] SourceLocation place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  [[noreturn]] void fail(const YAML::Mark& mark, std::string message) const {
    throw ConfigError(Diagnostic{place(mark), {}, std::move(message)});
  }
  void check_size(const YAML::Mark& mark) const {
    if (nodes_ > most_nodes) fail(mark, fmt::format("more than {} values (aliases expanded)", most_nodes));
  }
  static std::size_t count(const Config::Node& node) {
    std::size_t sum = 1;
    for (const auto& item : node.items) sum += count(*item);
    for (const auto& entry : node.entries) sum += count(*entry.second);
    return sum;
  }
  void add_scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Config::Kind kind, const std::string& value, bool quoted) {
    ++nodes_;
    check_size(mark);
    auto node = std::make_shared<Config::Node>();
    node->kind = kind;
    node->quoted = quoted;
    node->scalar = value;
    node->where = place(mark);
    if (anchor != 0) anchors_[anchor] = node;
    attach(node);
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Config::Kind kind) {
    ++nodes_;
    check_size(mark);
    auto node = std::make_shared<Config::Node>();
    node->kind = kind;
    node->where = place(mark);
    stack_.push_back({std::move(node), anchor, std::nullopt, {}});
  }
  void close() {
    const Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.anchor != 0) anchors_[frame.anchor] = frame.node;
    attach(frame.node);
  }
  void attach(const std::shared_ptr<Config::Node>& node) {
    if (stack_.empty()) {
      root = node;
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == Config::Kind::sequence) {
      frame.node->items.push_back(node);
    } else if (!frame.key) {
      if (node->kind != Config::Kind::scalar) {
        throw ConfigError(Diagnostic{node->where, {}, "a key must be plain text"});
      }
      frame.key = node->scalar;
      frame.key_place = node->where;
    } else {
      if (const Config::Node* first = frame.node->find(*frame.key)) {
        errors.add({frame.key_place, *frame.key, fmt::format("duplicate key, first given at line {}", first->where.line)});
      } else {
        frame.node->entries.emplace_back(*frame.key, node);
      }
      frame.key.reset();
    }
  }

  std::string file_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, std::shared_ptr<const Config::Node>> anchors_;
  std::size_t nodes_ = 0;
};

std::string child_path(const std::string& parent, const std::string& key) { return parent.empty() ? key : parent + "." + key; }

// Copies the tree with its dotted paths filled in.
NodePointer with_paths(const Config::Node& node, const std::string& path) {
  auto copy = std::make_shared<Config::Node>(node);
  copy->path = path;
  for (std::size_t i = 0; i < copy->items.size(); ++i) copy->items[i] = with_paths(*node.items[i], fmt::format("{}[{}]", path, i));
  for (auto& [key, child] : copy->entries) child = with_paths(*child, child_path(path, key));
  return copy;
}

const NodePointer& null_node() {
  static const NodePointer node = std::make_shared<Config::Node>();
  return node;
}

}  // namespace

Config::Config() : node_(null_node()) {}

Config Config::parse(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    throw ConfigError(Diagnostic{{file, placed ? error.mark.line + 1 : 0, placed ? error.mark.column + 1 : 0}, {}, "not valid YAML: " + error.msg});
  }
  builder.errors.throw_if_any();
  if (!builder.root) return make_map({file, 1, 1}, "");
  return Config(with_paths(*builder.root, ""));
}

Config Config::load(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const std::string name = file.string();
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) throw ConfigError(Diagnostic{{name}, {}, "no such file"});
  if (fs::is_directory(status)) throw ConfigError(Diagnostic{{name}, {}, "is a directory, expected a YAML file"});
  constexpr std::uintmax_t most = 64ULL << 20;
  if (fs::is_regular_file(status) && fs::file_size(file, error) > most) {
    throw ConfigError(Diagnostic{{name}, {}, "larger than 64 MiB, expected a YAML file"});
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  if (stream) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad()) throw ConfigError(Diagnostic{{name}, {}, "cannot be read"});
  return parse(text, name);
}

Config Config::make_scalar(std::string text, SourceLocation where, std::string path) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::scalar;
  node->scalar = std::move(text);
  node->where = std::move(where);
  node->path = std::move(path);
  return Config(node);
}

Config Config::make_map(SourceLocation where, std::string path) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::map;
  node->where = std::move(where);
  node->path = std::move(path);
  return Config(node);
}

Config::Kind Config::kind() const { return node_->kind; }
bool Config::is_quoted() const { return node_->quoted; }
const std::string& Config::scalar() const { return node_->scalar; }
const SourceLocation& Config::where() const { return node_->where; }
const std::string& Config::path() const { return node_->path; }
std::size_t Config::size() const { return is_map() ? node_->entries.size() : node_->items.size(); }
Config Config::at(std::size_t index) const { return Config(node_->items.at(index)); }

std::vector<std::pair<std::string, Config>> Config::entries() const {
  std::vector<std::pair<std::string, Config>> list;
  for (const auto& [key, node] : node_->entries) list.emplace_back(key, Config(node));
  return list;
}

std::optional<Config> Config::find(std::string_view key) const {
  for (const auto& [name, node] : node_->entries) {
    if (name == key) return Config(node);
  }
  return std::nullopt;
}

namespace {

struct PathStep {
  std::string key;       // of a map, when index < 0
  std::ptrdiff_t index;  // of a sequence
};

std::vector<PathStep> split_path(const std::string& path) {
  const auto malformed = [&](const std::string& why) { return ConfigError("`" + path + "` is not a key path: " + why); };
  std::vector<PathStep> steps;
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '[') {
      const std::size_t end = path.find(']', i);
      std::ptrdiff_t index = -1;
      const char* first = path.data() + i + 1;
      if (end == std::string::npos) throw malformed("`[` without `]`");
      const auto [parsed, error] = std::from_chars(first, path.data() + end, index);
      if (error != std::errc{} || parsed != path.data() + end || index < 0) throw malformed("expected a number in `[]`");
      steps.push_back({{}, index});
      i = end + 1;
      if (i < path.size() && path[i] == '.') ++i;
    } else {
      const std::size_t end = std::min(path.find_first_of(".[", i), path.size());
      if (end == i) throw malformed("an empty key");
      steps.push_back({path.substr(i, end - i), -1});
      i = end < path.size() && path[end] == '.' ? end + 1 : end;
    }
  }
  if (steps.empty()) throw malformed("it is empty");
  return steps;
}

NodePointer replaced(const NodePointer& node, const std::vector<PathStep>& steps, std::size_t depth, const NodePointer& value) {
  if (depth == steps.size()) return value;
  const PathStep& step = steps[depth];
  auto copy = std::make_shared<Config::Node>(*node);
  if (step.index >= 0) {
    const auto index = static_cast<std::size_t>(step.index);
    if (node->kind != Config::Kind::sequence || index >= node->items.size()) {
      throw ConfigError(Diagnostic{value->where, value->path, fmt::format("there is no item [{}] in `{}`", index, node->path)});
    }
    copy->items[index] = replaced(node->items[index], steps, depth + 1, value);
    return copy;
  }
  if (node->kind == Config::Kind::null) copy->kind = Config::Kind::map;
  if (copy->kind != Config::Kind::map) {
    throw ConfigError(Diagnostic{value->where, value->path, fmt::format("`{}` is not a map, so it has no key `{}`", node->path, step.key)});
  }
  for (auto& [key, child] : copy->entries) {
    if (key == step.key) {
      child = replaced(child, steps, depth + 1, value);
      return copy;
    }
  }
  auto empty = std::make_shared<Config::Node>();
  empty->where = value->where;
  empty->path = child_path(node->path, step.key);
  copy->entries.emplace_back(step.key, replaced(empty, steps, depth + 1, value));
  return copy;
}

NodePointer merge(const NodePointer& base, const NodePointer& overlay) {
  if (base->kind != Config::Kind::map || overlay->kind != Config::Kind::map) return overlay;
  auto copy = std::make_shared<Config::Node>(*base);
  for (const auto& [key, node] : overlay->entries) {
    const auto found = std::find_if(copy->entries.begin(), copy->entries.end(), [&key = key](const auto& entry) { return entry.first == key; });
    if (found == copy->entries.end()) {
      copy->entries.emplace_back(key, node);
    } else {
      found->second = merge(found->second, node);
    }
  }
  return copy;
}

void emit(YAML::Emitter& out, const Config::Node& node) {
  switch (node.kind) {
    case Config::Kind::null: out << YAML::Null; break;
    case Config::Kind::scalar:
      if (node.quoted) out << YAML::DoubleQuoted;
      out << node.scalar;
      break;
    case Config::Kind::sequence: {
      const bool scalars = std::all_of(node.items.begin(), node.items.end(), [](const auto& item) { return item->kind == Config::Kind::scalar; });
      if (scalars) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const auto& item : node.items) emit(out, *item);
      out << YAML::EndSeq;
      break;
    }
    case Config::Kind::map:
      out << YAML::BeginMap;
      for (const auto& [key, child] : node.entries) {
        out << YAML::Key << key << YAML::Value;
        emit(out, *child);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

Config Config::with(const std::string& path, const Config& value) const {
  return Config(with_paths(*replaced(node_, split_path(path), 0, value.node_), ""));
}

Config Config::merged(const Config& overlay) const { return Config(with_paths(*merge(node_, overlay.node_), node_->path)); }

std::string Config::to_yaml() const {
  YAML::Emitter out;
  emit(out, *node_);
  return std::string(out.c_str()) + "\n";
}

}  // namespace ridgeline
