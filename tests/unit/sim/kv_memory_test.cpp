// What KV memory does beside paged blocks: swap, contiguous reservation, the host tier, token eviction. Sources of the rules
// stand at the code.
#include "sim/serving/contiguous_pool.hpp"
#include "sim/serving/host_kv_tier.hpp"
#include "tests/unit/sim/engine_driver.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

namespace {

constexpr Bytes block_bytes{1'000'000};
constexpr BytesPerSecond one_block_a_ms{1e9};

Duration ms(std::int64_t count) { return Duration::milliseconds(count); }
Time at(std::int64_t milliseconds) { return Time{ms(milliseconds)}; }

EngineConfig swapping_v0(std::int64_t gpu_blocks, std::int64_t host_blocks) {
  EngineConfig engine;
  engine.scheduler = "vllm_v0";
  engine.num_gpu_blocks = gpu_blocks;
  engine.preemption_mode = "swap";
  engine.host_kv.swap_blocks = host_blocks;
  engine.host_kv.block_bytes = block_bytes;
  engine.host_kv.copies_per_block = 64;
  return engine;
}

EngineConfig reserving(const std::string& scheduler, const std::string& policy) {
  EngineConfig engine;
  engine.scheduler = scheduler;
  engine.kv_reservation = policy;
  engine.num_gpu_blocks = 20;
  engine.max_model_len = 128;  // 8 blocks of 16
  engine.max_num_seqs = 16;
  return engine;
}

EngineConfig v1(std::int64_t usable_blocks) {
  EngineConfig engine;
  engine.scheduler = "vllm_v1";
  engine.num_gpu_blocks = usable_blocks + 1;
  engine.max_model_len = 4096;
  engine.async_scheduling = false;
  return engine;
}

EngineConfig with_tier(EngineConfig engine, std::int64_t host_blocks) {
  engine.host_kv = {.offload_blocks = host_blocks, .block_bytes = block_bytes, .link = {.bandwidth = one_block_a_ms, .per_copy = {}}};
  return engine;
}

EngineConfig evicting(KvEviction eviction, std::int64_t budget) {
  EngineConfig engine = v1(20);
  engine.enable_prefix_caching = false;
  engine.max_num_batched_tokens = budget;
  engine.kv_eviction = eviction;
  return engine;
}

Content stream(std::uint64_t name, std::int64_t tokens) { return {{name, Tokens{0}, Tokens{tokens}}}; }

}  // namespace

// --- Swap ----------------------------------------------------------------------------------------------------------------

TEST_CASE("vLLM V0 swaps a victim out and back in where it stood") {
  // 5 blocks of 16. A and B (30 prompt, 20 output) take 2 blocks each. Steps 2 and 3 bring them to 32 tokens; step 4 wants a
  // third block for both, one is left: A gets it, B's 2 blocks go to the host.
  EngineDriver engine(swapping_v0(5, 10));
  engine.add(30, 20).add(30, 20).run();
  CHECK(engine.preemptions == std::vector<std::int64_t>{1});
  CHECK(engine.step(4).plan.swapped.out.blocks == 2);
  CHECK(engine.step(4).plan.swapped.out.bytes == block_bytes * 2);
  CHECK(engine.step(4).plan.swapped.out.copies == 128);
  CHECK(engine.step(4).plan.batch.decode_sequences == 1);
  CHECK(engine.step(4).after.host_blocks == 2);
  CHECK(engine.step(4).after.free_blocks == 2);
  CHECK(engine.step(4).after.waiting == 1);
  // B needs its 2 blocks and one to go on: not before A has left with step 20 (49 tokens with KV, 4 blocks).
  CHECK(engine.step(20).after.free_blocks == 5);
  CHECK(engine.step(21).plan.swapped.in.blocks == 2);
  CHECK(engine.step(21).after.host_blocks == 0);
  // No prompt is computed again: 2 x 30 in step 1, then decodes only. B had 3 tokens and gets 17 more in steps 21 to 37.
  CHECK(engine.steps.size() == 37);
  for (std::size_t i = 2; i <= 37; ++i) CHECK(engine.step(i).plan.batch.chunks.empty());
  CHECK(engine.swapped().in.bytes == engine.swapped().out.bytes);
  CHECK(engine.step(37).after.free_blocks == 5);
}

TEST_CASE("vLLM V0 admits nobody while somebody is swapped out") {
  // As above, and C (10, 2) arrives during step 4. Its one block would fit in step 5; it waits for B to come back in step 21, which
  // then fills the pool but for one block, so C is prefilled in step 22.
  EngineDriver engine(swapping_v0(5, 10));
  engine.add(30, 20).add(30, 20).add(10, 2, ms(3) + Duration::microseconds(1)).run();
  for (std::size_t i = 5; i <= 21; ++i) CHECK(engine.step(i).plan.batch.chunks.empty());
  CHECK(engine.step(21).plan.batch.decode_sequences == 1);
  CHECK(engine.step(22).plan.batch.chunks.size() == 1);
}

TEST_CASE("vLLM V0 takes the latest first and brings back the earliest first") {
  // 6 blocks: A, B, C (30, 20) hold all six at the start. Step 2: the decode of A wants a free block: C goes. Then 2 are free; B's
  // decode finds them. Step 4 (32 tokens each): A takes a block, B the other; 0 free. Step 5: A wants one: B goes (33 tokens,
  // 3 blocks), C comes back only after B.
  EngineDriver engine(swapping_v0(6, 10));
  engine.add(30, 20).add(30, 20).add(30, 20).run();
  REQUIRE(engine.preemptions.size() >= 2);
  CHECK(engine.preemptions[0] == 2);
  CHECK(engine.preemptions[1] == 1);
  std::vector<std::int64_t> back;
  for (std::size_t i = 3; i < engine.admissions.size(); ++i) back.push_back(engine.admissions[i].request);
  REQUIRE(back.size() >= 2);
  CHECK(back[0] == 1);
  CHECK(engine.swapped().in.blocks == engine.swapped().out.blocks);
}

TEST_CASE("Swap space that is too small stops the engine, by name") {
  EngineDriver engine(swapping_v0(5, 1));  // B holds 2 blocks
  engine.add(30, 20).add(30, 20);
  std::string mistake;
  try {
    engine.run();
  } catch (const ConfigError& error) {
    mistake = error.what();
  }
  CHECK(mistake.find("swap_space") != std::string::npos);
  CHECK(mistake.find("request 1 ") != std::string::npos);
  // Swapped out near its end, A would never come back: 4 blocks at 49 tokens, and one for the next.
  EngineDriver tight(swapping_v0(4, 10));
  tight.add(30, 20);
  CHECK_THROWS_AS(tight.run(), ConfigError);
}

TEST_CASE("Recompute and swap keep the same tokens, swap computes fewer") {
  EngineConfig recompute = swapping_v0(5, 10);
  recompute.preemption_mode = "recompute";
  EngineDriver again(recompute);
  again.add(30, 20).add(30, 20).run();
  // B is computed again with its 3 outputs when A has left.
  CHECK(again.step(21).plan.batch.chunks.at(0).new_tokens == Tokens{33});
  CHECK(again.swapped().out.bytes == Bytes{});
  CHECK(again.steps.size() == 37);
}

// --- Contiguous reservation ----------------------------------------------------------------------------------------------

TEST_CASE("Contiguous memory: first fit, holes merge, a sum of holes is no hole") {
  ContiguousPool pool(10);
  CHECK(pool.take(4) == 0);
  CHECK(pool.take(3) == 4);
  CHECK(pool.take(3) == 7);
  CHECK_FALSE(pool.take(1));
  pool.give_back(0, 4);
  pool.give_back(7, 3);
  CHECK(pool.free_blocks() == 7);
  CHECK_FALSE(pool.fits(5));  // 4 and 3
  CHECK(pool.take(3) == 0);   // the first hole that serves
  pool.give_back(4, 3);       // joins block 3 and blocks 7 to 9
  CHECK(pool.take(7) == 3);
  pool.give_back(3, 7);
  CHECK_THROWS_AS(pool.give_back(4, 2), InternalError);
}

TEST_CASE("Orca reserves max_model_len, the next power of two, or the true length") {
  // 20 blocks of 16; requests of 20 prompt and 33 output tokens, 52 with KV at the end.
  // max: 128 tokens = 8 blocks: 2 fit, 4 blocks are left over. pow2: 20 + 64 = 84 = 6 blocks: 3 fit. oracle: 53 = 4 blocks: 5 fit.
  // paged: 2 blocks for the prompt: all 6 of them.
  const struct {
    const char* policy;
    std::int64_t batch;
    std::int64_t reserved, internal, external;
  } rows[] = {
      // After step 1 each holds 20 tokens of 52: reserved 32 each; internal: 128, 96 or 64 less 52.
      {"max", 2, 2 * 32, 2 * 76, 4 * 16},
      {"pow2", 3, 3 * 32, 3 * 44, 2 * 16},
      {"oracle", 5, 5 * 32, 5 * 12, 0},
      {"paged", 6, 0, 6 * 12, 0},
  };
  for (const auto& row : rows) {
    INFO(row.policy);
    EngineDriver engine(reserving("orca", row.policy));
    for (int i = 0; i < 6; ++i) engine.add(20, 33);
    engine.run();
    CHECK(engine.step(1).planned.running == row.batch);
    const KvWaste waste = engine.step(1).plan.waste.value();
    CHECK(waste.reserved == Tokens{row.reserved});
    CHECK(waste.internal == Tokens{row.internal});
    CHECK(waste.external == Tokens{row.external});
    CHECK(engine.steps.back().after.free_blocks == 20);
  }
}

TEST_CASE("Paged Orca preempts where reservations never would") {
  // Six requests of 52 tokens want 24 blocks at their end, of 20.
  EngineDriver paged(reserving("orca", "paged"));
  for (int i = 0; i < 6; ++i) paged.add(20, 33);
  CHECK_FALSE(paged.run().preemptions.empty());
  EngineDriver oracle(reserving("orca", "oracle"));
  for (int i = 0; i < 6; ++i) oracle.add(20, 33);
  CHECK(oracle.run().preemptions.empty());
}

TEST_CASE("Reservations of different lengths leave holes between them") {
  // Oracle, 12 blocks: A and C (16+16: 2 blocks) end early, B (16+48: 4) and D (16+48: 4) stay. E (16+32: 3 blocks) finds 4 free
  // blocks in two holes of 2 and waits: external fragmentation.
  EngineConfig config = reserving("orca", "oracle");
  config.num_gpu_blocks = 12;
  EngineDriver engine(config);
  engine.add(16, 16).add(16, 48).add(16, 16).add(16, 48).add(16, 32).run();
  CHECK(engine.step(17).planned.running == 2);
  CHECK(engine.step(17).planned.free_blocks == 4);
  CHECK(engine.step(17).plan.waste->external == Tokens{64});
  CHECK(engine.steps.back().after.free_blocks == 12);
}

TEST_CASE("A static batch is as large as its reservations allow") {
  for (const auto& [policy, batch] : {std::pair{"max", 2}, std::pair{"pow2", 3}, std::pair{"oracle", 5}}) {
    INFO(policy);
    EngineDriver engine(reserving("static", policy));
    for (int i = 0; i < 6; ++i) engine.add(20, 33);
    engine.run();
    CHECK(engine.step(1).planned.running == batch);
    CHECK(engine.steps.back().after.free_blocks == 20);
  }
}

TEST_CASE("Dynamic batching sends a batch off when no further request fits") {
  // Oracle, 20 blocks: five requests of 4 blocks fill it at 1 ms, long before the delay of 100 ms is over.
  EngineConfig config = reserving("dynamic_batching", "oracle");
  config.max_queue_delay = ms(100);
  EngineDriver engine(config);
  for (int i = 0; i < 6; ++i) engine.add(20, 33, Duration::microseconds(200 * i));
  engine.run();
  CHECK(engine.step(1).start == Time{Duration::microseconds(1000)});
  CHECK(engine.step(1).planned.running == 5);
}

// --- The host tier -------------------------------------------------------------------------------------------------------

TEST_CASE("The host tier stores at the link's pace and overwrites the least recently used") {
  HostKvTier tier({.offload_blocks = 3, .block_bytes = block_bytes, .link = {.bandwidth = one_block_a_ms, .per_copy = {}}});
  RequestSpec x, y;
  x.input = y.input = Tokens{64};
  y.row = 1;
  BlockHashes x_blocks, y_blocks;
  x_blocks.start(x, 16);
  y_blocks.start(y, 16);
  HostTransfer out, in;
  tier.store(x_blocks, 0, 3, at(0), out);  // arrive at 1, 2 and 3 ms
  CHECK(out.bytes == block_bytes * 3);
  CHECK(tier.find(x_blocks, 0, 3, at(2)) == 2);
  CHECK(tier.find(x_blocks, 0, 4, at(3)) == 3);
  CHECK(tier.find(x_blocks, 1, 4, at(3)) == 2);
  CHECK(tier.load(x_blocks, 0, 3, at(3), in) == at(6));
  CHECK(tier.load(x_blocks, 0, 1, at(4), in) == at(7));  // behind the first load
  tier.store(y_blocks, 0, 1, at(5), out);                // nothing may be overwritten: all are being loaded
  CHECK(out.blocks == 3);
  tier.store(y_blocks, 0, 1, at(6), out);  // block 0 of x is, still; block 2 was used before block 1
  CHECK(out.blocks == 4);
  CHECK(tier.find(x_blocks, 0, 3, at(9)) == 2);
  CHECK(tier.find(y_blocks, 0, 1, at(9)) == 1);
  tier.store(x_blocks, 0, 2, at(9), out);  // there already
  CHECK(out.blocks == 4);
  CHECK(tier.blocks() == 3);
}

TEST_CASE("vLLM V1 loads from the host what the GPU has forgotten, while its request waits") {
  // 5 blocks of 16. A: 64 tokens of X, one output: 4 full blocks, stored from 1 to 5 ms. B at 10 ms: 80 unique tokens take all five.
  // C at 40 ms: X and 16 more: nothing on the GPU, 4 blocks from the host by 44 ms; then its last 16 tokens are computed.
  EngineDriver engine(with_tier(v1(5), 100));
  engine.add(64, 1, {}, stream(7, 64)).add(80, 1, ms(10)).add(80, 1, ms(40), stream(7, 64)).run();
  CHECK(engine.tier.out.blocks == 4 + 5 + 1);
  CHECK(engine.tier.in.blocks == 4);
  CHECK(engine.tier.in.bytes == block_bytes * 4);
  REQUIRE(engine.admissions.size() == 3);
  CHECK(engine.admissions[2].cached == 64);
  CHECK(engine.admissions[2].at == at(44));
  CHECK(engine.steps.back().plan.batch.chunks.at(0).new_tokens == Tokens{16});
  CHECK(engine.steps.back().plan.batch.chunks.at(0).history == Tokens{64});
  CHECK(engine.cache_evictions == 4 + 5);  // B overwrote A's four, C's five blocks were B's
  CHECK(engine.steps.back().after.free_blocks == 5);
}

TEST_CASE("A prompt that the host has whole computes its last token") {
  EngineDriver engine(with_tier(v1(5), 100));
  engine.add(64, 1, {}, stream(7, 64)).add(80, 1, ms(10)).add(64, 1, ms(40), stream(7, 64)).run();
  CHECK(engine.admissions[2].cached == 63);
  CHECK(engine.steps.back().plan.batch.tokens() == Tokens{1});
}

TEST_CASE("What the GPU still has is not loaded") {
  // C comes when X's first blocks are on the GPU: B (16 tokens) took the fifth block and none of X.
  EngineDriver engine(with_tier(v1(5), 100));
  engine.add(64, 1, {}, stream(7, 64)).add(16, 1, ms(10)).add(80, 1, ms(40), stream(7, 64)).run();
  CHECK(engine.tier.in.blocks == 0);
  CHECK(engine.admissions[2].cached == 64);
  CHECK(engine.admissions[2].at == at(40));
}

TEST_CASE("Later requests overtake one that waits for its blocks") {
  // 20 blocks. X is flushed by B's 320 tokens. C (X + 16) needs 4 ms for its load; D, just behind it, starts at once.
  EngineDriver engine(with_tier(v1(20), 100));
  engine.add(64, 1, {}, stream(7, 64)).add(320, 1, ms(10)).add(80, 4, ms(60), stream(7, 64)).add(32, 4, ms(60)).run();
  REQUIRE(engine.admissions.size() == 4);
  CHECK(engine.admissions[2].request == 3);
  CHECK(engine.admissions[2].at == at(60));
  CHECK(engine.admissions[3].request == 2);
  CHECK(engine.admissions[3].at == at(64));  // the loads' end is a step's end, too
}

TEST_CASE("A preempted request finds its blocks in the host tier") {
  // 5 blocks; A (31, 40) and B (31, 40) fill 4; at 33 tokens A takes the fifth, B goes with 2 full blocks of 32 tokens. When A has
  // left, their blocks were overwritten by A's growth; the host has B's.
  const auto scenario = [](EngineConfig config) {
    EngineDriver engine(std::move(config));
    engine.add(31, 40).add(31, 40).run();
    return engine.admissions.back().cached;
  };
  EngineConfig plain = v1(5);
  plain.prepend_unhashed_free_blocks = true;
  CHECK(scenario(plain) == 0);
  CHECK(scenario(with_tier(plain, 100)) == 32);
}

// --- Token eviction ------------------------------------------------------------------------------------------------------

TEST_CASE("StreamingLLM keeps sinks and a window, in blocks and in what attention reads") {
  // 4 + 28 = 32 tokens kept, blocks of 16, pieces of 50 tokens; a prompt of 100 and 10 outputs: 109 tokens with KV in the end.
  EngineDriver engine(evicting({.policy = KvEviction::Policy::streaming_llm, .sinks = 4, .window = 28}, 50));
  engine.add(100, 10).run();
  CHECK(engine.step(1).plan.batch.chunks.at(0).history == Tokens{0});
  CHECK(engine.step(1).planned.free_blocks == 20 - 4);  // 50 tokens at once
  CHECK(engine.step(1).plan.evicted == Tokens{50 - 32});
  CHECK(engine.step(2).plan.batch.chunks.at(0).history == Tokens{32});
  CHECK(engine.step(2).planned.free_blocks == 20 - 6);  // 32 kept and 50 new
  CHECK(engine.step(2).plan.evicted == Tokens{50});
  for (std::size_t i = 3; i <= 11; ++i) {
    CHECK(engine.step(i).plan.batch.decode_context == Tokens{32});
    CHECK(engine.step(i).planned.free_blocks == 20 - 2);
    CHECK(engine.step(i).plan.evicted == Tokens{1});
  }
  CHECK(engine.evicted_tokens() == 109 - 32);
  CHECK(engine.steps.back().after.free_blocks == 20);
}

TEST_CASE("StreamingLLM leaves short sequences alone") {
  EngineDriver engine(evicting({.policy = KvEviction::Policy::streaming_llm, .sinks = 4, .window = 28}, 50));
  engine.add(10, 22).run();  // 31 tokens with KV
  CHECK(engine.evicted_tokens() == 0);
  CHECK(engine.steps.back().plan.batch.decode_context == Tokens{31});
}

TEST_CASE("H2O needs the whole prompt, then keeps its budget") {
  EngineDriver engine(evicting({.policy = KvEviction::Policy::h2o, .budget = 32}, 50));
  engine.add(100, 10).run();
  CHECK(engine.step(2).plan.batch.chunks.at(0).history == Tokens{50});
  CHECK(engine.step(2).planned.free_blocks == 20 - 7);
  CHECK(engine.step(2).plan.evicted == Tokens{0});
  CHECK(engine.step(3).plan.batch.decode_context == Tokens{32});
  CHECK(engine.step(3).planned.free_blocks == 20 - 2);
  CHECK(engine.step(3).plan.evicted == Tokens{101 - 32});
  CHECK(engine.evicted_tokens() == 109 - 32);
}

TEST_CASE("Bounded sequences run where whole ones would not fit") {
  // 4 blocks of 16 are 64 tokens. A prompt of 100 with 32 kept and pieces of 30 needs 62 tokens at most.
  EngineConfig config = evicting({.policy = KvEviction::Policy::streaming_llm, .sinks = 4, .window = 28}, 30);
  config.num_gpu_blocks = 5;
  EngineDriver bounded(config);
  CHECK(bounded.add(100, 10).run().steps.size() == 4 + 9);
  config.kv_eviction = {};
  EngineDriver whole(config);
  whole.add(100, 10);
  CHECK_THROWS_AS(whole.run(), ConfigError);
}

TEST_CASE("Token eviction refuses what it can't be together with") {
  EngineConfig config = evicting({.policy = KvEviction::Policy::h2o, .budget = 32}, 50);
  config.enable_prefix_caching = true;
  CHECK_THROWS_AS(EngineDriver(config), ConfigError);
  config.enable_prefix_caching = false;
  config.kv_groups = {0, 32};
  CHECK_THROWS_AS(EngineDriver(config), ConfigError);
}
