#include "scenarios/sweep/lock_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace {

std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  return got > 0 ? " " + std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

// The holder removes the file when it is done: a lock on a removed file guards nothing.
bool still_there(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

LockFile::LockFile(std::string path, const std::string& what) : path_(std::move(path)) {
  while (descriptor_ < 0) {
    const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) throw ConfigError(Diagnostic{{path_}, {}, fmt::format("cannot create: {}", std::strerror(errno))});
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      const std::string holder = holder_of(descriptor);
      ::close(descriptor);
      if (reason != EWOULDBLOCK) throw ConfigError(Diagnostic{{path_}, {}, fmt::format("cannot lock: {}", std::strerror(reason))});
      throw ConfigError(Diagnostic{{what}, {}, fmt::format("in use by another ridgeline process{}; wait for it, or give another file", holder)});
    }
    if (still_there(descriptor, path_)) descriptor_ = descriptor;
    else ::close(descriptor);
  }
  const std::string process = std::to_string(::getpid());
  // Only for the message above; the lock holds without it.
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, process.data(), process.size(), 0);
}

LockFile::~LockFile() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace ridgeline
