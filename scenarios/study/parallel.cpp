#include "scenarios/study/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace ridgeline {

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

void parallel_for(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
                  const std::function<void(std::size_t)>& done) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards what follows
  std::size_t finished = 0;
  std::size_t failed_item = count;
  std::exception_ptr failure;

  // Items are taken in order, so every item below a failing one was begun and will have its say before the threads end.
  const auto worker = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
        const std::scoped_lock lock(mutex);
        ++finished;
        if (done) done(finished);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (i < failed_item) {
          failed_item = i;
          failure = std::current_exception();
        }
        next = count;
        return;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(jobs, count); ++i) threads.emplace_back(worker);
    worker();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ridgeline
