#include "scenarios/report/atomic_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.hpp"

namespace ridgeline {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t buffer_size = 1 << 16;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_ == "-") {
    descriptor_ = STDOUT_FILENO;
    direct_ = true;
    return;
  }
  if (path_.empty()) throw ConfigError("an output file needs a name");
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) throw ConfigError(Diagnostic{{path_}, {}, "cannot write: is a directory, expected a file"});
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("open");
    direct_ = true;
    return;
  }
  const fs::path resolved = fs::weakly_canonical(path_, error);
  if (!error) target_ = resolved.string();
  open_temporary();
}

// An unnamed file where the file system has them (then even a killed run leaves nothing), else a hidden one.
void AtomicFile::open_temporary() {
  std::string folder = fs::path(target_).parent_path().string();
  if (folder.empty()) folder = ".";
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  temporary_ = folder + "/." + fs::path(target_).filename().string() + ".XXXXXX";
  descriptor_ = ::mkstemp(temporary_.data());
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("create");
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string& doing) const {
  const std::string reason = std::strerror(errno);
  throw ConfigError(Diagnostic{{path_ == "-" ? "standard output" : path_}, {}, "cannot " + doing + ": " + reason});
}

void AtomicFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= buffer_size) drain();
}

void AtomicFile::drain() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t wrote = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) fail("write");
    done += static_cast<std::size_t>(wrote);
  }
  buffer_.clear();
}

void AtomicFile::sync() {
  drain();
  // Pipes and terminals cannot be synced; that is no loss.
  if (!direct_ && ::fsync(descriptor_) != 0) fail("write");
  synced_ = true;
}

void AtomicFile::publish() {
  if (temporary_.empty()) {
    // linkat does not replace: link under a name of our own, then rename over the target.
    const std::string name = target_ + "." + std::to_string(::getpid()) + ".part";
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    ::unlink(name.c_str());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("create");
    temporary_ = name;
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename into place");
  temporary_.clear();
}

void AtomicFile::commit() {
  if (!synced_) sync();
  if (!direct_) publish();
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor != STDOUT_FILENO && ::close(descriptor) != 0) fail("close");
}

}  // namespace ridgeline
