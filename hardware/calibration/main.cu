// ridgeline-measure: times the operators of LLM inference on this machine's GPU and writes the CSVs that `ridgeline calibrate` reads.
//
//   ridgeline-measure --out DIR [--gpu CATALOG-NAME] [--only gemm,attention,elementwise,bandwidth,collectives] [--check]
#include <dlfcn.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "hardware/calibration/measure.hpp"
#include "hardware/calibration/timing.cuh"

namespace {

using namespace ridgeline::harness;

struct Options {
  std::filesystem::path out;
  std::string gpu;
  std::string only = "gemm,attention,elementwise,bandwidth,collectives";
  bool check_kernels = false;
};

// Clocks and power limit through NVML, looked up at run time so that a machine without it still measures.
void read_nvml(Machine& machine) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
  if (library == nullptr) return;
  using Plain = int (*)();
  using Handle = int (*)(unsigned, void**);
  using Clock = int (*)(void*, int, unsigned*);
  using Limit = int (*)(void*, unsigned*);
  const auto init = reinterpret_cast<Plain>(dlsym(library, "nvmlInit_v2"));
  const auto handle = reinterpret_cast<Handle>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  const auto clock = reinterpret_cast<Clock>(dlsym(library, "nvmlDeviceGetClockInfo"));
  const auto limit = reinterpret_cast<Limit>(dlsym(library, "nvmlDeviceGetPowerManagementLimit"));
  void* device = nullptr;
  if (init && handle && clock && limit && init() == 0 && handle(0, &device) == 0) {
    unsigned value = 0;
    if (clock(device, 1, &value) == 0) machine.sm_clock_mhz = value;      // NVML_CLOCK_SM
    if (clock(device, 2, &value) == 0) machine.memory_clock_mhz = value;  // NVML_CLOCK_MEM
    if (limit(device, &value) == 0) machine.power_limit_watts = value / 1000.0;
  }
  dlclose(library);
}

Machine describe_machine(const std::string& name, SweepLimits& limits) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "no usable CUDA device");
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  Machine machine;
  machine.gpu = name.empty() ? properties.name : name;
  machine.driver = "CUDA driver " + std::to_string(driver) + ", run time " + std::to_string(runtime);
  check(cudaGetDeviceCount(&machine.gpus), "cudaGetDeviceCount");
  limits = {properties.totalGlobalMem, properties.major * 10 + properties.minor >= 89};
  return machine;
}

// Clocks are read under load: right after the first family.
void write_file(const std::filesystem::path& path, Machine& machine, const std::function<void(std::ostream&)>& measure) {
  std::ostringstream rows;
  const auto begin = std::chrono::steady_clock::now();
  measure(rows);
  read_nvml(machine);
  std::ofstream out(path.string() + ".tmp");
  write_header(out, machine);
  out << rows.str();
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  std::filesystem::rename(path.string() + ".tmp", path);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::cout << path.string() << " (" << seconds.count() << " s)\n";
}

Options parse(int argc, char* argv[]) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(argument + " needs a value");
      return argv[++i];
    };
    if (argument == "--out") {
      options.out = value();
    } else if (argument == "--gpu") {
      options.gpu = value();
    } else if (argument == "--only") {
      options.only = value();
    } else if (argument == "--check") {
      options.check_kernels = true;
    } else {
      throw std::invalid_argument("unknown argument " + argument);
    }
  }
  if (options.out.empty() && !options.check_kernels) throw std::invalid_argument("--out DIR is missing");
  return options;
}

void measure_all(const Options& options) {
  SweepLimits limits{};
  Machine machine = describe_machine(options.gpu, limits);
  std::filesystem::create_directories(options.out);
  const auto wanted = [&](const std::string& family) { return ("," + options.only + ",").find("," + family + ",") != std::string::npos; };
  const auto file = [&](const std::string& family) { return options.out / (family + ".csv"); };
  if (wanted("gemm")) write_file(file("gemm"), machine, [&](std::ostream& out) { measure_gemm(out, machine, limits); });
  if (wanted("attention")) write_file(file("attention"), machine, [&](std::ostream& out) { measure_attention(out, machine, limits); });
  if (wanted("elementwise")) write_file(file("elementwise"), machine, [&](std::ostream& out) { measure_elementwise(out, machine); });
  if (wanted("bandwidth")) {
    write_file(file("bandwidth"), machine, [&](std::ostream& out) {
      measure_bandwidth(out, machine, limits);
      measure_launch(out, machine);
    });
  }
#ifdef RIDGELINE_HAVE_NCCL
  if (wanted("collectives") && machine.gpus > 1) {
    write_file(file("collective"), machine, [&](std::ostream& out) { measure_collectives(out, machine); });
  }
#endif
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    const Options options = parse(argc, argv);
    if (options.check_kernels) {
      const double error = attention_error();
      std::cout << "attention kernels differ from the host reference by at most " << error << '\n';
      if (error > 0.02) return 2;
    }
    if (!options.out.empty()) measure_all(options);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::cerr << "ridgeline-measure: " << error.what()
              << "\nusage: ridgeline-measure --out DIR [--gpu NAME] [--only FAMILY,...] [--check]\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "ridgeline-measure: " << error.what() << '\n';
    return 1;
  }
}
