// The report page: what is written, and what a browser makes of it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "scenarios/plan/plan.hpp"
#include "scenarios/report/html/comparison_page.hpp"
#include "scenarios/report/html/explanation_page.hpp"
#include "scenarios/report/html/page.hpp"
#include "scenarios/report/html/plan_page.hpp"
#include "scenarios/report/html/run_page.hpp"
#include "scenarios/report/html/sweep_curves.hpp"
#include "scenarios/report/html/sweep_page.hpp"
#include "scenarios/study/comparison.hpp"
#include "scenarios/sweep/run_sweep.hpp"
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

// Every chart has ink and no script complained; without a Chromium nothing is checked.
void check_drawn(const std::string& html, std::size_t charts) {
  CHECK(count(html, "<canvas ") == charts);
  const std::string dom = rendered(html);
  if (dom.empty()) {
    WARN("SKIPPED: no Chromium here");
    return;
  }
  const std::string root = dom.substr(dom.find("<html"), dom.find('>', dom.find("<html")) - dom.find("<html"));
  CHECK(root.find(fmt::format("data-charts=\"{}\"", charts)) != std::string::npos);
  CHECK(root.find(fmt::format("data-drawn=\"{}\"", charts)) != std::string::npos);
  CHECK(root.find("data-errors") == std::string::npos);
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
  check_drawn(page_of(test::one_gpu("h100-sxm-80gb") + "name: \"</script><script>throw 1</script>\"\n"), 8);
}

TEST_CASE("points of a sweep form curves along the load, one for each combination of the other keys") {
  const auto ok = [](std::vector<std::string> values) { return SweepRow{.label = "", .values = std::move(values), .key = "", .outcome = {}}; };
  SweepTable table{.name = "", .axes = {"alternative", "engine.max_num_seqs", "workload.request_rate"}, .rows = {}};
  for (const char* name : {"a", "b"}) {
    for (const char* rate : {"10", "2"}) {
      for (const char* seqs : {"16", "32", "64"}) table.rows.push_back(ok({name, seqs, rate}));
    }
  }
  table.rows.back().outcome.status = PointStatus::skipped;
  const html::SweepCurves curves = html::sweep_curves(table);
  // The rate has fewer values than max_num_seqs, but it is the load.
  REQUIRE(curves.axis == std::optional<std::size_t>(2));
  REQUIRE(curves.curves.size() == 6);
  CHECK(curves.curves[0].name == "a, max_num_seqs 16");
  REQUIRE(curves.curves[0].rows.size() == 2);
  CHECK(curves.curves[0].rows[0].along == 2.0);  // sorted by number, not as text
  CHECK(curves.curves[0].rows[1].along == 10.0);
  CHECK(curves.curves[5].rows.size() == 1);      // without the skipped point

  // A key paired with the axis tells no curves apart.
  SweepTable paired{.name = "", .axes = {"fleet[0].replicas", "workload.request_rate"}, .rows = {ok({"1", "5"}), ok({"2", "10"}), ok({"3", "15"})}};
  CHECK(html::sweep_curves(paired).curves.size() == 1);

  // Thirteen curves are too many: clouds by the first key of words.
  SweepTable many{.name = "", .axes = {"alternative", "engine.max_num_seqs", "workload.request_rate"}, .rows = {}};
  for (int seqs = 1; seqs <= 13; ++seqs) {
    for (const char* rate : {"1", "2"}) many.rows.push_back(ok({seqs % 2 == 0 ? "even" : "odd", std::to_string(seqs), rate}));
  }
  const html::SweepCurves clouds = html::sweep_curves(many);
  CHECK(!clouds.axis);
  CHECK(clouds.curves.size() == 2);
}

TEST_CASE("a sweep's page has every point with its reason, and its curves are drawn") {
  const std::string yaml = test::one_gpu("h100-sxm-80gb") + "slo: {ttft_ms: 100, tpot_ms: 20, percentile: 99}\n"
                           "alternatives: {plain: {}, \"<b>huge</b>\": {model: llama-3.1-70b}}\n"
                           "sweep: {workload.request_rate: [1, 2, 4], skip: [workload.request_rate > 3]}\n";
  const std::string html = html::html_page(html::sweep_page(run_sweep(Config::parse(yaml, "test.yaml"), {})));
  CHECK(html.find("&lt;b&gt;huge&lt;/b&gt;") != std::string::npos);
  CHECK(html.find("<td>workload.request_rate &gt; 3</td>") != std::string::npos);
  CHECK(html.find("<td>infeasible</td>") != std::string::npos);  // 70B in bf16 does not fit into 80 GB
  check_drawn(html, 10);  // TTFT, TPOT, Pareto; six figures over the rate (no prefix cache hit); cost
}

TEST_CASE("a comparison's page says what differs, by how much, and what moved it") {
  const auto side = [](const std::string& label, const std::string& yaml) {
    StudiedScenario one{.label = label, .document = Config::parse(yaml, label + ".yaml"), .scenario = {}, .runs = {}};
    one.scenario = resolve_scenario(one.document);
    return one;
  };
  const std::string poisson = "{arrival: poisson, request_rate: 50, num_prompts: 200, input_tokens: 32, output_tokens: 8}";
  std::string slower = test::constant_cost("", poisson);
  slower.replace(slower.find("1 ms"), 4, "2 ms");
  slower.replace(slower.find("max_num_seqs: 8"), 15, "max_num_seqs: 4");
  const Comparison comparison = compare({side("<i>fast</i>", test::constant_cost("", poisson)), side("slow", slower)}, {.least_replications = 3, .progress = {}});
  const std::string html = html::html_page(html::comparison_page(comparison));
  CHECK(html.find("&lt;i&gt;fast&lt;/i&gt;") != std::string::npos);
  // 8 steps of 2 ms instead of 1 ms: every latency is worse. The output is the same number of tokens in each.
  CHECK(html.find("TPOT mean, ms: worse") != std::string::npos);
  CHECK(html.find("<td>the same</td>") != std::string::npos);
  CHECK(html.find("cost.step_time: 0.001 s -&gt; 0.002 s") != std::string::npos);
  check_drawn(html, 5);  // the differences, and four figures attributed
}

TEST_CASE("a plan's page draws the knee of a fleet and ends with the chosen scenario") {
  const std::string yaml = "name: \"<u>knee</u>\"\n" + test::constant_cost("slo: {ttft_ms: 20, tpot_ms: 20, percentile: 99}\nplan: {goal: max-rate, replications: 2, num_prompts: 300}\n",
                                               "{arrival: poisson, request_rate: 50, input_tokens: 32, output_tokens: 8}");
  const std::string html = html::html_page(html::plan_page(plan(Config::parse(yaml, "test.yaml"), {.jobs = 1, .progress = {}})));
  CHECK(html.find("<h1>&lt;u&gt;knee&lt;/u&gt;</h1>") != std::string::npos);
  CHECK(html.find("chosen scenario") != std::string::npos);
  check_drawn(html, 3);  // goodput, TTFT and TPOT over the load
}

TEST_CASE("an explanation's page draws where the time went") {
  const Scenario scenario = test::scenario_from(test::one_gpu("h100-sxm-80gb"));
  std::vector<RunExplanation> explanations;
  explanations.push_back(explain_run(scenario, {.replications = 1, .draws = 2, .jobs = 1, .progress = {}}));
  const std::string html = html::html_page(html::explanation_page(explanations));
  CHECK(html.find("reading weights") != std::string::npos);
  CHECK(html.find("Tornado: TPOT p99, ms") != std::string::npos);
  check_drawn(html, count(html, "<canvas "));
}
