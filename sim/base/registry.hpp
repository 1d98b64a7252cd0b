// A policy is one file plus one row: name, description, parameters, and how to make it.
#pragma once

#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace ridgeline {

/// One row of a registry. `Make` is the factory's function type, decided by the folder that owns the seam.
template <class Make>
struct RegistryRow {
  std::string name;
  std::string description;
  std::vector<std::string> parameters;  ///< keys it understands, shown by `ridgeline list`
  Make make;
};

/// Finds `name` among `rows`. Unknown: a ConfigError that lists the valid ones. `what` names the kind ("router").
template <class Make>
const RegistryRow<Make>& find_row(const std::vector<RegistryRow<Make>>& rows, const std::string& name,
                                  const std::string& what) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw ConfigError("unknown " + what + " `" + name + "`" + suggestion(name, names));
}

}  // namespace ridgeline
