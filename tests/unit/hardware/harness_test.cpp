// The calibration harness's host parts: sweep plan, statistics, CSV.
#include <set>
#include <sstream>
#include <tuple>

#include "hardware/calibration/rows.hpp"
#include "hardware/calibration/samples.hpp"
#include "hardware/calibration/sweep.hpp"
#include "tests/support/catch.hpp"

using namespace ridgeline::harness;

TEST_CASE("the estimate is the median, its spread the interquartile range over it") {
  const Estimate e = estimate({5.0, 1.0, 4.0, 2.0, 3.0});  // quartiles 2, 3, 4
  CHECK(e.median_us == 3.0);
  CHECK(e.spread == Approx(2.0 / 3.0));
  CHECK(estimate({7.0}).spread == 0.0);
  CHECK(estimate({1.0, 2.0}).median_us == 1.5);
  CHECK_THROWS_AS(estimate({}), std::invalid_argument);
  CHECK_THROWS_AS(estimate({1.0, 0.0}), std::invalid_argument);
}

TEST_CASE("a timed batch lasts about a millisecond") {
  CHECK(repeats_for(10.0) == 100);
  CHECK(repeats_for(0.5) == 200);     // capped
  CHECK(repeats_for(50'000.0) == 1);  // one launch is long enough
}

TEST_CASE("the sweep has no shape twice, leaves out what does not fit, and fp8 where there is none") {
  const SweepLimits small{std::size_t{24} << 30, false};
  const SweepLimits large{std::size_t{80} << 30, true};
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>> seen;
  for (const GemmCase& c : gemm_cases(large)) CHECK(seen.insert({c.m, c.n, c.k, c.dtype}).second);
  for (const GemmCase& c : gemm_cases(small)) CHECK(c.dtype == "bf16");
  CHECK(attention_cases(small).size() < attention_cases(large).size());
  for (const AttentionCase& c : attention_cases(small)) {
    CHECK(c.query_heads % c.kv_heads == 0);
    CHECK(c.q_len <= c.kv_len);
    CHECK(c.batch * c.kv_len * c.kv_heads * c.head_dim * 4 < (std::int64_t{24} << 30));
  }
  // Under five minutes: a case costs ten replays of a millisecond, or of its own length, plus set-up of some 50 ms.
  CHECK(gemm_cases(large).size() + attention_cases(large).size() + elementwise_cases().size() + bandwidth_cases(large).size() < 2000);
}

TEST_CASE("rows have the columns of the measurements that calibrate reads") {
  const Machine machine{.gpu = "h100-sxm-80gb", .driver = "CUDA driver 13000", .gpus = 8};
  std::ostringstream out;
  write_gemm_columns(out);
  write_row(out, machine, GemmCase{16, 4096, 1024, "bf16"}, {12.34567, 0.01}, "ridgeline/cublaslt-1");
  CHECK(out.str() == "gpu,op,dtype,m,n,k,time_us,source,spread\nh100-sxm-80gb,gemm,bf16,16,4096,1024,12.346,ridgeline/cublaslt-1,0.01\n");
  std::ostringstream attention;
  write_row(attention, machine, AttentionCase{32, 8, 128, 4, 1, 2048}, {10, 0}, "s");
  CHECK(attention.str() == "h100-sxm-80gb,attn_decode,bf16,bf16,32,8,128,4,1,2048,1,10,s,0\n");
  std::ostringstream collective;
  write_row(collective, machine, CollectiveCase{"all_reduce", 1024}, {9, 0}, "s");
  CHECK(collective.str() == "h100-sxm-80gb,all_reduce,8,8,1024,9,s,0\n");
  CHECK(ideal_bytes({"silu_mul", 2, 8}) == 3 * 2 * 8 * 2);
}

TEST_CASE("the header names the machine in comment lines") {
  std::ostringstream out;
  write_header(out, {.gpu = "x", .driver = "d"});
  CHECK(out.str() == "# gpu: x\n# gpus: 1\n# driver: d\n# clocks and power limit: NVML not available\n");
}
