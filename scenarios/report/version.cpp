#include "scenarios/report/version.hpp"

namespace ridgeline {

std::string_view version() { return RIDGELINE_VERSION; }

}  // namespace ridgeline
