// Two kinds of failure, two types: the user's mistake (exit 1) and our bug (exit 2). Libraries throw; only main prints.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline {

/// Where in the user's input something stands. Line and column count from 1; 0 = unknown (say, a --set override).
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One mistake of the user: where, which key, what is wrong, what was expected, near matches.
struct Diagnostic {
  SourceLocation where;
  std::string key;      ///< dotted path, e.g. `fleet[0].engine.block_size`; may be empty
  std::string message;  ///< one sentence without the location: "unknown key; did you mean `block_size`?"
};

/// `FILE:LINE:COLUMN: key: message` as printed to the user.
std::string to_string(const Diagnostic& diagnostic);

/// The user's input is wrong. Carries every mistake found, so all are reported at once. Exit code 1.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  explicit ConfigError(Diagnostic diagnostic) : ConfigError(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  /// A mistake that has no place in a file (command line, environment).
  explicit ConfigError(std::string message) : ConfigError(Diagnostic{{}, {}, std::move(message)}) {}

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// An invariant of ours is broken. Exit code 2.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// `candidates` closest to `name` (Damerau-Levenshtein distance at most a third of its length, or prefix), best first.
std::vector<std::string> near_matches(const std::string& name, const std::vector<std::string>& candidates,
                                      std::size_t most = 3);

/// "; did you mean `a` or `b`?" or, without a near match, "; expected one of: ..." (shortened when long).
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace ridgeline
