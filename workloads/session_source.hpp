// Sessions as a source of requests: a step becomes a request when the answers it needs have ended.
#pragma once

#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "workloads/sessions.hpp"
#include "workloads/workload.hpp"

namespace ridgeline {

/// Memory holds the sessions under way. A step costs O(log steps that are due).
class SessionSource final : public WorkloadSource {
 public:
  /// `max_concurrent`: a later session starts when one of so many has ended.
  SessionSource(std::unique_ptr<SessionStream> stream, std::optional<std::int64_t> max_concurrent);

  Time next_arrival() override;
  void answered(const Request& request, Time now) override;
  [[nodiscard]] bool exhausted() override { return next_arrival() == Time::max() && under_way_.empty(); }

 protected:
  std::optional<RequestSpec> produce() override;
  void annotate(WorkloadNotes& notes) const override;

 private:
  struct Live {
    Session session;
    std::vector<std::uint32_t> waits_for;  // per step: answers still missing
    std::size_t unanswered = 0;
  };
  struct Place {
    std::shared_ptr<Live> live;
    std::uint32_t step = 0;
  };
  struct Due {
    Time arrival;
    std::int64_t row = 0;
    Place place;
    friend bool operator<(const Due& a, const Due& b) {  // the earliest on top
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.row > b.row;
    }
  };

  [[nodiscard]] bool may_start() const { return !max_concurrent_ || sessions_under_way_ < *max_concurrent_; }
  void start_sessions();
  void make_due(const Place& place, Time arrival);

  std::unique_ptr<SessionStream> stream_;
  std::optional<std::int64_t> max_concurrent_;
  std::optional<Session> ahead_;
  bool stream_ended_ = false;
  Time slot_free_;  // when a session last made room for another
  std::int64_t sessions_under_way_ = 0;
  std::int64_t sessions_ = 0;
  std::priority_queue<Due> due_;
  std::unordered_map<std::int64_t, Place> under_way_;  // requests sent and not answered, by row; looked up, never iterated
};

/// The sessions that `workload.sessions` describes.
std::unique_ptr<SessionStream> generate_sessions(const WorkloadConfig& workload, std::uint64_t seed);

}  // namespace ridgeline
