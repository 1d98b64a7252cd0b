// SGLang's prefix cache: a tree of token sequences whose KV stays in memory after the requests that computed it have left.
// Rules: sglang 9fec359a, mem_cache/radix_cache.py.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "sim/serving/request.hpp"

namespace ridgeline {

/// All tokens of a request by name: the prompt's known runs, its unique rest, then all outputs it will generate.
Content whole_content(const RequestSpec& spec);

/// Nodes hold runs of tokens and split where sequences part. Lengths in the tree are whole pages. A locked node (and with it
/// its ancestors) is in use; the others can be evicted, leaves first, least recently used first.
class RadixTree {
 public:
  class Node;
  struct Match {
    std::int64_t tokens = 0;
    Node* node = nullptr;  ///< the last node of the match; the root when nothing matches
  };

  explicit RadixTree(std::int64_t page_size);
  ~RadixTree();
  RadixTree(const RadixTree&) = delete;
  RadixTree& operator=(const RadixTree&) = delete;

  /// The longest cached prefix of the first `length` tokens of `content`, and marks it used. Splits a node in which it ends.
  Match match(const Content& content, std::int64_t length);
  /// Adds the first `length` tokens, rounded down to pages. Returns how many of them were there already.
  std::int64_t insert(const Content& content, std::int64_t length);

  void lock(Node* node);
  void unlock(Node* node);

  /// Drops whole leaves until at least `tokens` are gone or nothing is left to drop. Returns how many tokens went.
  std::int64_t evict(std::int64_t tokens);
  void clear();

  [[nodiscard]] Node* root() const { return root_.get(); }
  [[nodiscard]] std::int64_t evictable_tokens() const { return evictable_; }
  [[nodiscard]] std::int64_t cached_tokens() const { return cached_; }

  // Shape, for policies that walk it.
  [[nodiscard]] static Node* parent(const Node* node);
  /// Grows with every node that becomes a child of its parent anew; a split keeps the place.
  [[nodiscard]] static std::int64_t place_among_siblings(const Node* node);

 private:
  struct LessRecent {
    bool operator()(const Node* a, const Node* b) const;
  };

  [[nodiscard]] Node* child(const Node& node, const class ContentCursor& key) const;
  Node* split(Node& node, std::int64_t tokens);
  Node* attach(Node& parent, std::unique_ptr<Node> node);
  void touch(Node& node, std::int64_t now);
  void update_leaf(Node& node);
  void unlist(Node& node);
  void drop(Node& leaf);

  std::int64_t page_size_;
  std::unique_ptr<Node> root_;
  std::set<Node*, LessRecent> evictable_leaves_;
  std::int64_t evictable_ = 0;
  std::int64_t cached_ = 0;
  std::int64_t clock_ = 0;  // counts uses: the order of accesses is all that eviction looks at
  std::int64_t next_place_ = 0;
};

}  // namespace ridgeline
