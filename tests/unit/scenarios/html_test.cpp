// The report page: what is written, and what a browser makes of it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "scenarios/report/html/page.hpp"
#include "scenarios/report/html/run_page.hpp"
#include "sim/metrics/history.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/scenarios/scenario_text.hpp"

namespace fs = std::filesystem;
using namespace ridgeline;

namespace {

std::string page_of(const std::string& yaml) {
  const Scenario scenario = test::scenario_from(yaml);
  const auto record = std::make_shared<html::RunRecord>(scenario);
  RunOptions options;
  options.observers.push_back(record.get());
  const RunResult result = run(scenario, options);
  return html::html_page(html::run_page({{"", &scenario, &result, record}}));
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t n = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

// Chromium's view of the page after its scripts ran; empty where there is no Chromium.
std::string rendered(const std::string& html) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) return "";
  std::string folder = (fs::temp_directory_path() / "ridgeline-page-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/page.html";
  std::ofstream(file) << html;
  const std::string command = "chromium --headless --no-sandbox --disable-gpu --user-data-dir=" + folder +
                              "/profile --virtual-time-budget=5000 --dump-dom file://" + file + " 2>/dev/null";
  std::string dom;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) dom.append(buffer.data(), got);
  ::pclose(pipe);
  fs::remove_all(folder);
  return dom;
}

}  // namespace

TEST_CASE("every text of a page is escaped, in the markup and in the chart data") {
  const std::string hostile = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>&\"'";
  html::Page page{.title = hostile, .subtitle = hostile, .warnings = {hostile}, .sections = {{hostile, {}}}};
  page.sections[0].blocks.push_back(html::Paragraph{hostile});
  page.sections[0].blocks.push_back(std::vector<html::Tile>{{hostile, hostile, hostile}});
  page.sections[0].blocks.push_back(html::Table{{hostile}, {{hostile, hostile}}});
  page.sections[0].blocks.push_back(html::Verbatim{hostile, hostile});
  page.sections[0].blocks.push_back(html::LineChart{hostile, hostile, {hostile}, {hostile}, {{hostile, {{1, 2, hostile}}}}});
  page.sections[0].blocks.push_back(html::BarChart{hostile, hostile, {hostile}, {hostile}, {{hostile, {1}}}});
  const std::string html = html_page(page);
  CHECK(html.find("<script>document.title") == std::string::npos);
  CHECK(html.find("<img src=x") == std::string::npos);
  // Three scripts are ours: the data, the library, the drawing.
  CHECK(count(html, "</script>") == 3);
}

TEST_CASE("a run's page names its figures, its warnings and the resolved scenario") {
  // 4 requests of 32 + 8 tokens, all at t = 0, a step of 1 ms: one prefill step, seven decode steps; TTFT 1 ms, E2EL 8 ms.
  const std::string html = page_of(test::constant_cost("name: tiny\n"));
  CHECK(html.find("<h1>tiny</h1>") != std::string::npos);
  CHECK(html.find("TTFT p99") != std::string::npos);
  CHECK(html.find("<td>8.00</td>") != std::string::npos);
  CHECK(html.find("num_gpu_blocks_override") != std::string::npos);
  CHECK(count(html, "<canvas ") == 7);  // three latency curves, three timelines, the causes; no GPU, no roofline
  CHECK(html.find("http://") == std::string::npos);
}

TEST_CASE("the history of a run is its levels averaged over equal bins") {
  History history(1, {0});
  const auto step = [&](std::int64_t end_ms, std::int64_t running, std::int64_t free_blocks) {
    StepDone fact;
    fact.end = Time{Duration::milliseconds(end_ms)};
    fact.load = {.running = running, .waiting = 0, .total_blocks = 10, .free_blocks = free_blocks};
    history.step_done(fact);
  };
  step(2, 4, 5);     // until 2 ms: nothing; then 4 running, half of the blocks
  step(600, 0, 10);  // beyond 512 bins of 1 ms: bins of 2 ms
  const auto points = history.points(0);
  REQUIRE(points.size() == 300);
  CHECK(points[0].running == 0.0);
  CHECK(points[1].running == Approx(4.0));
  CHECK(points[299].running == Approx(4.0));
  CHECK(points[299].kv_usage == Approx(0.5));
  CHECK(points[1].middle == Time{Duration::milliseconds(3)});
}

TEST_CASE("a browser draws every chart without an error") {
  const std::string html = page_of(test::one_gpu("h100-sxm-80gb") + "name: \"</script><script>throw 1</script>\"\n");
  const std::string dom = rendered(html);
  if (dom.empty()) {
    WARN("SKIPPED: no Chromium here");
    return;
  }
  const std::string root = dom.substr(dom.find("<html"), dom.find('>', dom.find("<html")) - dom.find("<html"));
  CHECK(root.find("data-charts=\"8\"") != std::string::npos);
  CHECK(root.find("data-drawn=\"8\"") != std::string::npos);
  CHECK(root.find("data-errors") == std::string::npos);
}
