#include "workloads/session_source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ridgeline {

SessionSource::SessionSource(std::unique_ptr<SessionStream> stream, std::optional<std::int64_t> max_concurrent)
    : stream_(std::move(stream)), max_concurrent_(max_concurrent) {}

void SessionSource::make_due(const Place& place, Time arrival) {
  SessionStep& step = place.live->session.steps[place.step];
  step.request.arrival = arrival + step.delay;
  due_.push({step.request.arrival, step.request.row, place});
}

// Starts every session that begins before the next request that is due.
void SessionSource::start_sessions() {
  while (may_start()) {
    if (!ahead_ && !stream_ended_) {
      ahead_ = stream_->next();
      stream_ended_ = !ahead_;
    }
    if (!ahead_) return;
    const Time start = std::max(ahead_->start, slot_free_);
    if (!due_.empty() && due_.top().arrival < start) return;
    auto live = std::make_shared<Live>();
    live->session = std::move(*ahead_);
    ahead_.reset();
    live->unanswered = live->session.steps.size();
    ++sessions_under_way_;
    ++sessions_;
    for (std::uint32_t i = 0; i < live->session.steps.size(); ++i) {
      live->waits_for.push_back(static_cast<std::uint32_t>(live->session.steps[i].after.size()));
      if (live->waits_for.back() == 0) make_due({live, i}, start);
    }
  }
}

Time SessionSource::next_arrival() {
  start_sessions();
  return due_.empty() ? Time::max() : due_.top().arrival;
}

std::optional<RequestSpec> SessionSource::produce() {
  start_sessions();
  if (due_.empty()) return std::nullopt;
  const Place place = due_.top().place;
  due_.pop();
  RequestSpec request = std::move(place.live->session.steps[place.step].request);
  under_way_.emplace(request.row, place);
  return request;
}

void SessionSource::answered(const Request& request, Time now) {
  const auto found = under_way_.find(request.spec.row);
  if (found == under_way_.end()) throw InternalError("an answer to a request that was not sent");
  const Place place = std::move(found->second);
  under_way_.erase(found);
  Live& live = *place.live;
  for (std::uint32_t i = place.step + 1; i < live.session.steps.size(); ++i) {
    const std::vector<std::uint32_t>& after = live.session.steps[i].after;
    if (std::find(after.begin(), after.end(), place.step) == after.end()) continue;
    if (--live.waits_for[i] == 0) make_due({place.live, i}, now);
  }
  if (--live.unanswered > 0) return;
  --sessions_under_way_;
  if (max_concurrent_) slot_free_ = now;
}

void SessionSource::annotate(WorkloadNotes& notes) const {
  stream_->annotate(notes);
  notes.sessions = sessions_;
}

}  // namespace ridgeline
