// Where other people's data lies. It is never part of the project: tests that need it skip, loudly, where it is absent.
#pragma once

#include <filesystem>
#include <optional>

#include "tests/support/catch.hpp"

namespace ridgeline::test {

/// The root of the project's sources.
std::filesystem::path source_folder();

/// The shared folder (with data/ and cases/ in it): the parent of $RIDGELINE_DATA, or ../shared beside the project.
std::optional<std::filesystem::path> shared_folder();

}  // namespace ridgeline::test

/// Leaves the test case with a warning when the shared folder is absent.
#define REQUIRE_SHARED_OR_SKIP(variable)                                                     \
  const auto variable##_found = ridgeline::test::shared_folder();                            \
  if (!variable##_found) {                                                                   \
    WARN("SKIPPED: ../shared is absent (set RIDGELINE_DATA to its data folder)");            \
    return;                                                                                  \
  }                                                                                          \
  const std::filesystem::path variable = *variable##_found
