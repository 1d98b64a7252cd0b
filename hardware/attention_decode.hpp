// Decode attention: few query rows per sequence against its whole KV cache; one engine call, combine kernel included.
//
//   t = launch + head_packing + hbm_ramp * m + smooth_maximum(compute, memory)
//   compute = min over splits s of  ceil(U s / SMs) * (work_item + tile * max(1, n / s)) + [s > 1] (combine + s * combine_per_split)
//   memory  = queries and outputs / HBM + KV bytes * (missed / HBM + (1 - missed) / L2)
//
// U = sequences * KV heads * tiles of packed rows: the independent work items. n = tiles of keys of the mean sequence. `tile`
// = FLOPs of one padded tile over tile_efficiency of one SM's peak. m = 1 / (1 + (l2_share * L2 / KV bytes)^16): the share of
// the KV cache that the L2 cannot hold. In an engine the layers between two calls sweep the L2, so all of it is missed; a
// benchmark that replays one call finds what fits still there (AttentionShape::kv_in_l2).
//
// Valid for head dimensions 64 to 256, 1 to 2048 sequences, contexts of 16 to 131,072 tokens. Lengths enter by their mean:
// a batch of very unequal lengths takes longer than this says when it leaves SMs idle.
#pragma once

#include "hardware/attention_kernel.hpp"
#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

struct AttentionDecodeParameters {
  AttentionKernel kernel = AttentionKernel::flash_attention_2;
  Duration launch;                ///< an empty call
  Duration head_packing;          ///< FA2: transposing queries and outputs, when several sequences and KV heads make it a copy
  Duration work_item;             ///< prologue and epilogue of one thread block
  double tile_efficiency = 1.0;   ///< of one SM's 16-bit peak, on padded tiles
  Duration combine;               ///< second kernel that merges splits
  Duration combine_per_split;
  double hbm_efficiency = 1.0;    ///< of the datasheet bandwidth
  double l2_speedup = 1.0;        ///< L2 rate over datasheet HBM rate
  double l2_share = 1.0;          ///< of the datasheet L2 that KV can live in
  Duration hbm_ramp;              ///< added once the KV cache outgrows the L2
  double overlap_exponent = 2.0;  ///< of the smooth maximum; 1: compute and memory follow each other
};

/// Prices the decode sequences of `shape`; its chunks are ignored. Zero when there are none.
FamilyPrice price_decode(const AttentionShape& shape, const AttentionDecodeParameters& parameters, const GpuSpec& gpu);

/// Keys: the fields above by name; head_packing only where the kernel transposes queries.
AttentionDecodeParameters read_attention_decode_parameters(MapReader& map);

}  // namespace ridgeline
