// SPDX-License-Identifier: Apache-2.0
//
// Watches of all locks beside a load: some that read, and some that do not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "bench/load/load.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"

namespace lockkeeper::bench {

// Thread-safety: thread-compatible; it reads on threads of its own.
class Watchers {
 public:
  // Waits until the watches of `options` have begun. Errors: throws std::runtime_error.
  explicit Watchers(const LoadOptions& options);
  // Ends them.
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // Prints watched_events_per_s, of each watch that reads, and watched_gaps, that all of them were
  // told of; and of those that did not read deaf_gaps, once they have read what was kept for them.
  // Nothing if there are no watches. Call it once, when the load is over.
  void Print();

 private:
  class One;

  std::list<std::unique_ptr<One>> reading_;
  std::list<std::unique_ptr<One>> deaf_;
  const SteadyClock::time_point begin_;
};

}  // namespace lockkeeper::bench
