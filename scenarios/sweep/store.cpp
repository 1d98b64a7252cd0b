#include "scenarios/sweep/store.hpp"

#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "scenarios/report/version.hpp"
#include "scenarios/study/metric.hpp"
#include "scenarios/sweep/lock_file.hpp"
#include "sim/base/error.hpp"

namespace ridgeline {

namespace fs = std::filesystem;

namespace {

constexpr int application_id = 0x52474c4e;  // "RGLN", in the file's header
constexpr int busy_milliseconds = 10'000;
constexpr const char* held_open = "another program holds it open; close that and give the same command again: what has run is kept";

// An open database file; failures are the user's to mend (disk, permissions, damage) unless they can only be ours.
class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {
    const int code = sqlite3_open_v2(path_.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
    if (code != SQLITE_OK) {
      try {
        fail(code, "open");
      } catch (...) {
        sqlite3_close(handle_);
        throw;
      }
    }
    sqlite3_busy_timeout(handle_, busy_milliseconds);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[noreturn]] void fail(int code, const std::string& doing) const {
    const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
    const int kind = code & 0xff;
    if (kind == SQLITE_ERROR || kind == SQLITE_MISUSE || kind == SQLITE_RANGE || kind == SQLITE_CONSTRAINT) {
      throw InternalError(fmt::format("SQLite: cannot {} {}: {}", doing, path_, reason));
    }
    if (kind == SQLITE_NOTADB) refuse("is not an SQLite database; give another file");
    if (kind == SQLITE_CORRUPT) refuse("is damaged; remove it to start anew");
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED) {
      refuse(held_open);
    }
    refuse(fmt::format("cannot {}: {}", doing, reason));
  }
  [[noreturn]] void refuse(const std::string& why) const { throw ConfigError(Diagnostic{{path_}, {}, why}); }

  void execute(const std::string& sql, const std::string& doing = "write") const {
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code, doing);
  }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(const Database& database, const std::string& sql) : database_(database) {
    const int code = sqlite3_prepare_v2(database.handle(), sql.c_str(), static_cast<int>(sql.size()), &handle_, nullptr);
    if (code != SQLITE_OK) database.fail(code, "read");
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& text) const {
    check(sqlite3_bind_text(handle_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  void bind(int index, std::int64_t number) const { check(sqlite3_bind_int64(handle_, index, number)); }
  void bind(int index, const std::optional<double>& number) const {
    check(number ? sqlite3_bind_double(handle_, index, *number) : sqlite3_bind_null(handle_, index));
  }
  void bind(int index, const std::optional<bool>& truth) const {
    check(truth ? sqlite3_bind_int(handle_, index, *truth ? 1 : 0) : sqlite3_bind_null(handle_, index));
  }
  /// True: there is a row to read.
  [[nodiscard]] bool step() const {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      sqlite3_reset(handle_);
      database_.fail(code, "write");
    }
    return code == SQLITE_ROW;
  }
  void run_once() const {
    (void)step();
    reset();
  }
  void reset() const { sqlite3_reset(handle_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
  }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  [[nodiscard]] std::optional<double> number(int column) const {
    return is_null(column) ? std::nullopt : std::optional(sqlite3_column_double(handle_, column));
  }
  [[nodiscard]] std::optional<bool> truth(int column) const { return is_null(column) ? std::nullopt : std::optional(integer(column) != 0); }

 private:
  [[nodiscard]] bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  void check(int code) const {
    if (code != SQLITE_OK) database_.fail(code, "write");
  }
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// The columns of `results`, in order.
std::vector<std::string> result_columns() {
  std::vector<std::string> columns{"key", "status", "reason", "saturated", "slo_met"};
  for (const Metric& metric : metrics()) columns.push_back(metric.name);
  columns.emplace_back("scenario");
  return columns;
}
constexpr int first_metric = 5;  // columns before the metrics

std::string create_results() {
  std::string sql = "CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL);\n"
                    "CREATE TABLE results(key TEXT PRIMARY KEY, status TEXT NOT NULL, reason TEXT NOT NULL, saturated INTEGER, slo_met INTEGER";
  for (const Metric& metric : metrics()) sql += ", " + quoted(metric.name) + " REAL";
  return sql + ", scenario TEXT NOT NULL);\n" +
         fmt::format("INSERT INTO about VALUES('version', '{}');\nPRAGMA application_id = {};\n", version(), application_id);
}

std::string insert_result() {
  std::string marks = "?";
  for (std::size_t i = 1; i < result_columns().size(); ++i) marks += ", ?";
  return "INSERT INTO results VALUES(" + marks + ")";
}

// The table of points has a column for each swept key, so it differs from sweep to sweep.
std::string create_points(const SweepTable& table) {
  std::string axes;
  for (const std::string& axis : table.axes) axes += ", " + quoted(axis);
  std::string from_points = "p.point, p.label";
  for (const std::string& axis : table.axes) from_points += ", p." + quoted(axis);
  std::string from_results = "r.saturated, r.slo_met";
  for (const Metric& metric : metrics()) from_results += ", r." + quoted(metric.name);
  return "CREATE TABLE points(point INTEGER PRIMARY KEY, label TEXT NOT NULL" + axes + ", status TEXT NOT NULL, reason TEXT NOT NULL, key TEXT NOT NULL);\n" +
         "CREATE VIEW sweep AS SELECT " + from_points + ", p.status, p.reason, " + from_results +
         " FROM points p LEFT JOIN results r ON r.key = p.key ORDER BY p.point;\n";
}

void bind_result(const Statement& insert, const StoredResult& result) {
  insert.bind(1, result.key);
  insert.bind(2, std::string(to_string(result.outcome.status)));
  insert.bind(3, result.outcome.reason);
  insert.bind(4, result.outcome.saturated);
  insert.bind(5, result.outcome.slo_met);
  const int count = static_cast<int>(metrics().size());
  for (int i = 0; i < count; ++i) {
    const auto& values = result.outcome.metrics;
    insert.bind(first_metric + 1 + i, values.empty() ? std::optional<double>() : values[static_cast<std::size_t>(i)]);
  }
  insert.bind(first_metric + 1 + count, result.scenario);
}

StoredResult read_result(const Statement& row) {
  StoredResult result{.key = row.text(0)};
  result.outcome = {.status = point_status(row.text(1)), .reason = row.text(2), .saturated = row.truth(3), .slo_met = row.truth(4)};
  const int count = static_cast<int>(metrics().size());
  if (result.outcome.status == PointStatus::ok) {
    for (int i = 0; i < count; ++i) result.outcome.metrics.push_back(row.number(first_metric + i));
  }
  result.scenario = row.text(first_metric + count);
  return result;
}

void write_points(const Database& database, const SweepTable& table) {
  std::string marks = "?, ?, ?, ?, ?";
  for (std::size_t i = 0; i < table.axes.size(); ++i) marks += ", ?";
  const Statement insert(database, "INSERT INTO points VALUES(" + marks + ")");
  std::int64_t number = 0;
  for (const SweepRow& row : table.rows) {
    int at = 0;
    insert.bind(++at, number++);
    insert.bind(++at, row.label);
    for (const std::string& value : row.values) insert.bind(++at, value);
    insert.bind(++at, std::string(to_string(row.outcome.status)));
    insert.bind(++at, row.outcome.reason);
    insert.bind(++at, row.key);
    insert.run_once();
  }
}

// The file behind symbolic links, so that renaming replaces it and not the link.
std::string target_of(const std::string& path) {
  if (path.empty() || path == "-") throw ConfigError("--db: expected the name of a file");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw ConfigError(Diagnostic{{path}, {}, "is a directory, expected an SQLite database"});
  if (fs::exists(status) && !fs::is_regular_file(status)) throw ConfigError(Diagnostic{{path}, {}, "not a regular file, expected an SQLite database"});
  const fs::path whole = fs::weakly_canonical(path, error);
  return error ? path : whole.string();
}

}  // namespace

class SweepStore::Implementation {
 public:
  explicit Implementation(const std::string& path)
      : target_(target_of(path)), lock_(target_ + "-lock", target_), database_(std::make_unique<Database>(target_)) {
    const bool fresh = is_fresh();
    database_->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", "open for writing");
    if (fresh) database_->execute("BEGIN IMMEDIATE;\n" + create_results() + "COMMIT");
    find_ = std::make_unique<Statement>(*database_, "SELECT * FROM results WHERE key = ?");
    insert_ = std::make_unique<Statement>(*database_, insert_result());
  }

  std::optional<StoredResult> find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    find_->bind(1, key);
    std::optional<StoredResult> result;
    if (find_->step()) result = read_result(*find_);
    find_->reset();
    return result;
  }

  void put(const StoredResult& result) {
    const std::scoped_lock lock(mutex_);
    bind_result(*insert_, result);
    insert_->run_once();
  }

  void finish(const SweepTable& table) {
    const std::string fresh_path = target_ + "-new";
    fs::remove(fresh_path);
    fs::remove(fresh_path + "-journal");
    {
      const Database fresh(fresh_path);
      fresh.execute("PRAGMA page_size = 4096; BEGIN IMMEDIATE;\n" + create_results() + create_points(table));
      copy_results(fresh, table);
      write_points(fresh, table);
      fresh.execute("COMMIT");
    }
    find_.reset();
    insert_.reset();
    // Leaving the write-ahead log needs every other reader gone. A log left behind would be taken for the new file's.
    database_->execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    database_.reset();
    if (fs::exists(target_ + "-wal")) throw ConfigError(Diagnostic{{target_}, {}, held_open});
    fs::rename(fresh_path, target_);
  }

 private:
  // A new or empty file; throws for files that are not ours to write.
  [[nodiscard]] bool is_fresh() const {
    const auto integer = [&](const std::string& sql) {
      const Statement statement(*database_, sql);
      return statement.step() ? statement.integer(0) : 0;
    };
    const bool ours = integer("PRAGMA application_id") == application_id;
    if (!ours && integer("SELECT count(*) FROM sqlite_master") > 0) database_->refuse("is a database of another program; give another file");
    if (sqlite3_db_readonly(database_->handle(), "main") == 1) database_->refuse("cannot be written");
    if (!ours) return true;
    const Statement about(*database_, "SELECT value FROM about WHERE name = 'version'");
    const std::string written_by = about.step() ? about.text(0) : std::string("an unknown version");
    const Statement columns(*database_, "SELECT name FROM pragma_table_info('results')");
    std::vector<std::string> names;
    while (columns.step()) names.push_back(columns.text(0));
    if (written_by != version() || names != result_columns()) {
      database_->refuse(fmt::format("holds results of ridgeline {}{}, which may differ from those of {}; give another file, or remove this one to "
                                    "start anew", written_by, written_by == version() ? " with other columns" : "", version()));
    }
    return false;
  }

  // This sweep's results in the order of its points, then what else the file held, by key.
  void copy_results(const Database& fresh, const SweepTable& table) {
    const Statement insert(fresh, insert_result());
    std::set<std::string> copied;
    const auto copy = [&](const StoredResult& result) {
      if (!copied.insert(result.key).second) return;
      bind_result(insert, result);
      insert.run_once();
    };
    for (const SweepRow& row : table.rows) {
      if (const std::optional<StoredResult> result = find(row.key)) copy(*result);
    }
    const Statement all(*database_, "SELECT * FROM results ORDER BY key");
    while (all.step()) copy(read_result(all));
  }

  std::string target_;
  LockFile lock_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statement> find_;
  std::unique_ptr<Statement> insert_;
  std::mutex mutex_;
};

SweepStore::SweepStore(const std::string& path) : implementation_(std::make_unique<Implementation>(path)) {}
SweepStore::~SweepStore() = default;

std::optional<PointOutcome> SweepStore::find(const std::string& key) {
  std::optional<StoredResult> result = implementation_->find(key);
  return result ? std::optional(std::move(result->outcome)) : std::nullopt;
}

void SweepStore::put(const StoredResult& result) {
  if (result.outcome.status != PointStatus::error) implementation_->put(result);
}

void SweepStore::finish(const SweepTable& table) { implementation_->finish(table); }

}  // namespace ridgeline
