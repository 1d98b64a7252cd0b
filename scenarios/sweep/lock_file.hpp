// One process at a time: an advisory lock that dies with its holder.
#pragma once

#include <string>

namespace ridgeline {

class LockFile {
 public:
  /// Takes the lock, or throws ConfigError that says which process has it. `what` names the thing guarded.
  LockFile(std::string path, const std::string& what);
  /// Lets go and removes the file.
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ridgeline
