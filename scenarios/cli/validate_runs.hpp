// The kinds of `ridgeline validate` that run whole scenarios.
#pragma once

#include "scenarios/cli/commands.hpp"

namespace ridgeline::cli {

int validate_serving_command(const Arguments& arguments);
int validate_requests_command(const Arguments& arguments);

}  // namespace ridgeline::cli
