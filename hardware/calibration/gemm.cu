// GEMM and GEMV through cuBLASLt, as PyTorch's linear layers run them: heuristic's first choice, weights rotated through copies.
#include <cublasLt.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "hardware/calibration/measure.hpp"
#include "hardware/calibration/timing.cuh"

namespace ridgeline::harness {
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": cuBLAS status " + std::to_string(status));
}

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

// Column-major view: D^T[n,m] = W^T[n,k] * A^T[k,m], both operands k-contiguous ("TN"), the layout FP8 needs too.
class Problem {
 public:
  Problem(cublasLtHandle_t handle, const GemmCase& gemm) : handle_(handle) {
    const cudaDataType_t input = gemm.dtype == "fp8" ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
    check_cublas(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check_cublas(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "TRANSA");
    const auto n = static_cast<std::uint64_t>(gemm.n), m = static_cast<std::uint64_t>(gemm.m), k = static_cast<std::uint64_t>(gemm.k);
    check_cublas(cublasLtMatrixLayoutCreate(&weight_, input, k, n, gemm.k), "weight layout");
    check_cublas(cublasLtMatrixLayoutCreate(&activation_, input, k, m, gemm.k), "activation layout");
    check_cublas(cublasLtMatrixLayoutCreate(&output_, CUDA_R_16BF, n, m, gemm.n), "output layout");

    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "preference");
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                               sizeof workspace_bytes),
          "workspace preference");
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, weight_, activation_, output_, output_,
                                                                 preference, 1, &choice_, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    supported_ = status == CUBLAS_STATUS_SUCCESS && found > 0;
  }
  ~Problem() {
    cublasLtMatrixLayoutDestroy(output_);
    cublasLtMatrixLayoutDestroy(activation_);
    cublasLtMatrixLayoutDestroy(weight_);
    cublasLtMatmulDescDestroy(operation_);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  [[nodiscard]] bool supported() const { return supported_; }

  void launch(const void* weight, const void* activation, void* output, void* workspace, cudaStream_t stream) const {
    const float one = 1.0F;
    const float zero = 0.0F;
    check_cublas(cublasLtMatmul(handle_, operation_, &one, weight, weight_, activation, activation_, &zero, output, output_, output,
                         output_, &choice_.algo, workspace, workspace_bytes, stream),
          "cublasLtMatmul");
  }

 private:
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t weight_ = nullptr, activation_ = nullptr, output_ = nullptr;
  cublasLtMatmulHeuristicResult_t choice_{};
  bool supported_ = false;
};

}  // namespace

void measure_gemm(std::ostream& out, const Machine& machine, const SweepLimits& limits) {
  cublasLtHandle_t handle = nullptr;
  check_cublas(cublasLtCreate(&handle), "cublasLtCreate");
  const Buffer workspace(workspace_bytes);
  write_gemm_columns(out);
  for (const GemmCase& gemm : gemm_cases(limits)) {
    const Problem problem(handle, gemm);
    if (!problem.supported()) {
      out << "# no cuBLASLt algorithm for " << gemm.dtype << ' ' << gemm.m << 'x' << gemm.n << 'x' << gemm.k << '\n';
      continue;
    }
    const std::size_t element = gemm.dtype == "fp8" ? 1 : 2;
    const std::size_t weight_bytes = static_cast<std::size_t>(gemm.n * gemm.k) * element;
    // A layer's weights are cold when its turn comes: rotate through copies that together exceed any L2, at most eight.
    const int copies = static_cast<int>(std::clamp<std::size_t>((std::size_t{512} << 20) / weight_bytes, 1, 8));
    std::vector<std::unique_ptr<Buffer>> weights;
    for (int i = 0; i < copies; ++i) {
      weights.push_back(std::make_unique<Buffer>(weight_bytes));
      element == 1 ? fill_random_fp8(*weights.back(), 7U + static_cast<unsigned>(i))
                   : fill_random_bf16(*weights.back(), 7U + static_cast<unsigned>(i));
    }
    const Buffer activation(static_cast<std::size_t>(gemm.m * gemm.k) * element);
    element == 1 ? fill_random_fp8(activation, 3) : fill_random_bf16(activation, 3);
    const Buffer output(static_cast<std::size_t>(gemm.m * gemm.n) * 2);
    const Estimate time = time_in_graph([&](cudaStream_t stream, int i) {
      problem.launch(weights[static_cast<std::size_t>(i % copies)]->as<void>(), activation.as<void>(), output.as<void>(),
                     workspace.as<void>(), stream);
    });
    write_row(out, machine, gemm, time, "ridgeline/cublaslt-" + std::to_string(cublasLtGetVersion()));
  }
  cublasLtDestroy(handle);
}

}  // namespace ridgeline::harness
