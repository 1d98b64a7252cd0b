// One line of a JSON-lines file: the scalars of a flat object with their digits as written, and lists of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// A field of the object. Numbers keep their text, so neither 64-bit ids nor decimal times lose digits.
struct JsonField {
  enum class Kind { null, boolean, number, text, numbers, other };
  std::string name;
  Kind kind = Kind::null;
  std::string text;                   ///< of a number or text
  std::vector<std::uint64_t> numbers; ///< of a list of whole numbers >= 0; any other list or object is `other`
};

/// Reads records, reusing its memory.
class JsonRecord {
 public:
  JsonRecord();
  ~JsonRecord();
  JsonRecord(const JsonRecord&) = delete;
  JsonRecord& operator=(const JsonRecord&) = delete;

  /// Empty on success; otherwise what is wrong with `line`.
  [[nodiscard]] std::string parse(std::string_view line);
  /// Of the last line parsed, in its order; the first `size()` are valid.
  [[nodiscard]] const JsonField& field(std::size_t index) const { return fields_[index]; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Handler;
  std::vector<JsonField> fields_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline
