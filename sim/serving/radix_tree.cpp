#include "sim/serving/radix_tree.hpp"

#include <algorithm>
#include <utility>

namespace ridgeline {

Content whole_content(const RequestSpec& spec) {
  Content content;
  std::int64_t left = spec.input.count();
  if (spec.content) {
    for (const ContentRun& run : *spec.content) {
      if (left == 0) break;
      content.push_back({run.stream, run.offset, std::min(run.length, Tokens{left})});
      left -= content.back().length.count();
    }
  }
  if (left > 0) {
    content.push_back({prompt_stream(spec.row), spec.input - Tokens{left}, Tokens{left}});
  }
  content.push_back({output_stream(spec.row), Tokens{0}, spec.output});
  return content;
}

/// Names a token: equal names, equal tokens.
struct TokenName {
  std::uint64_t stream = 0;
  std::int64_t offset = 0;
  friend auto operator<=>(const TokenName&, const TokenName&) = default;
};

/// Reads runs from some token on.
class ContentCursor {
 public:
  ContentCursor(const Content& content, std::int64_t length) : run_(content.data()), length_(length) { skip_empty(); }

  [[nodiscard]] std::int64_t left() const { return length_; }
  [[nodiscard]] TokenName front() const { return {run_->stream, run_->offset.count() + position_}; }

  void skip(std::int64_t tokens) {
    length_ -= tokens;
    while (tokens > 0) {
      const std::int64_t step = std::min(tokens, run_->length.count() - position_);
      position_ += step;
      tokens -= step;
      if (tokens > 0) ++run_, position_ = 0;
    }
    skip_empty();
  }

  /// The next `tokens` as runs of their own.
  [[nodiscard]] Content take(std::int64_t tokens) const {
    Content content;
    ContentCursor at = *this;
    while (tokens > 0) {
      const std::int64_t step = std::min(tokens, at.run_left());
      content.push_back({at.front().stream, Tokens{at.front().offset}, Tokens{step}});
      at.skip(step);
      tokens -= step;
    }
    return content;
  }

  /// How many leading tokens two sequences share.
  [[nodiscard]] static std::int64_t common(ContentCursor a, ContentCursor b) {
    std::int64_t shared = 0;
    while (a.left() > 0 && b.left() > 0 && a.front() == b.front()) {
      const std::int64_t step = std::min(a.run_left(), b.run_left());
      a.skip(step);
      b.skip(step);
      shared += step;
    }
    return shared;
  }

 private:
  /// Tokens left in the current run, within the length.
  [[nodiscard]] std::int64_t run_left() const { return std::min(length_, run_->length.count() - position_); }
  void skip_empty() {
    if (length_ > 0) {
      while (position_ == run_->length.count()) ++run_, position_ = 0;
    }
  }

  const ContentRun* run_;
  std::int64_t length_;
  std::int64_t position_ = 0;  // within the run
};

class RadixTree::Node {
 public:
  Content tokens;
  std::int64_t length = 0;
  Node* parent = nullptr;
  // By first token; with pages of several tokens, siblings may share it.
  std::multimap<TokenName, std::unique_ptr<Node>> children;
  std::int64_t locks = 0;
  std::int64_t last_use = 0;
  std::int64_t place = 0;
  bool listed = false;  // among the evictable leaves

  [[nodiscard]] ContentCursor cursor() const { return {tokens, length}; }
};

// No two leaves have the same last use: a use touches one path.
bool RadixTree::LessRecent::operator()(const Node* a, const Node* b) const { return a->last_use < b->last_use; }

RadixTree::RadixTree(std::int64_t page_size) : page_size_(page_size) { clear(); }
RadixTree::~RadixTree() = default;

void RadixTree::clear() {
  evictable_leaves_.clear();
  root_ = std::make_unique<Node>();
  root_->locks = 1;
  evictable_ = cached_ = 0;
}

RadixTree::Node* RadixTree::parent(const Node* node) { return node->parent; }
std::int64_t RadixTree::place_among_siblings(const Node* node) { return node->place; }

RadixTree::Node* RadixTree::child(const Node& node, const ContentCursor& key) const {
  const auto [first, last] = node.children.equal_range(key.front());
  for (auto at = first; at != last; ++at) {
    if (page_size_ == 1 || ContentCursor::common(at->second->cursor(), key) >= page_size_) return at->second.get();
  }
  return nullptr;
}

RadixTree::Match RadixTree::match(const Content& content, std::int64_t length) {
  Match result{0, root_.get()};
  ContentCursor key(content, length / page_size_ * page_size_);
  const std::int64_t now = ++clock_;
  while (key.left() > 0) {
    Node* next = child(*result.node, key);
    if (!next) break;
    touch(*next, now);
    const std::int64_t shared = ContentCursor::common(next->cursor(), key) / page_size_ * page_size_;
    result.tokens += shared;
    if (shared < next->length) {
      result.node = split(*next, shared);
      break;
    }
    result.node = next;
    key.skip(shared);
  }
  return result;
}

std::int64_t RadixTree::insert(const Content& content, std::int64_t length) {
  const Match found = match(content, length);
  ContentCursor key(content, length / page_size_ * page_size_);
  if (key.left() == found.tokens) return found.tokens;
  key.skip(found.tokens);
  auto leaf = std::make_unique<Node>();
  leaf->length = key.left();
  leaf->tokens = key.take(key.left());
  leaf->last_use = ++clock_;
  leaf->place = next_place_++;
  evictable_ += leaf->length;
  cached_ += leaf->length;
  Node* added = attach(*found.node, std::move(leaf));
  update_leaf(*found.node);
  update_leaf(*added);
  return found.tokens;
}

RadixTree::Node* RadixTree::attach(Node& parent, std::unique_ptr<Node> node) {
  node->parent = &parent;
  const TokenName first = node->cursor().front();
  return parent.children.emplace(first, std::move(node))->second.get();
}

/// Puts a new node with the first `tokens` above `node`, which keeps the rest. Returns the new node.
RadixTree::Node* RadixTree::split(Node& node, std::int64_t tokens) {
  Node& above = *node.parent;
  const auto [first, last] = above.children.equal_range(node.cursor().front());
  const auto own = std::find_if(first, last, [&](const auto& entry) { return entry.second.get() == &node; });
  std::unique_ptr<Node> lower = std::move(own->second);
  above.children.erase(own);

  auto upper = std::make_unique<Node>();
  ContentCursor key = lower->cursor();
  upper->tokens = key.take(tokens);
  upper->length = tokens;
  upper->locks = lower->locks;
  upper->last_use = ++clock_;
  upper->place = lower->place;
  key.skip(tokens);
  lower->tokens = key.take(key.left());
  lower->length -= tokens;
  lower->place = next_place_++;
  Node* added = attach(above, std::move(upper));
  attach(*added, std::move(lower));
  return added;
}

void RadixTree::lock(Node* node) {
  for (; node != root_.get(); node = node->parent) {
    if (node->locks++ == 0) evictable_ -= node->length;
    update_leaf(*node);
  }
}

void RadixTree::unlock(Node* node) {
  for (; node != root_.get(); node = node->parent) {
    if (--node->locks == 0) evictable_ += node->length;
    update_leaf(*node);
  }
}

std::int64_t RadixTree::evict(std::int64_t tokens) {
  std::int64_t evicted = 0;
  while (evicted < tokens && !evictable_leaves_.empty()) {
    Node& leaf = **evictable_leaves_.begin();
    evicted += leaf.length;
    drop(leaf);
  }
  return evicted;
}

void RadixTree::drop(Node& leaf) {
  evictable_ -= leaf.length;
  cached_ -= leaf.length;
  unlist(leaf);
  Node& above = *leaf.parent;
  const auto [first, last] = above.children.equal_range(leaf.cursor().front());
  above.children.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second.get() == &leaf; }));
  update_leaf(above);
}

void RadixTree::touch(Node& node, std::int64_t now) {
  const bool listed = node.listed;
  unlist(node);
  node.last_use = now;
  if (listed) update_leaf(node);
}

void RadixTree::update_leaf(Node& node) {
  if (&node == root_.get()) return;
  unlist(node);
  if (node.locks > 0 || !node.children.empty()) return;
  evictable_leaves_.insert(&node);
  node.listed = true;
}

void RadixTree::unlist(Node& node) {
  if (node.listed) evictable_leaves_.erase(&node);
  node.listed = false;
}

}  // namespace ridgeline
