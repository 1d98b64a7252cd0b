// Blocks handled as runs decide as blocks handled one by one: both caches, driven side by side over random content that is shared,
// partly shared, cut at odd places and overwritten, agree on every hit, allocation, free block and overwritten block.
#include <algorithm>
#include <memory>

#include "sim/base/rng.hpp"
#include "sim/serving/kv_paged_cache.hpp"
#include "sim/serving/kv_run_cache.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

class SideBySide {
 public:
  explicit SideBySide(std::uint64_t seed) : stream_(seed, "kv_runs_test", "drive") {
    config_.block_size = std::int64_t{1} << between(0, 5);
    if (one_in(4)) config_.block_size = 3;
    config_.max_model_len = config_.block_size * between(4, 40);
    config_.num_gpu_blocks = 2 + config_.max_model_len / config_.block_size * between(1, 6) + between(0, 9);
    config_.prepend_unhashed_free_blocks = !one_in(3);
    config_.enable_prefix_caching = true;
    if (one_in(4)) config_.speculation = SpeculationConfig{.method = "eagle", .acceptance = {}, .accepted = {}, .by_batch_size = {}};
    unit_ = one_in(2) ? config_.block_size * between(1, 6) : between(1, 4 * config_.block_size);
    paged_ = std::make_unique<PagedKvCache>(config_, 1);
    runs_ = std::make_unique<RunKvCache>(config_);
    users_.resize(static_cast<std::size_t>(between(2, 12)));
    for (User& user : users_) enter(user);
  }

  void step() {
    User& user = users_[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(users_.size()) - 1))];
    if (one_in(40)) leave(user, false);
    else if (user.running && one_in(25)) leave(user, true);
    else if (!user.running) admit(user);
    else go_on(user);
    same();
  }

  std::int64_t hits = 0;     // tokens
  std::int64_t evicted = 0;  // blocks

 private:
  struct User {
    std::unique_ptr<RequestSpec> spec;
    KvSequence paged, runs;
    std::int64_t known = 0;
    std::int64_t computed = 0;
    bool running = false;
  };

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

  // Pieces of a tree of conversations: at every level one of two streams, its length fixed or cut, in one run or in several.
  Content some_content() {
    Content content;
    const std::int64_t levels = between(1, 8);
    for (std::int64_t level = 0; level < levels; ++level) {
      const std::uint64_t name = static_cast<std::uint64_t>(2 * level + (one_in(3) ? 1 : 0));
      const std::int64_t start = one_in(10) ? between(1, unit_) : 0;
      const std::int64_t length = one_in(4) ? between(1, 2 * unit_) : unit_ * (1 + level % 3);
      const std::int64_t cut = one_in(4) ? between(0, length) : 0;
      if (cut > 0) content.push_back({name, Tokens{start}, Tokens{cut}});
      content.push_back({name, Tokens{start + cut}, Tokens{length - cut}});
    }
    return content;
  }

  void enter(User& user) {
    auto spec = std::make_unique<RequestSpec>();
    spec->row = row_++;
    if (!one_in(5)) {
      Content content = some_content();
      if (quotable_ && one_in(3)) {  // an earlier prompt, and what was answered
        content = *quotable_->content;
        content.push_back({output_stream(quotable_->row), Tokens{0}, Tokens{between(1, 3 * unit_)}});
        for (const ContentRun& run : some_content()) content.push_back(run);
      }
      std::int64_t length = 0;
      std::int64_t room = config_.max_model_len - 1;
      for (ContentRun& run : content) {
        run.length = Tokens{std::min(run.length.count(), room)};
        room -= run.length.count();
        length += run.length.count();
      }
      spec->input = Tokens{std::min(length + (one_in(2) ? between(1, unit_) : 0), config_.max_model_len - 1)};
      const bool quotable = length == spec->input.count();
      spec->content = std::make_shared<const Content>(std::move(content));
      if (quotable && one_in(2)) quotable_ = std::make_unique<RequestSpec>(*spec);
    } else {
      spec->input = Tokens{between(1, config_.max_model_len - 1)};
    }
    user.known = spec->input.count();
    user.computed = 0;
    user.running = false;
    paged_->start(user.paged, *spec);
    runs_->start(user.runs, *spec);
    user.spec = std::move(spec);
  }

  void admit(User& user) {
    const std::int64_t hit = paged_->find_prefix(user.paged, user.known);
    REQUIRE(runs_->find_prefix(user.runs, user.known) == hit);
    if (one_in(8)) return;  // only asked
    hits += hit;
    user.computed = hit;
    user.running = allocate(user, one_in(2));
    if (!user.running) user.computed = 0;
  }

  void go_on(User& user) {
    if (!allocate(user, false) && one_in(2)) leave(users_[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(users_.size()) - 1))], true);
  }

  bool allocate(User& user, bool whole) {
    const std::int64_t wanted = one_in(3) ? user.known : between(1, 4 * config_.block_size);
    const SlotRequest request{.computed = user.computed,
                              .processed = user.computed,
                              .new_tokens = std::min(wanted, user.known - user.computed),
                              .lookahead = config_.speculation ? between(0, 3) : 0,
                              .known = user.known,
                              .whole_must_fit = whole,
                              .watermark = one_in(5) ? between(0, 3) : 0,
                              .commits = !one_in(6)};
    const bool fits = paged_->allocate(user.paged, request);
    REQUIRE(runs_->allocate(user.runs, request) == fits);
    if (!fits) return false;
    user.computed += request.new_tokens;
    if (!request.commits && one_in(2)) {
      paged_->commit(user.paged, user.computed);
      runs_->commit(user.runs, user.computed);
    }
    if (user.computed < user.known) return true;
    if (user.known == config_.max_model_len) leave(user, false);
    else ++user.known;
    return user.running || user.computed > 0;
  }

  void leave(User& user, bool returns) {
    if (user.running || user.computed > 0) {
      paged_->release(user.paged, returns);
      runs_->release(user.runs, returns);
    }
    user.running = false;
    user.computed = 0;
    if (!returns) enter(user);
  }

  void same() {
    REQUIRE(runs_->free_blocks() == paged_->free_blocks());
    const std::int64_t overwritten = paged_->take_evicted_blocks();
    REQUIRE(runs_->take_evicted_blocks() == overwritten);
    evicted += overwritten;
    for (User& user : users_) {
      REQUIRE(user.runs.held == user.paged.held);
      if (!user.running) REQUIRE(runs_->find_prefix(user.runs, user.known) == paged_->find_prefix(user.paged, user.known));
    }
  }

  RandomStream stream_;
  EngineConfig config_;
  std::int64_t unit_ = 0;  // tokens, the usual length of a piece
  std::int64_t row_ = 0;
  std::unique_ptr<RequestSpec> quotable_;
  std::unique_ptr<PagedKvCache> paged_;
  std::unique_ptr<RunKvCache> runs_;
  std::vector<User> users_;
};

}  // namespace

TEST_CASE("KV blocks in runs are found, taken, freed and overwritten as blocks one by one") {
  std::int64_t hits = 0;
  std::int64_t evicted = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    SideBySide caches(seed);
    for (int step = 0; step < 2000; ++step) {
      INFO("step " << step);
      caches.step();
    }
    hits += caches.hits;
    evicted += caches.evicted;
  }
  CHECK(hits > 100'000);
  CHECK(evicted > 100'000);
}
