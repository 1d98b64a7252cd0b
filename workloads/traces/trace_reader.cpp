#include "workloads/traces/trace_reader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "workloads/lengths.hpp"

namespace ridgeline {

namespace {

std::string shown(std::string_view text) {
  return fmt::format("`{}{}`", text.substr(0, 40), text.size() > 40 ? "…" : "");
}

std::optional<TimeUnit> unit_in_name(std::string_view name) {
  if (name.ends_with("_ns")) return TimeUnit::nanoseconds;
  if (name.ends_with("_us")) return TimeUnit::microseconds;
  if (name.ends_with("_ms")) return TimeUnit::milliseconds;
  if (name.ends_with("_s")) return TimeUnit::seconds;
  return std::nullopt;
}

// Calls `use` for every piece of `text` between separators, empty pieces left out.
template <class Use>
void each_piece(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <class Integer>
bool parse_whole(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Appends tokens to content, joining runs that continue one another.
void append(Content& content, std::uint64_t stream, Tokens offset, Tokens length) {
  if (length <= Tokens{0}) return;
  if (!content.empty() && content.back().stream == stream && content.back().offset + content.back().length == offset) {
    content.back().length += length;
  } else {
    content.push_back({stream, offset, length});
  }
}

// Cuts the runs to the prompt's length.
void clip(Content& content, Tokens length) {
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i].length = std::min(content[i].length, length);
    length -= content[i].length;
    if (length == Tokens{0}) content.resize(i + 1);
  }
}

}  // namespace

TraceReader::TraceReader(const TraceConfig& config, TraceNeeds needs)
    : config_(config), needs_(needs), lines_(config.file) {
  const TraceHead head = read_head(config_.file);
  format_ = choose_format(config_, head);
  block_size_ = config_.trace_block_size.value_or(format_.block_size);
  unit_ = config_.time_unit.value_or(format_.unit);
  unit_assumed_ = !config_.time_unit;
  std::string_view header;
  if (!format_.jsonl) lines_.next(header);
  bind_columns(head, needs);
}

// Decides which columns are used; of aliases for one role the earlier in the format's list wins.
void TraceReader::bind_columns(const TraceHead& head, TraceNeeds needs) {
  columns_.assign(head.names.size(), nullptr);
  std::vector<Role> bound;
  for (const TraceField& field : format_.fields) {
    const auto found = std::find(head.names.begin(), head.names.end(), field.name);
    if (found == head.names.end()) continue;
    const bool judged = field.role == Role::expected || field.role == Role::refused;
    if (!judged && std::find(bound.begin(), bound.end(), field.role) != bound.end()) continue;
    if (std::count(head.names.begin(), head.names.end(), field.name) > 1)
      fail(1, "has two columns `" + field.name + "`");
    if (field.role == Role::hash_ids && !config_.use_hash_ids) continue;
    bound.push_back(field.role);
    columns_[static_cast<std::size_t>(found - head.names.begin())] = &field;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == nullptr) unused_.push_back(head.names[i]);
  }
  // JSON rows may differ; each is checked when read.
  if (format_.jsonl && !config_.arrival_column && !config_.input_column && !config_.output_column) return;
  const auto require = [&](bool needed, Role role, std::string_view what, std::string_view instead) {
    if (!needed || std::find(bound.begin(), bound.end(), role) != bound.end()) return;
    std::vector<std::string> expected;
    for (const TraceField& field : format_.fields) {
      if (field.role == role) expected.push_back(field.name);
    }
    fail(1, fmt::format("has no column for {} (the format {} calls it `{}`); its columns are: {}; name one under "
                        "`columns:` or give {}",
                        what, format_.name, fmt::join(expected, "`, `"), fmt::join(head.names, ", "), instead));
  };
  require(needs.times, Role::time, "the arrival time", "`arrival`");
  require(needs.input, Role::input, "the input tokens", "`input_tokens`");
  require(needs.output, Role::output, "the output tokens", "`output_tokens`");
}

bool TraceReader::next(TraceRow& row) {
  std::string_view line;
  if (!lines_.next(line)) return false;
  row.line = lines_.line_number();
  row.time.reset();
  row.input.reset();
  row.output.reset();
  row.max_tokens.reset();
  row.priority = 0;
  row.session = 0;
  row.delay.reset();
  chat_.reset(), parent_chat_.reset();
  row.content.clear();
  row.accepted.clear();
  ids_.clear();
  if (format_.jsonl) {
    read_json(line, row);
  } else {
    read_csv(line, row);
  }
  name_session(row);
  check(row);
  return true;
}

void TraceReader::read_csv(std::string_view line, TraceRow& row) {
  const auto* fields = csv_.split(line);
  if (fields == nullptr) fail("a quote is out of place");
  if (fields->size() != columns_.size()) {
    fail(fmt::format("expected {} fields as in the header, got {}", columns_.size(), fields->size()));
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] != nullptr) decode(*columns_[i], (*fields)[i], false, row);
  }
}

const TraceField* TraceReader::field_named(std::string_view name) const {
  const auto found = std::find_if(format_.fields.begin(), format_.fields.end(),
                                  [&](const TraceField& field) { return field.name == name; });
  return found == format_.fields.end() ? nullptr : &*found;
}

void TraceReader::read_json(std::string_view line, TraceRow& row) {
  const std::string wrong = json_.parse(line);
  if (!wrong.empty()) fail(wrong);
  for (std::size_t i = 0; i < json_.size(); ++i) {
    const JsonField& value = json_.field(i);
    const TraceField* field = field_named(value.name);
    if (field == nullptr && std::find(unused_.begin(), unused_.end(), value.name) == unused_.end()) unused_.push_back(value.name);
    if (field == nullptr || value.kind == JsonField::Kind::null) continue;
    if (field->role == Role::refused) fail("`" + field->name + "`: " + field->reason);
    if (field->role == Role::hash_ids) {
      if (!config_.use_hash_ids) continue;
      if (value.kind != JsonField::Kind::numbers)
        fail("`" + field->name + "`: expected a list of whole numbers of at most 64 bits");
      ids_ = value.numbers;
      continue;
    }
    if (value.kind != JsonField::Kind::number && value.kind != JsonField::Kind::text)
      fail("`" + field->name + "`: expected a number");
    decode(*field, value.text, value.kind == JsonField::Kind::text, row);
  }
}

void TraceReader::decode(const TraceField& field, std::string_view text, bool quoted, TraceRow& row) {
  if (quoted && (field.role == Role::input || field.role == Role::output || field.role == Role::max_tokens)) {
    fail(fmt::format("`{}`: expected a number, got the text {}", field.name, shown(text)));
  }
  switch (field.role) {
    case Role::time:
      // An empty time is caught by `check`, when times are needed at all.
      if (needs_.times && !row.time && !text.empty()) row.time = decode_time(field, text);
      break;
    case Role::input:
      if (needs_.input && !row.input) row.input = decode_tokens(field, text);
      break;
    case Role::output:
      if (needs_.output && !row.output) row.output = decode_tokens(field, text);
      break;
    case Role::max_tokens:
      if (needs_.output && !text.empty()) row.max_tokens = decode_tokens(field, text);
      break;
    case Role::priority:
      if (!text.empty() && !parse_whole(text, row.priority)) {
        fail(fmt::format("`{}`: expected a whole number, got {}", field.name, shown(text)));
      }
      break;
    case Role::prefix: decode_prefix(text, row); break;
    case Role::session:
      if (!text.empty()) row.session = combine64(hash64("session name"), hash64(text));
      break;
    case Role::chat:
    case Role::parent_chat:
      if (!parse_whole(text, (field.role == Role::chat ? chat_ : parent_chat_).emplace())) {
        fail(fmt::format("`{}`: expected a whole number, got {}", field.name, shown(text)));
      }
      break;
    case Role::delay:
      if (!text.empty()) row.delay = decode_delay(field, text);
      break;
    case Role::accepted:
      each_piece(text, ' ', [&](std::string_view piece) {
        int accepted = 0;
        if (!parse_whole(piece, accepted) || accepted < 0) {
          fail(fmt::format("`{}`: expected whole numbers of at least 0, got {}", field.name, shown(text)));
        }
        row.accepted.push_back(accepted);
      });
      break;
    case Role::hash_ids:
      each_piece(text, '|', [&](std::string_view piece) {
        if (!parse_whole(piece, ids_.emplace_back()))
          fail(fmt::format("`{}`: expected ids like 11|22, got {}", field.name, shown(text)));
      });
      break;
    case Role::expected:
      if (text != field.expected)
        fail(fmt::format("`{}` is {}, expected {}: {}", field.name, shown(text), field.expected, field.reason));
      break;
    case Role::refused:
      if (!text.empty()) fail("`" + field.name + "`: " + field.reason);
      break;
  }
}

Instant TraceReader::decode_time(const TraceField& field, std::string_view text) {
  if (unit_assumed_) {
    if (const auto named = unit_in_name(field.name)) unit_ = *named;
  }
  std::optional<Instant> time;
  if (clock_ != Clock::date) time = parse_decimal_time(text, unit_);
  if (clock_ == Clock::unknown && time) clock_ = Clock::number, first_time_ = *time;
  if (!time && clock_ != Clock::number) {
    time = parse_date_time(text);
    if (time && clock_ == Clock::unknown) clock_ = Clock::date, first_time_ = *time;
  }
  if (!time) {
    const std::string_view expected = clock_ == Clock::number ? "a number"
                                      : clock_ == Clock::date ? "a date like 2023-11-16 18:15:46.6805900"
                                                              : "a number or a date like 2023-11-16 18:15:46.6805900";
    fail(fmt::format("`{}`: expected {}, got {}", field.name, expected, shown(text)));
  }
  if (suspicious_line_ == 0 && clock_ == Clock::number && unit_ == TimeUnit::milliseconds && unit_assumed_ &&
      *time > Instant{} && *time < Instant{} + Duration::milliseconds(1)) {
    suspicious_line_ = lines_.line_number();
  }
  return *time;
}

Duration TraceReader::decode_delay(const TraceField& field, std::string_view text) const {
  const TimeUnit unit = config_.time_unit.value_or(unit_in_name(field.name).value_or(format_.unit));
  const std::optional<Instant> time = parse_decimal_time(text, unit);
  const std::optional<Duration> delay = time ? time->since(Instant{}) : std::nullopt;
  if (!delay || *delay < Duration{}) fail(fmt::format("`{}`: expected a time of at least 0, got {}", field.name, shown(text)));
  return *delay;
}

// A conversation goes by the first of its turns that is known.
void TraceReader::name_session(TraceRow& row) {
  if (!chat_) return;
  const std::int64_t before = parent_chat_.value_or(-1);
  const auto known = session_of_chat_.find(before);
  row.session = known != session_of_chat_.end()
                    ? known->second
                    : combine64(hash64("chat"), static_cast<std::uint64_t>(before >= 0 ? before : *chat_));
  session_of_chat_.emplace(*chat_, row.session);
}

Tokens TraceReader::decode_tokens(const TraceField& field, std::string_view text) const {
  std::int64_t tokens = 0;
  // Tables that went through pandas write whole numbers as 374.0.
  const std::size_t point = text.find('.');
  const bool whole = point != std::string_view::npos && point + 1 < text.size() &&
                     text.find_first_not_of('0', point + 1) == std::string_view::npos;
  if (!parse_whole(whole ? text.substr(0, point) : text, tokens) || tokens < 0 || tokens > longest_length.count()) {
    fail(fmt::format("`{}`: expected a whole number of tokens from 0 to {}, got {}", field.name, longest_length.count(),
                     shown(text)));
  }
  return Tokens{tokens};
}

void TraceReader::decode_prefix(std::string_view text, TraceRow& row) const {
  each_piece(text, ' ', [&](std::string_view piece) {
    const std::size_t colon = piece.rfind(':');
    std::int64_t length = 0;
    if (colon == std::string_view::npos || colon == 0 || !parse_whole(piece.substr(colon + 1), length) || length < 1) {
      fail(fmt::format("`prefix`: expected runs like X:12 Y:8, got {}", shown(piece)));
    }
    const std::string_view name = piece.substr(0, colon);
    std::int64_t quoted = 0;
    const bool is_output = name.starts_with("out") && parse_whole(name.substr(3), quoted) && quoted >= 0;
    append(row.content, is_output ? output_stream(quoted) : combine64(hash64("prefix"), hash64(name)), Tokens{0},
           Tokens{length});
  });
}

// Block ids become runs of one long stream (id * block), so that a chain of consecutive ids is a single run.
void TraceReader::add_blocks(const std::vector<std::uint64_t>& ids, TraceRow& row) const {
  const std::int64_t block = block_size_.count();
  if (block == 0) fail("`hash_ids` without a block size: set `trace_block_size` (tokens per id)");
  const auto needed = static_cast<std::size_t>(ceil_divide(row.input->count(), block));
  if (ids.size() != needed) {
    fail(
        fmt::format("{} hash ids for {} tokens, but blocks of {} tokens need {}; set `trace_block_size` if an id "
                    "stands for another "
                    "number of tokens, or `use_hash_ids: false`",
                    ids.size(), row.input->count(), block, needed));
  }
  constexpr int low_bits = 32;  // (2^32 - 1) * block fits 63 bits for blocks up to 2^31
  Tokens left = *row.input;
  for (const std::uint64_t id : ids) {
    const auto low = static_cast<std::int64_t>(id & ((1ULL << low_bits) - 1));
    const Tokens length = std::min(left, block_size_);
    append(row.content, combine64(hash64("blocks"), id >> low_bits), Tokens{low * block}, length);
    left -= length;
  }
}

void TraceReader::check(TraceRow& row) const {
  const auto require = [&](bool needed, bool there, Role role, const std::string& what) {
    if (!needed || there) return;
    const auto field =
        std::find_if(format_.fields.begin(), format_.fields.end(), [&](const TraceField& f) { return f.role == role; });
    fail(fmt::format("has no {} (`{}`)", what, field->name));
  };
  const bool follows = row.delay || (row.session != 0 && format_.sessions != TraceFormat::Sessions::never);
  require(needs_.times && !follows, row.time.has_value(), Role::time, "arrival time");
  require(needs_.input, row.input.has_value(), Role::input, "number of input tokens");
  require(needs_.output, row.output.has_value(), Role::output, "number of output tokens");
  if (!needs_.input || row.input->count() == 0) {
    row.content.clear();
  } else if (!ids_.empty()) {
    add_blocks(ids_, row);
  } else {
    clip(row.content, *row.input);
  }
  if (row.max_tokens && row.output && *row.max_tokens < *row.output) {
    fail(
        fmt::format("`max_tokens` is {}, below the {} tokens generated", row.max_tokens->count(), row.output->count()));
  }
}

bool TraceReader::starts_at_first_row() const {
  if (config_.time_origin != TraceConfig::Origin::automatic)
    return config_.time_origin == TraceConfig::Origin::first_row;
  if (format_.origin != TraceConfig::Origin::automatic) return format_.origin == TraceConfig::Origin::first_row;
  // A number beyond 10^8 seconds is a clock counting from 1970 (or farther than a run can last anyway).
  constexpr Instant clock_like{Instant::Count{100'000'000} * 1'000'000'000'000};
  return clock_ == Clock::date || first_time_ >= clock_like;
}

std::string TraceReader::describe() const {
  std::string text = fmt::format("{} {} `{}`", format_.name, format_.jsonl ? "JSON lines" : "CSV", config_.file);
  if (!needs_.times) {
    text += ", lengths only";
  } else if (clock_ == Clock::date) {
    text += ", dates";
  } else {
    text += fmt::format(", times in {}", name_of(unit_));
  }
  if (needs_.times) text += starts_at_first_row() ? " from the first row" : " from zero";
  if (block_size_ > Tokens{0} && config_.use_hash_ids)
    text += fmt::format(", blocks of {} tokens", block_size_.count());
  if (!unused_.empty()) text += fmt::format(", not used: {}", fmt::join(unused_, ", "));
  return text;
}

std::string TraceReader::unit_warning() const {
  if (suspicious_line_ == 0) return {};
  return fmt::format(
      "{}:{}: a time below 1 with a fraction was taken as milliseconds, the unit of the format {}; if the file has "
      "seconds, "
      "set `time_unit: s`",
      config_.file, suspicious_line_, format_.name);
}

void TraceReader::fail(std::int64_t line, const std::string& message) const {
  const auto shown_line = static_cast<int>(std::min<std::int64_t>(line, std::numeric_limits<int>::max()));
  throw ConfigError(Diagnostic{{config_.file, shown_line, 0}, {}, message});
}

}  // namespace ridgeline
