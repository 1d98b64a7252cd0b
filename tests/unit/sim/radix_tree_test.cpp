#include "sim/serving/radix_tree.hpp"

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

/// Tokens first … first+length-1 of a stream.
ContentRun run(std::uint64_t stream, std::int64_t first, std::int64_t length) {
  return {.stream = stream, .offset = Tokens{first}, .length = Tokens{length}};
}

}  // namespace

TEST_CASE("Radix tree: a match ends where the tokens part") {
  RadixTree tree(1);
  CHECK(tree.insert({run(1, 0, 10), run(2, 0, 10)}, 20) == 0);
  CHECK(tree.match({run(1, 0, 10), run(3, 0, 10)}, 20).tokens == 10);
  CHECK(tree.match({run(1, 0, 10), run(2, 0, 4), run(3, 4, 6)}, 20).tokens == 14);
  CHECK(tree.match({run(1, 5, 10)}, 10).tokens == 0);  // the same stream from elsewhere
  // How tokens are cut into runs does not matter.
  CHECK(tree.match({run(1, 0, 3), run(1, 3, 7), run(2, 0, 10)}, 20).tokens == 20);
  CHECK(tree.insert({run(1, 0, 10), run(2, 0, 14)}, 24) == 20);
  CHECK(tree.cached_tokens() == 24);
  CHECK(tree.evictable_tokens() == 24);
}

TEST_CASE("Radix tree: lengths are whole pages") {
  RadixTree tree(4);
  CHECK(tree.insert({run(1, 0, 10)}, 10) == 0);
  CHECK(tree.cached_tokens() == 8);
  CHECK(tree.match({run(1, 0, 7), run(2, 0, 9)}, 16).tokens == 4);
  // Siblings may share their first token: the pages differ later.
  CHECK(tree.insert({run(1, 0, 2), run(3, 0, 6)}, 8) == 0);
  CHECK(tree.match({run(1, 0, 2), run(3, 0, 6)}, 8).tokens == 8);
  CHECK(tree.match({run(1, 0, 8)}, 8).tokens == 8);
}

TEST_CASE("Radix tree: evicts leaves, the least recently used first, whole") {
  RadixTree tree(1);
  const Content old_branch{run(1, 0, 10), run(2, 0, 5)};
  const Content new_branch{run(1, 0, 10), run(3, 0, 7)};
  tree.insert(old_branch, 15);
  tree.insert(new_branch, 17);
  CHECK(tree.evict(1) == 5);
  CHECK(tree.match(old_branch, 15).tokens == 10);
  CHECK(tree.evict(8) == 17);  // the other leaf, then their parent, which has become one
  CHECK(tree.cached_tokens() == 0);
}

TEST_CASE("Radix tree: what is locked stays, with all before it") {
  RadixTree tree(1);
  const Content content{run(1, 0, 10), run(2, 0, 5)};
  tree.insert(content, 15);
  const RadixTree::Match match = tree.match(content, 12);  // splits the node
  tree.lock(match.node);
  CHECK(tree.evictable_tokens() == 3);
  CHECK(tree.evict(100) == 3);
  tree.unlock(match.node);
  CHECK(tree.evictable_tokens() == 12);
  CHECK(tree.evict(100) == 12);
}

TEST_CASE("Radix tree: outputs can be quoted by a later prompt") {
  RequestSpec first;
  first.row = 3;
  first.input = Tokens{8};
  first.output = Tokens{6};
  RadixTree tree(1);
  tree.insert(whole_content(first), 13);
  RequestSpec second;
  second.row = 4;
  second.input = Tokens{20};
  second.output = Tokens{1};
  second.content = std::make_shared<Content>(whole_content(first));  // the first prompt is unique to it
  CHECK(tree.match(whole_content(second), 19).tokens == 13);
}
