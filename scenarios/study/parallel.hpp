// Independent work on all cores, with answers that do not depend on their number.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline {

/// One thread per processor this process may use; at least 1.
std::size_t default_jobs();

/// Calls `work(i)` for every i below `count`, on at most `jobs` threads (the caller's is one of them). Items are begun in order.
///
/// When calls throw, nothing new is begun, and the exception of the lowest i is rethrown: the same one whatever `jobs` is.
/// `done(n)`, if given, hears that n items are finished, never from two threads at a time.
void parallel_for(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                  const std::function<void(std::size_t)>& done = {});

/// `make(0) .. make(count - 1)`, in that order.
template <class Make>
auto parallel_map(std::size_t count, std::size_t jobs, Make&& make, const std::function<void(std::size_t)>& done = {}) {
  using Result = decltype(make(std::size_t{0}));
  std::vector<std::optional<Result>> slots(count);  // optional: no default constructor asked for, and no shared bits of vector<bool>
  parallel_for(count, jobs, [&](std::size_t i) { slots[i].emplace(make(i)); }, done);
  std::vector<Result> results;
  results.reserve(count);
  for (std::optional<Result>& slot : slots) results.push_back(std::move(*slot));
  return results;
}

}  // namespace ridgeline
