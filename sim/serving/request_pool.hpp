// Live requests at stable addresses, recycled: memory follows the requests in flight, not the length of the workload.
#pragma once

#include <deque>
#include <vector>

#include "sim/serving/request.hpp"

namespace ridgeline {

class RequestPool {
 public:
  Request& take(RequestSpec spec) {
    if (free_.empty()) {
      requests_.emplace_back();
      free_.push_back(&requests_.back());
    }
    Request& request = *free_.back();
    free_.pop_back();
    request = Request{};
    request.spec = std::move(spec);
    return request;
  }
  void give_back(Request& request) {
    request.spec.content.reset();
    request.spec.accepted.reset();
    free_.push_back(&request);
  }
  [[nodiscard]] std::size_t live() const { return requests_.size() - free_.size(); }

 private:
  std::deque<Request> requests_;
  std::vector<Request*> free_;
};

}  // namespace ridgeline
