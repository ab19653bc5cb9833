// SPDX-License-Identifier: Apache-2.0
//
// The loop of a candidate: acquire, lead, and again. It has no way of its own to the daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client_core.h"
#include "lockkeeper/leadership.h"

namespace lockkeeper::client {

// Contract: see Leadership.
class Campaign {
 public:
  // Begins to campaign for the lock `name`. Requires: options as Check accepts them.
  Campaign(std::shared_ptr<ClientCore> core, std::string name, LeadOptions options);
  ~Campaign();
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  // INVALID_ARGUMENT naming the option that a campaign cannot use.
  static absl::Status Check(const LeadOptions& options);

  int64_t term() const;
  absl::Status Resign();
  absl::Status Close();

 private:
  struct Term {
    Lease lease;
    std::stop_source over{};
  };

  void Run();
  // The term that was won, or why there is none. OK without a term: the lock is not free.
  absl::StatusOr<std::shared_ptr<Term>> Acquire();
  // Returns when the term is over and on_elected has returned: whether that failed.
  bool Lead(Term& term);
  void Report(const absl::Status& error) const;

  const std::shared_ptr<ClientCore> core_;
  const std::string name_;
  const LeadOptions options_;
  RandomJitter jitter_;
  std::stop_source closing_;
  std::mutex acquiring_;  // Held by the campaign while it acquires.
  mutable std::mutex mutex_;
  std::shared_ptr<Term> term_;  // Guarded by mutex_. Null: it does not lead.
  std::thread thread_;          // Last: it uses the others.
};

}  // namespace lockkeeper::client
