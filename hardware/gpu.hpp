// What one GPU is: datasheet figures, each with its source in hardware/catalog/gpus/NAME.yaml.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/dtype.hpp"

namespace ridgeline {

class Config;

/// How GPUs of one node reach each other; decides which collective algorithms exist.
enum class LinkKind : std::uint8_t { nvlink, infinity_fabric, pcie };

std::string_view to_string(LinkKind kind);

/// The scale-up link of one GPU. Rates count one direction.
struct GpuLink {
  LinkKind kind = LinkKind::pcie;
  int generation = 0;          ///< NVLink 3 = A100, 4 = Hopper, 5 = Blackwell; PCIe generation; 0 = not numbered
  BytesPerSecond per_gpu;      ///< all links of the GPU together
  BytesPerSecond per_pair;     ///< what two GPUs alone can reach (less than `per_gpu` on meshes)
  int domain = 1;              ///< GPUs the link can join at this rate
};

/// A dated on-demand price.
struct GpuPrice {
  DollarsPerHour per_gpu_hour;
  std::string date;            ///< ISO month
  std::string source;
};

struct GpuSpec {
  std::string name;            ///< catalog name, or the name given in the user's file
  std::string vendor;
  std::string architecture;    ///< volta, turing, ampere, ada, hopper, blackwell, cdna3, …: who shares calibrations
  int compute_capability = 0;  ///< 80, 89, 90, 100, 120; 0 when not NVIDIA
  Bytes memory_marketing;      ///< as sold
  Bytes memory_visible;        ///< what the driver reports; memory fractions apply to this
  BytesPerSecond memory_bandwidth;
  Bytes l2;
  int sm_count = 0;            ///< streaming multiprocessors or compute units
  std::int64_t boost_mhz = 0;  ///< the clock behind the peaks
  GpuLink link;
  BytesPerSecond host_link;    ///< one direction
  Watts tdp;
  Watts idle;                  ///< no work, no context
  std::optional<GpuPrice> price;  ///< absent: no dated public price was found
  std::string default_node;    ///< node type it is usually sold in
  std::vector<std::string> sources;

  /// Dense peak of matrix products in `math`; zero when the GPU has no such path (fp8 on an A100).
  [[nodiscard]] FlopsPerSecond peak(DType math) const { return peaks_[static_cast<std::size_t>(math)]; }
  [[nodiscard]] bool supports(DType math) const { return peak(math).count() > 0.0; }
  void set_peak(DType math, FlopsPerSecond rate) { peaks_[static_cast<std::size_t>(math)] = rate; }
  /// Arithmetic intensity (FLOP/byte) where the memory slope meets the compute roof.
  [[nodiscard]] double ridge_point(DType math) const { return peak(math).count() / memory_bandwidth.count(); }

 private:
  std::array<FlopsPerSecond, 8> peaks_{};  // by DType
};

/// A catalog name ("h100-sxm-80gb") or the path of a YAML file with the catalog's keys (anything with '/' or ending in .yaml/.yml).
/// Throws ConfigError: unknown or ambiguous name ("h100") with near matches, or mistakes in the file.
GpuSpec load_gpu(const std::string& name_or_path);

/// Reads one GPU description; `name` is used when the file gives none. Throws ConfigError with every mistake.
GpuSpec read_gpu(const Config& node, const std::string& name);

/// Catalog names, sorted.
std::vector<std::string> gpu_names();

}  // namespace ridgeline
