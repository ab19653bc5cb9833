// SPDX-License-Identifier: Apache-2.0
#include "campaign.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <optional>
#include <utility>

#include "lockkeeper/error.h"
#include "renewal/backoff.h"
#include "status_payloads.h"

namespace lockkeeper::client {
namespace {

// How long one acquire stands in line. Its errors are told when it ends, so it must end.
constexpr std::chrono::seconds kCampaignWait{30};

// Says that the end of the term has stopped the work.
bool WasStopped(const absl::Status& status) {
  return absl::IsCancelled(status) || ReasonOf(status) == ErrorReason::kLeaseLost;
}

// Waits for so long, or until a stop is requested.
void Pause(Duration time, std::stop_token stop) {
  std::condition_variable_any stopped;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, std::move(stop), time, [] { return false; });
}

void WaitForStop(std::stop_token stop) {
  std::condition_variable_any stopped;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  stopped.wait(lock, std::move(stop), [] { return false; });
}

}  // namespace

absl::Status Campaign::Check(const LeadOptions& options) {
  if (!options.on_elected) return InvalidOption("on_elected", "must be given");
  if (options.acquire.wait_timeout.count() != 0) {
    return InvalidOption("wait_timeout", "is no option of Lead");
  }
  if (!options.acquire.lease_id.empty()) {
    return InvalidOption("lease_id", "is no option of Lead");
  }
  if (options.acquire.cancel.stop_possible()) {
    return InvalidOption("cancel", "is no option of Lead; see Leadership::Close");
  }
  return ClientCore::Check(options.acquire);
}

Campaign::Campaign(std::shared_ptr<ClientCore> core, std::string name, LeadOptions options)
    : core_(std::move(core)),
      name_(std::move(name)),
      options_(std::move(options)),
      thread_([this] { Run(); }) {}

Campaign::~Campaign() {
  Close().IgnoreError();  // The client retries the release in the background.
  thread_.join();
}

int64_t Campaign::term() const {
  const std::scoped_lock lock(mutex_);
  if (term_ == nullptr || term_->lease.lost() || term_->lease.remaining().count() == 0) return 0;
  return term_->lease.fencing_token();
}

absl::Status Campaign::Resign() {
  std::shared_ptr<Term> term;
  {
    const std::scoped_lock lock(mutex_);
    term = std::exchange(term_, nullptr);
  }
  if (term == nullptr) return absl::OkStatus();
  term->over.request_stop();  // Not after the release, which may take its time.
  return term->lease.Release().status();
}

absl::Status Campaign::Close() {
  closing_.request_stop();
  const std::scoped_lock lock(acquiring_);  // What the campaign has won is released here.
  return Resign();
}

void Campaign::Run() {
  int failures = 0;
  while (!closing_.stop_requested()) {
    const auto won = Acquire();
    if (won.ok()) {
      failures = 0;
      if (*won != nullptr && Lead(**won)) {
        Pause((*won)->lease.grant().ttl, closing_.get_token());
      }
    } else if (!closing_.stop_requested()) {
      Report(won.status());
      const Duration least = RetryDelayOf(won.status()).value_or(std::chrono::milliseconds(0));
      Pause(std::max(least, BackoffDelay(++failures, kBackoffMax, jitter_.Next())),
            closing_.get_token());
    }
  }
}

absl::StatusOr<std::shared_ptr<Campaign::Term>> Campaign::Acquire() {
  const std::scoped_lock acquiring(acquiring_);
  AcquireOptions options = options_.acquire;
  options.wait_timeout = kCampaignWait;
  options.cancel = closing_.get_token();
  AcquireResult result = core_->Acquire(name_, options);
  if (result.contention()) return nullptr;
  if (!result) return result.status();
  auto term = std::make_shared<Term>(std::move(result).TakeLease());
  const std::scoped_lock lock(mutex_);
  term_ = term;
  return term;
}

bool Campaign::Lead(Term& term) {
  const std::stop_token over = term.over.get_token();
  term.lease.OnLost([this, &term] {
    if (options_.on_lost) options_.on_lost(term.lease.loss());
    term.over.request_stop();
  });
  bool failed = false;
  if (!over.stop_requested()) {
    const absl::Status ended = options_.on_elected(term.lease, over);
    failed = !ended.ok() && !over.stop_requested();
    if (failed || (!ended.ok() && !WasStopped(ended))) Report(ended);
  }
  if (failed) {
    if (const absl::Status given_up = Resign(); !given_up.ok()) Report(given_up);
  }
  WaitForStop(over);
  Resign().IgnoreError();  // Of a lost lease nothing is left.
  return failed;
}

void Campaign::Report(const absl::Status& error) const {
  if (options_.on_error) return options_.on_error(error);
  std::cerr << "lockkeeper: leadership of `" + name_ + "`: " + std::string(error.message()) + "\n";
}

}  // namespace lockkeeper::client
