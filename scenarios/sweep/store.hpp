// The database of a sweep: one SQLite file that a killed sweep resumes from. SQLite is caged in store.cpp.
//
// While a sweep runs, every result is one transaction in write-ahead-log mode (FILE-wal, FILE-shm beside it), so a kill loses at most
// the points then running. At the end the file is written anew, from scratch and in point order, and renamed into place: the same
// results give the same bytes, however often the sweep was killed and on however many threads it ran. A lock file (FILE-lock) keeps a second
// process away.
//
//     results  one row a run: key, status, reason, saturated, slo_met, every metric, the resolved scenario (runs again as it is)
//     points   one row a point of the last finished sweep, with a column for each swept key
//     sweep    the view that joins them
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "scenarios/sweep/sweep_table.hpp"

namespace ridgeline {

struct StoredResult {
  std::string key;
  PointOutcome outcome;
  std::string scenario;  ///< resolved, as JSON
};

class SweepStore {
 public:
  /// Opens or creates. Throws ConfigError: cannot be opened or written, no SQLite file, another program's, another version's, damaged, in
  /// use by another process.
  explicit SweepStore(const std::string& path);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  /// An earlier result; nullopt when there is none, or it was a bug of ours.
  std::optional<PointOutcome> find(const std::string& key);
  /// Stores one result, durably. May be called from several threads.
  void put(const StoredResult& result);
  /// Writes the final file. Results of other sweeps are kept, behind this one's. Nothing may be called afterwards.
  void finish(const SweepTable& table);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace ridgeline
