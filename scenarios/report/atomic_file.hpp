// Output that is either whole or absent: written to a temporary file beside the target, synced, renamed into place.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/report/text_sink.hpp"

namespace ridgeline {

/// One output file. Not visible under its name until `commit`; without it, nothing is left behind.
///
/// "-" is standard output; devices and pipes are written directly, since there is nothing to rename.
/// Every failure (full disk, closed pipe, missing folder, a directory in the way) throws ConfigError naming the file.
class AtomicFile final : public TextSink {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text) override;
  /// Hands everything to the disk. After this `commit` can fail only by the rename itself.
  void sync();
  /// Syncs and renames into place.
  void commit();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void open_temporary();
  void drain();
  void publish();
  [[noreturn]] void fail(const std::string& doing) const;

  std::string path_;       // as the user named it
  std::string target_;     // symbolic links resolved
  std::string temporary_;  // empty: unnamed or written directly
  std::string buffer_;
  int descriptor_ = -1;
  bool direct_ = false;    // a device, a pipe or standard output
  bool synced_ = false;
};

}  // namespace ridgeline
