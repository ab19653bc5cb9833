// SPDX-License-Identifier: Apache-2.0
#include "histories/rolls.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr milliseconds kCallLimit{5'000};
constexpr milliseconds kLook{20};
// A slow machine: the daemon runs for a tenth of the time.
constexpr milliseconds kSlowFor{3'000};
constexpr milliseconds kStandsStill{90};
constexpr milliseconds kRuns{10};
// Not so short that a busy machine alone costs the lease.
constexpr milliseconds kHoldersTtl{6'000};
constexpr int kHoldAtLeastSeconds = 600;
constexpr const char* kNewestLock = "of the newest format";

// Outcomes, verdicts, and errors of leases that an actor has lost by its own doing; then the errors
// that a client retries: those of gRPC are UNAVAILABLE, CANCELLED, and a deadline that has passed.
constexpr const char* kExpected[] = {
    "HELD",        "CLOSED",          "WAIT_TIMED_OUT",  "CANCELLED",
    "UNSPECIFIED", "EXPIRED",         "NOT_HOLDER",      "WAITER_REMOVED",
    "ADMITTED",    "STALE",           "UNKNOWN_TOKEN",   "LEASE_LOST",
    "LEASE_ENDED", "SERVER_DRAINING", "OUTCOME_UNKNOWN", "STORE_UNAVAILABLE",
    "RATE_LIMIT",  "code 14",         "code 1",          "code 4"};

}  // namespace

std::map<std::string, int> ReasonsIn(const std::vector<std::string>& histories,
                                     std::vector<std::string>& unexpected) {
  constexpr std::string_view kName = "\"reason\":\"";
  std::map<std::string, int> reasons;
  for (const std::string& history : histories) {
    std::ifstream file(history);
    for (std::string line; std::getline(file, line);) {
      const size_t at = line.find(kName);
      if (at == std::string::npos) continue;
      const size_t begin = at + kName.size();
      ++reasons[line.substr(begin, line.find('"', begin) - begin)];
    }
  }
  for (const auto& [reason, count] : reasons) {
    if (std::ranges::find(kExpected, reason) == std::end(kExpected)) unexpected.push_back(reason);
  }
  return reasons;
}

Rolls::Rolls(Scene& scene, Journal& journal, bool is_known, uint64_t seed)
    : scene_(scene), journal_(journal), is_known_(is_known), random_(seed) {}

void Rolls::Begin() { StartDaemon(0, kFormer); }

RollReport Rolls::Run() {
  UsersOptions options{.newest_features = is_known_, .seed = random_.Bits()};
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    options.daemons.push_back(scene_.daemon_gate(i).address());
  }
  Holder holder(scene_, kHoldersTtl);
  users_ = std::make_unique<Users>(options);
  AwaitWork();
  for (size_t i = 1; i < scene_.daemons(); ++i) StartDaemon(i, kFormer);
  AwaitWork();
  ReplaceAllBy(kNewer);
  UseNewestFormat();
  SlowDown(random_.Below(scene_.daemons()));
  AwaitWork();
  CheckStore(0);
  ReplaceAllBy(kFormer);
  AskFormerForNewestFormat();
  const size_t last = random_.Below(scene_.daemons());
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    if (i == last) continue;
    DrainDaemon(i);
    AwaitWork();
  }
  CheckStore(last);
  report_.users = users_->Stop();
  holder.Stop();
  report_.holder_failures = holder.failures();
  if (!holder.problem().empty()) Note("the holder: " + holder.problem());
  if (holder.ended() != 0) Note("no daemon could extend the holder's lease before its end");
  for (const std::string& problem : report_.users.problems) Note("a user: " + problem);
  for (const auto& [failure, count] : report_.holder_failures) {
    if (!IsHidden(failure)) Note("the holder meets " + failure);
  }
  return report_;
}

void Rolls::StartDaemon(size_t i, size_t build) {
  journal_.Fault("start daemon" + std::to_string(i), false);
  scene_.StartDaemon(i, build);
  scene_.AwaitDaemon(i);
  ++report_.started;
}

void Rolls::DrainDaemon(size_t i) {
  journal_.Fault("drain daemon" + std::to_string(i), false);
  const auto begin = Clock::now();
  scene_.daemon(i).Signal(SIGTERM);
  const int code = scene_.daemon(i).ExitCode();
  report_.longest_drain = std::max(report_.longest_drain,
                                   std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
  if (code != 0) Note("a drained daemon ended with " + std::to_string(code));
  scene_.DrainDaemon(i);
  ++report_.drained;
}

void Rolls::ReplaceAllBy(size_t build) {
  std::vector<size_t> order(scene_.daemons());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
  for (const size_t i : order) {
    DrainDaemon(i);
    StartDaemon(i, build);
    AwaitWork();
  }
}

void Rolls::SlowDown(size_t i) {
  journal_.Fault("slow daemon" + std::to_string(i), false);
  for (const auto end = Clock::now() + kSlowFor; Clock::now() < end;) {
    scene_.daemon(i).Pause();
    std::this_thread::sleep_for(kStandsStill);
    scene_.daemon(i).Resume();
    std::this_thread::sleep_for(kRuns);
  }
}

void Rolls::AwaitWork() {
  const auto until = Clock::now() + kPatience;
  users_->AllWorked();
  while (!users_->AllWorked()) {
    if (Clock::now() > until) throw std::runtime_error("a user cannot go on");
    std::this_thread::sleep_for(kLook);
  }
}

std::string Rolls::NewestRecord() {
  return scene_.redis().Run({"GET", "lk:{" + std::string(kNewestLock) + "}"}).text;
}

void Rolls::UseNewestFormat() {
  support::LockClient client(scene_.daemon_gate(0).address(), kCallLimit);
  auto request = support::AcquireOf(kNewestLock, support::NewLeaseId(), scene_.longest_ttl());
  request.mutable_hold_at_least()->set_seconds(kHoldAtLeastSeconds);
  const auto answer = client.Acquire(request);
  if (!answer.response.has_lease()) {
    Note("hold_at_least is not granted: " + answer.status.error_message());
  }
}

// It has been granted for ten minutes: nobody may get it, and whoever cannot read that says so.
void Rolls::AskFormerForNewestFormat() {
  const std::string record = NewestRecord();
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    support::LockClient client(scene_.daemon_gate(i).address(), kCallLimit);
    const auto answer = client.Acquire(
        support::AcquireOf(kNewestLock, support::NewLeaseId(), scene_.longest_ttl()));
    if (answer.response.has_contention()) continue;
    if (answer.response.has_lease()) {
      Note("a closed lock is granted");
    } else if (is_known_ || answer.reason != "FORMAT_TOO_NEW") {
      Note("a closed lock is answered " + answer.reason + ": " + answer.status.error_message());
    }
    report_.refusal = answer.reason + ": " + answer.status.error_message();
  }
  if (NewestRecord() != record) Note("a record was changed by a daemon that must not");
}

void Rolls::CheckStore(size_t i) {
  support::LockClient client(scene_.daemon_gate(i).address(), kCallLimit);
  const auto info = client.GetServerInfo();
  if (!info.ok()) return Note("GetServerInfo: " + info.status.error_message());
  if (info.response.store().epoch() != 1) Note("a daemon believes that the store has forgotten");
}

}  // namespace lockkeeper::histories
