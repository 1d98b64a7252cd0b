// The program run as its users run it. Needs RIDGELINE_BINARY.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"

namespace ridgeline::test {

struct Outcome {
  int code = -1;
  std::string output;
};

/// Through the shell, so that `arguments` may redirect.
inline Outcome run(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = ::popen((std::string(RIDGELINE_BINARY) + " " + arguments).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) outcome.output.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace ridgeline::test
