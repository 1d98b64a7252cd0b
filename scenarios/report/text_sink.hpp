// Where streamed text goes: a file, or memory.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline {

class TextSink {
 public:
  virtual ~TextSink() = default;
  /// Throws ConfigError when the text can't be kept (full disk, closed pipe).
  virtual void write(std::string_view text) = 0;
};

class MemorySink final : public TextSink {
 public:
  void write(std::string_view text) override { text_ += text; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ridgeline
