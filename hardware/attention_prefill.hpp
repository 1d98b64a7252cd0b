// Prefill attention: pieces of prompts, each query seeing its history and the tokens before it; and, in kernels that take a
// whole step in one call, the decode sequences of the step beside them.
//
//   t = launch + smooth_maximum(compute, memory)
//   compute = smooth maximum (balance_exponent) of  sum of all work items / SMs  and  the longest work item
//   work item = work_item + tile * tiles of visible keys
//   memory = (queries, outputs and visible KV, each once) / (hbm_efficiency * bandwidth)
//
// A work item is one tile of rows of one head (or of one KV head where the kernel packs the group): `tile_rows` rows, padded,
// against key tiles from the first visible key up to the causal diagonal, so the items of a prompt form an arithmetic
// series, cut off by a sliding window. `tile` = FLOPs of one padded tile / (tile_efficiency * (head_dim / 128)^head_dim_exponent
// * one SM's peak).
//
// A decode sequence in the same call is an item of one row tile. A kernel that does not pack then computes a whole tile for
// every query head, and its grid has as many row tiles for a decode as for the longest chunk: all but one leave at once,
// `idle_tile` each. The heads of a group also read the same keys again once the batch exceeds the SMs that share the L2.
//
// Valid for head dimensions 64 to 256, 16 to 16,384 new tokens, batches to 256 prompts.
#pragma once

#include "hardware/attention_kernel.hpp"
#include "hardware/family_price.hpp"
#include "hardware/gpu.hpp"
#include "sim/cost/operator.hpp"

namespace ridgeline {

class MapReader;

struct AttentionPrefillParameters {
  AttentionKernel kernel = AttentionKernel::flash_attention_2;
  Duration launch;                ///< an empty call
  Duration work_item;             ///< prologue and epilogue of one thread block
  double tile_efficiency = 1.0;   ///< of one SM's 16-bit peak at head dimension 128, on padded tiles
  double head_dim_exponent = 0.0;
  double hbm_efficiency = 1.0;    ///< of the datasheet bandwidth
  double balance_exponent = 2.0;  ///< 1: the longest item starts when all SMs are done; large: it is hidden behind the others
  double overlap_exponent = 2.0;  ///< 1: compute and memory follow each other
  Duration idle_tile;             ///< a thread block that finds no rows
};

/// Prices all chunks and decode sequences of `shape` as one call. Zero when there are none.
FamilyPrice price_prefill(const AttentionShape& shape, const AttentionPrefillParameters& parameters, const GpuSpec& gpu);

/// Keys: the fields above by name.
AttentionPrefillParameters read_attention_prefill_parameters(MapReader& map);

}  // namespace ridgeline
