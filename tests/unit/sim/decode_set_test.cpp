#include "sim/scheduling/decode_set.hpp"

#include "tests/support/catch.hpp"

using namespace ridgeline;

namespace {

Sequence sequence(std::int64_t order, std::int64_t input, std::int64_t outputs, std::int64_t output) {
  Sequence sequence;
  sequence.order = order;
  sequence.input = input;
  sequence.outputs = outputs;
  sequence.output = output;
  return sequence;
}

Time at(std::int64_t milliseconds) { return Time{Duration::milliseconds(milliseconds)}; }

struct Chunks : SchedulerListener {
  std::vector<std::pair<std::int64_t, Time>> heard;
  void admitted(Request&, Tokens) override {}
  void preempted(Request&) override {}
  void first_token(Request&) override {}
  void chunks(std::int64_t sequences, std::int64_t, Time previous) override { heard.emplace_back(sequences, previous); }
  void finished(Request&) override {}
};

}  // namespace

TEST_CASE("Decode set: sums follow what each member would say") {
  // Blocks of 4, window 8. A(5 prompt tokens, ends with 4 outputs), B(7, 3 outputs); C(3, 9) joins a step later.
  DecodeSet decodes(4, 8);
  Sequence a = sequence(0, 5, 1, 4);
  Sequence b = sequence(1, 7, 1, 3);
  Sequence c = sequence(2, 3, 1, 9);
  a.last_chunk = b.last_chunk = at(1);
  decodes.join(a);
  decodes.join(b);
  Chunks chunks;

  BatchShape batch;
  decodes.fill(batch);
  CHECK(batch.decode_context == Tokens{6 + 8});
  CHECK(batch.decode_context_in_window == Tokens{6 + 8});
  CHECK(decodes.blocks_due() == 0);  // 5 and 7 tokens have KV
  decodes.advance(at(2), chunks);
  CHECK(chunks.heard == std::vector<std::pair<std::int64_t, Time>>{{2, at(1)}});

  c.last_chunk = at(3);
  decodes.join(c);
  batch.clear();
  decodes.fill(batch);
  CHECK(batch.decode_context == Tokens{7 + 9 + 4});
  CHECK(batch.decode_context_in_window == Tokens{7 + 8 + 4});
  CHECK(decodes.blocks_due() == 1);  // 6, 8 and 3: B's next token opens a block
  CHECK(decodes.block_due(b));
  chunks.heard.clear();
  decodes.advance(at(4), chunks);
  CHECK(chunks.heard == std::vector<std::pair<std::int64_t, Time>>{{2, at(2)}, {1, at(3)}});
  std::vector<Sequence*> ended;
  decodes.take_ended(ended);
  CHECK(ended == std::vector<Sequence*>{&b});
  CHECK(b.computed == 9);  // all but the newest of 7 + 3

  decodes.leave(c);
  CHECK(c.outputs == 2);
  CHECK(c.last_chunk == at(4));
  batch.clear();
  decodes.fill(batch);
  CHECK(batch.decode_context == Tokens{8});
  decodes.advance(at(5), chunks);
  ended.clear();
  decodes.take_ended(ended);
  CHECK(ended == std::vector<Sequence*>{&a});
  CHECK(decodes.empty());
}
