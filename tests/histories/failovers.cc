// SPDX-License-Identifier: Apache-2.0
#include "histories/failovers.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr milliseconds kBetweenTries{20};
constexpr milliseconds kBetweenExtends{200};
constexpr milliseconds kCallLimit{1'000};
// What a client takes off: 1 % and 50 ms.
constexpr int kMarginShare = 100;
constexpr milliseconds kMargin{50};
// Writes that only the other replica confirms.
constexpr milliseconds kLostWrites{1'000};

// Holds one lock by extends, at any daemon that answers, and proves the lease again after a loss.
// If no daemon can extend it before its end, it is over, and the holder begins anew.
class Holder {
 public:
  explicit Holder(Scene& scene) : ttl_(scene.longest_ttl()) {
    for (size_t i = 0; i < scene.daemons(); ++i) {
      daemons_.emplace_back(scene.daemon_gate(i).address(), kCallLimit);
    }
    thread_ = std::thread([this] { Hold(); });
  }
  ~Holder() { Stop(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Ends leases that began before, too.
  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // After Stop(): leases that came to their end because no daemon could extend them, and why one
  // was lost before its end. Empty: none was.
  int ended() const { return ended_; }
  const std::string& problem() const { return problem_; }

 private:
  static constexpr const char* kLock = "held through failovers";

  void Hold() {
    for (size_t i = 0; !stopping_ && problem_.empty(); i = (i + 1) % daemons_.size()) {
      const bool done = token_ == 0 ? Acquire(daemons_[i]) : Extend(daemons_[i]);
      std::this_thread::sleep_for(done ? kBetweenExtends : kBetweenTries);
    }
  }

  bool Acquire(support::LockClient& daemon) {
    const auto sent = Clock::now();
    const auto answer = daemon.Acquire(support::AcquireOf(kLock, id_, ttl_));
    if (!answer.response.has_lease()) return false;
    const int64_t token = answer.response.lease().fencing_token();
    if (token <= last_token_) problem_ = "a token fell";
    token_ = last_token_ = token;
    Take(answer.response.lease(), sent);
    return true;
  }

  bool Extend(support::LockClient& daemon) {
    auto request = support::ExtendOf(kLock, id_);
    request.set_fencing_token(token_);
    request.set_reassertion(proof_);
    const auto sent = Clock::now();
    const auto answer = daemon.Extend(request);
    if (answer.ok()) {
      if (answer.response.lease().fencing_token() != token_) problem_ = "it has another token";
      Take(answer.response.lease(), sent);
      return true;
    }
    if (answer.reason != "LEASE_LOST") return false;
    if (Clock::now() < end_) problem_ = answer.status.error_message();
    ++ended_;
    id_ = support::NewLeaseId();
    token_ = 0;
    return false;
  }

  void Take(const v1::Lease& lease, Clock::time_point sent) {
    proof_ = lease.reassertion();
    const auto left = milliseconds(
        google::protobuf::util::TimeUtil::DurationToMilliseconds(lease.remaining_ttl()));
    end_ = std::max(end_, sent + left - left / kMarginShare - kMargin);
  }

  const milliseconds ttl_;
  std::string id_ = support::NewLeaseId();
  std::deque<support::LockClient> daemons_;
  int64_t token_ = 0;  // 0: it has no lease.
  int64_t last_token_ = 0;
  std::string proof_;
  Clock::time_point end_;  // As a client counts it.
  int ended_ = 0;
  std::string problem_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace

Failovers::Failovers(Scene& scene, Journal& journal, uint64_t seed)
    : scene_(scene), sentinels_(scene.sentinels()), journal_(journal), random_(seed) {}

FailoverReport Failovers::Run(int count) {
  FailoverReport report;
  Holder holder(scene_);
  for (; report.failovers < count; ++report.failovers) {
    FailOver();
    report.until_granted.push_back(AwaitGrant());
    sentinels_.AwaitInStep();
  }
  holder.Stop();
  report.leases_ended = holder.ended();
  report.holder_problem = holder.problem();
  return report;
}

void Failovers::FailOver() {
  const size_t primary = sentinels_.PrimaryOf(0);
  switch (random_.Below(4)) {
    case 0:
      KillPrimary(primary);
      break;
    case 1:
      StopPrimary(primary);
      break;
    case 2:
      LoseWrites(primary);
      break;
    default:
      Order();
      break;
  }
}

void Failovers::KillPrimary(size_t primary) {
  journal_.Fault("kill the primary", true);
  sentinels_.server(primary).Kill();
  sentinels_.AwaitPrimaryOtherThan(primary);
  sentinels_.server(primary).Restart(support::Data::kKeep);
}

// It goes on as a primary for a moment once it runs again.
void Failovers::StopPrimary(size_t primary) {
  journal_.Fault("stop the primary", true);
  sentinels_.server(primary).Pause();
  sentinels_.AwaitPrimaryOtherThan(primary);
  sentinels_.server(primary).Resume();
}

// One replica stands still while the other one confirms writes. Then that one dies together with
// the primary, and the first becomes the primary.
void Failovers::LoseWrites(size_t primary) {
  const size_t late = (primary + 1) % sentinels_.servers();
  const size_t other = (primary + 2) % sentinels_.servers();
  journal_.Fault("lose what only one replica has", true);
  sentinels_.server(late).Pause();
  std::this_thread::sleep_for(kLostWrites);
  sentinels_.server(primary).Kill();
  sentinels_.server(other).Kill();
  sentinels_.server(late).Resume();
  sentinels_.AwaitPrimaryOtherThan(primary);
  // Otherwise the primary refuses writes for the 10 s until the Sentinels have told it its place.
  sentinels_.server(other).Restart(
      support::Data::kKeep,
      {"replicaof 127.0.0.1 " + std::to_string(sentinels_.server(late).port())});
  sentinels_.server(primary).Restart(support::Data::kKeep);
}

void Failovers::Order() {
  journal_.Fault("order a failover", true);
  sentinels_.FailOver();
}

milliseconds Failovers::AwaitGrant() {
  const auto since = Clock::now();
  support::LockClient client(scene_.daemon_gate(0).address(), kCallLimit);
  for (;;) {
    const std::string id = support::NewLeaseId();
    const auto answer = client.Acquire(support::AcquireOf("granted again " + id, id, kCallLimit));
    const auto elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - since);
    if (answer.response.has_lease()) return elapsed;
    if (elapsed > kPatience) {
      throw std::runtime_error("nothing is granted after a failover: " +
                               answer.status.error_message());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace lockkeeper::histories
