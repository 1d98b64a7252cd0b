#include "models/model_spec.hpp"

#include <algorithm>

namespace ridgeline {

std::int64_t ModelSpec::count(AttentionKind kind) const {
  return std::count_if(layers.begin(), layers.end(),
                       [kind](const LayerSpec& layer) { return layer.attention == kind; });
}

std::int64_t ModelSpec::sliding_window() const {
  for (const LayerSpec& layer : layers) {
    if (layer.window > 0) return layer.window;
  }
  return 0;
}

}  // namespace ridgeline
