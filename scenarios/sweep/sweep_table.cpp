#include "scenarios/sweep/sweep_table.hpp"

#include <array>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {
constexpr std::array<std::string_view, 5> names{"ok", "skipped", "infeasible", "failed", "error"};
}

std::string_view to_string(PointStatus status) { return names.at(static_cast<std::size_t>(status)); }

PointStatus point_status(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<PointStatus>(i);
  }
  throw InternalError("a point of unknown status `" + std::string(text) + "`");
}

}  // namespace ridgeline
