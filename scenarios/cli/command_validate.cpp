// ridgeline validate operators FILE.csv..., ridgeline calibrate FILE.csv...
#include "scenarios/cli/commands.hpp"
#include "sim/base/error.hpp"

namespace ridgeline::cli {

int validate_command(const Arguments&) { throw ConfigError("`validate` is not in this version"); }
int calibrate_command(const Arguments&) { throw ConfigError("`calibrate` is not in this version"); }

}  // namespace ridgeline::cli
