// What benchmark tables call GPUs, models and engines, in our catalogs' terms.
#pragma once

#include <optional>
#include <string>

namespace ridgeline {

/// Catalog name of the card; empty when the catalog has none like it.
/// Unstated: "A100-SXM4 (40 or 80 GB not stated)" is taken for the 40 GB card, which its batch-1 bandwidth (1.15 TB/s) fits.
std::string serving_gpu(const std::string& label);

/// Catalog name of a model or of one with the same layers (Llama-3.3-70B has Llama-3.1-70B's); empty when there is none.
std::string serving_model(const std::string& label);

/// An engine's profile, and what its version changes about it.
struct ServingEngine {
  std::string profile;       ///< empty: no profile is like it
  std::string reason;        ///< why not
  double version = 0.0;      ///< vLLM: major + minor/100 (0.11 = 0.11, 0.9 = 0.09); 0 = not stated
};

/// vLLM before 0.8 is V0; V1 scheduled synchronously until 0.14 (async scheduling on by default, 2026-01). A version that is not
/// stated follows the date of publication, or is 0.11 (2025) where there is none either.
ServingEngine serving_engine(const std::string& engine, const std::string& version, const std::string& date, bool static_batch);

}  // namespace ridgeline
