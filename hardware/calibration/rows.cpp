#include "hardware/calibration/rows.hpp"

#include <iomanip>
#include <sstream>

namespace ridgeline::harness {
namespace {

// Five significant digits, as in the public files.
std::string shown(double value) {
  std::ostringstream text;
  text << std::setprecision(5) << value;
  return text.str();
}

std::string tail(const Estimate& time, const std::string& source) {
  return shown(time.median_us) + "," + source + "," + shown(time.spread) + "\n";
}

}  // namespace

void write_header(std::ostream& out, const Machine& machine) {
  out << "# gpu: " << machine.gpu << "\n# gpus: " << machine.gpus << "\n# driver: " << machine.driver << "\n";
  if (machine.sm_clock_mhz > 0) {
    out << "# sm_clock_mhz: " << machine.sm_clock_mhz << "\n# memory_clock_mhz: " << machine.memory_clock_mhz
        << "\n# power_limit_watts: " << machine.power_limit_watts << "\n";
  } else {
    out << "# clocks and power limit: NVML not available\n";
  }
}

void write_gemm_columns(std::ostream& out) { out << "gpu,op,dtype,m,n,k,time_us,source,spread\n"; }
void write_attention_columns(std::ostream& out) {
  out << "gpu,op,dtype,kv_dtype,num_q_heads,num_kv_heads,head_dim,batch,q_len,kv_len,causal,time_us,source,spread\n";
}
void write_elementwise_columns(std::ostream& out) { out << "gpu,op,dtype,tokens,width,bytes,time_us,source,spread\n"; }
void write_bandwidth_columns(std::ostream& out) { out << "gpu,op,bytes,time_us,source,spread\n"; }
void write_collective_columns(std::ostream& out) { out << "gpu,op,ranks,ranks_per_node,bytes,time_us,source,spread\n"; }

void write_row(std::ostream& out, const Machine& machine, const GemmCase& gemm, const Estimate& time, const std::string& source) {
  out << machine.gpu << ",gemm," << gemm.dtype << ',' << gemm.m << ',' << gemm.n << ',' << gemm.k << ',' << tail(time, source);
}

void write_row(std::ostream& out, const Machine& machine, const AttentionCase& attention, const Estimate& time,
               const std::string& source) {
  out << machine.gpu << (attention.decode() ? ",attn_decode" : ",attn_prefill") << ",bf16,bf16," << attention.query_heads << ','
      << attention.kv_heads << ',' << attention.head_dim << ',' << attention.batch << ',' << attention.q_len << ','
      << attention.kv_len << ",1," << tail(time, source);
}

void write_row(std::ostream& out, const Machine& machine, const ElementwiseCase& elementwise, const Estimate& time,
               const std::string& source) {
  out << machine.gpu << ',' << elementwise.op << ",bf16," << elementwise.tokens << ',' << elementwise.width << ','
      << ideal_bytes(elementwise) << ',' << tail(time, source);
}

void write_row(std::ostream& out, const Machine& machine, const BandwidthCase& bandwidth, const Estimate& time,
               const std::string& source) {
  out << machine.gpu << ',' << bandwidth.op << ',' << bandwidth.bytes << ',' << tail(time, source);
}

void write_row(std::ostream& out, const Machine& machine, const CollectiveCase& collective, const Estimate& time,
               const std::string& source) {
  out << machine.gpu << ',' << collective.op << ',' << machine.gpus << ',' << machine.gpus << ',' << collective.bytes << ','
      << tail(time, source);
}

std::size_t ideal_bytes(const ElementwiseCase& elementwise) {
  const std::size_t tensor = static_cast<std::size_t>(elementwise.tokens) * static_cast<std::size_t>(elementwise.width) * 2;
  if (elementwise.op == "rmsnorm+residual") return 4 * tensor;  // reads input and residual, writes both
  if (elementwise.op == "silu_mul" || elementwise.op == "add") return 3 * tensor;
  return 2 * tensor;  // rope, embedding: one read, one write
}

}  // namespace ridgeline::harness
