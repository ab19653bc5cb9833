// SPDX-License-Identifier: Apache-2.0
//
// Candidates of the C++ client, with a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "integration/client/client_fixture.h"
#include "lockkeeper/client.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using testing::Eq;
using testing::Optional;

// What was told, in its order. Thread-safety: thread-safe.
template <typename T>
class Told {
 public:
  void Add(T what) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(what));
    added_.notify_all();
  }

  // The next one, which must come.
  T Next() {
    std::unique_lock lock(mutex_);
    if (!added_.wait_for(lock, 60s, [this] { return !all_.empty(); })) {
      ADD_FAILURE() << "in vain waited for it";
      return T();
    }
    T next = std::move(all_.front());
    all_.pop_front();
    return next;
  }

  bool empty() const {
    const std::scoped_lock lock(mutex_);
    return all_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::deque<T> all_;
};

class LeadershipTest : public ClientAndDaemons {
 protected:
  using Work = std::function<absl::Status(const Lease&, std::stop_token)>;

  struct Candidate {
    Told<std::string> terms;  // The lease ids.
    Told<Loss> losses;
    Told<absl::Status> errors;
    std::optional<Leadership> leadership;  // Last: its callbacks use the others.
  };

  std::unique_ptr<Candidate> Campaign(Client& client, std::chrono::milliseconds ttl,
                                      Work work = nullptr, const std::string& name = "report") {
    auto candidate = std::make_unique<Candidate>();
    auto leadership = client.Lead(
        name,
        {.acquire = {.ttl = ttl},
         .on_elected =
             [told = candidate.get(), work](const Lease& lease, std::stop_token over) {
               told->terms.Add(lease.grant().lease_id);
               return work ? work(lease, std::move(over)) : absl::OkStatus();
             },
         .on_lost = [told = candidate.get()](const Loss& loss) { told->losses.Add(loss); },
         .on_error = [told = candidate.get()](const absl::Status& why) { told->errors.Add(why); }});
    EXPECT_TRUE(leadership.ok()) << leadership.status();
    candidate->leadership.emplace(*std::move(leadership));
    return candidate;
  }

  std::unique_ptr<support::DaemonProcess> daemon_ = StartDaemon();
  Client client_ = ClientOf({daemon_->GrpcAddress()});
};

TEST_F(LeadershipTest, NextInLineTakesOverWhenTheLeaderResigns) {
  Told<int> stopped;
  const auto first = Campaign(client_, 30s, [&](const Lease&, std::stop_token over) {
    Told<int> requested;
    const std::stop_callback told(over, [&] { requested.Add(1); });
    requested.Next();
    stopped.Add(1);
    return absl::CancelledError("the term is over");
  });
  first->terms.Next();
  const int64_t term = first->leadership->term();
  EXPECT_TRUE(first->leadership->is_leader());
  const auto second = Campaign(client_, 30s);
  ASSERT_TRUE(WaitForWaiters(1));
  EXPECT_FALSE(second->leadership->is_leader());

  EXPECT_TRUE(first->leadership->Resign().ok());

  second->terms.Next();
  stopped.Next();
  EXPECT_GT(second->leadership->term(), term);
  EXPECT_FALSE(first->leadership->is_leader());
  ASSERT_TRUE(WaitForWaiters(1)) << "it campaigns again";
  EXPECT_TRUE(second->leadership->Close().ok());
  first->terms.Next();
  EXPECT_TRUE(first->leadership->Close().ok());
  for (const auto* candidate : {first.get(), second.get()}) {
    EXPECT_TRUE(candidate->losses.empty() && candidate->errors.empty());
  }
}

TEST_F(LeadershipTest, LossIsToldAndTermsDoNotOverlap) {
  Told<int> may_end;
  const auto candidate = Campaign(client_, 1s, [&](const Lease&, std::stop_token) {
    may_end.Next();
    return absl::OkStatus();
  });
  const std::string id = candidate->terms.Next();

  ASSERT_TRUE(client_.Release("report", id).ok());  // Behind its back.

  EXPECT_EQ(candidate->losses.Next().cause, LossCause::kEnded);
  EXPECT_EQ(candidate->leadership->term(), 0);
  AcquireResult other = client_.Acquire("report", {.wait_timeout = 1min});
  ASSERT_TRUE(other) << other.status();
  EXPECT_TRUE(candidate->terms.empty()) << "its work goes on";
  ASSERT_TRUE(other->Release().ok());
  may_end.Add(1);
  candidate->terms.Next();
  may_end.Add(1);
  EXPECT_TRUE(candidate->leadership->Close().ok());
  EXPECT_TRUE(candidate->losses.empty() && candidate->errors.empty());
}

TEST_F(LeadershipTest, WhoFailsAsLeaderResignsAndTriesAgainAfterOneTtl) {
  const absl::Status ours = absl::InternalError("ours");
  const auto failing = Campaign(client_, 2s, [&](const Lease&, std::stop_token) { return ours; });
  EXPECT_EQ(failing->errors.Next(), ours);
  const auto failed = std::chrono::steady_clock::now();

  const auto other = Campaign(client_, 30s);
  other->terms.Next();
  EXPECT_TRUE(other->leadership->Close().ok());

  EXPECT_EQ(failing->errors.Next(), ours);
  EXPECT_GE(std::chrono::steady_clock::now() - failed, 1900ms);
  EXPECT_TRUE(failing->losses.empty()) << "a resigned lease is not lost";
}

TEST_F(LeadershipTest, ErrorsOfTheCampaignAreToldAndItGoesOn) {
  const auto candidate = Campaign(client_, 1s, nullptr, std::string(513, 'x'));

  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(FieldOf(candidate->errors.Next()), Optional(Eq("name")));
  }
}

TEST_F(LeadershipTest, WorkMayResignAndCloseItself) {
  std::unique_ptr<Candidate> candidate;
  Told<int> made;
  candidate = Campaign(client_, 30s, [&](const Lease&, std::stop_token over) {
    made.Next();
    EXPECT_TRUE(candidate->leadership->Close().ok());
    EXPECT_TRUE(over.stop_requested());
    return absl::OkStatus();
  });
  made.Add(1);
  candidate->terms.Next();

  EXPECT_TRUE(client_.Acquire("report", {.wait_timeout = 1min}));
}

TEST_F(LeadershipTest, ClosedCampaignLeavesTheLine) {
  const AcquireResult held = client_.Acquire("report");
  ASSERT_TRUE(held);
  const auto candidate = Campaign(client_, 30s);
  ASSERT_TRUE(WaitForWaiters(1));

  EXPECT_TRUE(candidate->leadership->Close().ok());

  EXPECT_TRUE(WaitForWaiters(0));
  EXPECT_TRUE(candidate->terms.empty() && candidate->errors.empty());
}

TEST_F(LeadershipTest, OptionsThatACampaignCannotUseAreNamed) {
  const auto field_of = [&](LeadOptions options) {
    return FieldOf(client_.Lead("report", std::move(options)).status());
  };
  const auto on_elected = [](const Lease&, const std::stop_token&) { return absl::OkStatus(); };
  const std::stop_source source;

  EXPECT_THAT(field_of({}), Optional(Eq("on_elected")));
  EXPECT_THAT(field_of({.acquire = {.wait_timeout = 1s}, .on_elected = on_elected}),
              Optional(Eq("wait_timeout")));
  EXPECT_THAT(field_of({.acquire = {.lease_id = "x"}, .on_elected = on_elected}),
              Optional(Eq("lease_id")));
  EXPECT_THAT(field_of({.acquire = {.cancel = source.get_token()}, .on_elected = on_elected}),
              Optional(Eq("cancel")));
  EXPECT_THAT(field_of({.acquire = {.stop_margin = -1s}, .on_elected = on_elected}),
              Optional(Eq("stop_margin")));
}

}  // namespace
}  // namespace lockkeeper
