#include "scenarios/validate/serving_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "hardware/measurement.hpp"
#include "models/model_spec.hpp"

namespace ridgeline {

namespace {

using Alias = std::pair<std::string_view, std::string_view>;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

template <std::size_t N>
std::string alias_of(const std::array<Alias, N>& aliases, const std::string& name) {
  const auto found = std::find_if(aliases.begin(), aliases.end(), [&](const Alias& alias) { return alias.first == name; });
  return found != aliases.end() ? std::string(found->second) : std::string();
}

// Same layers under another name; or a name without its version. Mistral-7B is taken without its sliding window of 4,096 tokens (as since
// v0.2): few benchmarks reach past it.
constexpr std::array<Alias, 19> model_aliases{{
    {"llama-3.3-70b", "llama-3.1-70b"}, {"llama-7b", "llama-2-7b"},           {"mistral-7b", "mistral-7b-v0.3"},
    {"qwen2-7b", "qwen2.5-7b"},         {"qwen2-72b", "qwen2.5-72b"},         {"qwen2-0.5b", "qwen2.5-0.5b"},
    {"qwen2-1.5b", "qwen2.5-1.5b"},     {"vicuna-7b-v1.3", "llama-2-7b"},     {"llama-13b", "llama-2-13b"},
    {"mixtral-8x7b-v0.1", "mixtral-8x7b"}, {"mistral-nemo", "mistral-nemo-12b"}, {"phi-3-medium", "phi-3-medium-4k"},
    {"gptj-6b", "gpt-j-6b"},            {"deepseek-v3.1", "deepseek-v3"},     {"deepseek-r1-0528", "deepseek-r1"},
    {"qwen3-30b-a3b-instruct-2507", "qwen3-30b-a3b"}, {"qwen3-235b-a22b-instruct-2507", "qwen3-235b-a22b"},
    {"llama-3-8b-instruct", "llama-3-8b"}, {"vicuna-13b", "llama-2-13b"},
}};

// Vendors' labels that the operator files do not use.
constexpr std::array<Alias, 14> gpu_aliases{{
    {"h100-sxm", "h100-sxm-80gb"},   {"h200-sxm", "h200-sxm"},          {"a100-sxm", "a100-sxm-80gb"},
    {"a100-pcie", "a100-pcie-80gb"}, {"a100-sxm4", "a100-sxm-40gb"},    {"h100-pcie", "h100-pcie-80gb"},
    {"gh200-120gb", "gh200-96gb"},   {"gh200-480gb", "gh200-96gb"},     {"gh200", "gh200-96gb"},
    {"rtx-pro-6000-bse", "rtx-pro-6000"}, {"a100", "a100-sxm-80gb"},    {"h100", "h100-sxm-80gb"},
    {"rtx3090-24gb", "rtx-3090"},    {"h800", "h800-sxm-80gb"},
}};

// "v0.11.2", "vllm/vllm-openai:v0.13.0", "~0.6.3", "0.5.3.post1" -> major + minor / 100.
double version_number(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    int major = 0, minor = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data() + i, end, major);
    if (first.ptr != end && *first.ptr == '.') {
      const auto second = std::from_chars(first.ptr + 1, end, minor);
      if (second.ec == std::errc{} && minor < 100) return major + minor / 100.0;
    }
    i = static_cast<std::size_t>(first.ptr - text.data());
  }
  return 0.0;
}

ServingEngine vllm(const std::string& version, const std::string& date) {
  ServingEngine engine;
  engine.version = version_number(version);
  if (engine.version == 0.0) engine.version = date.empty() ? 0.11 : date < "2025" ? 0.06 : date < "2026" ? 0.11 : 0.20;
  engine.profile = engine.version < 0.08 ? "vllm-v0" : engine.version < 0.14 ? "vllm-0.11" : "vllm-main-2026";
  return engine;
}

}  // namespace

std::string serving_gpu(const std::string& label) {
  const std::size_t remark = label.find(" (");
  if (label.find("no P2P") != std::string::npos) return "a100-pcie-80gb";
  const std::string bare = lower(label.substr(0, remark));
  if (const std::string alias = alias_of(gpu_aliases, bare); !alias.empty()) return alias;
  return catalog_gpu(bare);
}

std::string serving_model(const std::string& label) {
  std::string name = lower(label.substr(label.rfind('/') + 1));
  const std::vector<std::string> known = model_names();
  const auto is_known = [&] { return std::find(known.begin(), known.end(), name) != known.end(); };
  for (const std::string_view ending : {"-fp8", "-nvfp4", "-instruct", "-hf", "-bf16", "-awq"}) {
    if (is_known()) return name;
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  }
  if (is_known()) return name;
  return alias_of(model_aliases, name);
}

ServingEngine serving_engine(const std::string& engine, const std::string& version, const std::string& date, bool static_batch) {
  const std::string name = lower(engine);
  if (name.starts_with("vllm")) return vllm(version, date);
  if (name.starts_with("sglang")) return {"sglang", {}};
  // TensorRT-LLM's session benchmarks and gpt-fast run one batch from start to end, without a scheduler.
  if (name.starts_with("tensorrt") || name.starts_with("trtllm")) return {static_batch ? "static" : "tensorrt-llm", {}};
  if (name.starts_with("gpt-fast")) return {"static", {}};
  return {{}, "engine `" + engine + "` has no profile"};
}

}  // namespace ridgeline
