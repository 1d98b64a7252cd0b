// Every vLLM V1 schedule case of the shared folder, compared row by row with the engine's own schedule.
#include "tests/support/catch.hpp"
#include "tests/support/schedule_case.hpp"
#include "tests/support/shared_data.hpp"

using namespace ridgeline;
using namespace ridgeline::test;

TEST_CASE("vLLM V1 schedules as the engine does") {
  REQUIRE_SHARED_OR_SKIP(shared);
  for (const auto& folder : schedule_case_folders(shared / "cases" / "schedules", "vllm_v1-")) {
    INFO(folder.filename().string());
    CHECK(difference(folder, run_schedule(load_schedule_case(folder))) == "");
  }
}
