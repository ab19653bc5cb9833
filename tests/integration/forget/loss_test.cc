// SPDX-License-Identifier: Apache-2.0
//
// Redis forgets under load, in each way that the daemons are to notice: nobody gets a lock that
// somebody may have, who has one keeps it, and locks are granted again when it is known to be safe.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <ostream>

#include "integration/forget/clients.h"
#include "integration/forget/service.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::forget {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::Data;
using support::Durability;

// The longest lease of the tests, and so what a quarantine is by
// docs/concepts/when_redis_forgets.md.
constexpr milliseconds kLongestTtl{5'000};
constexpr milliseconds kQuarantine = kLongestTtl + kLongestTtl / 100;
// Beyond it nobody has to wait for longer.
constexpr milliseconds kLateMax{1'000};

// The files of a Redis as they were.
class Snapshot {
 public:
  explicit Snapshot(const Service& service)
      : files_(std::filesystem::path(service.redis.socket_path()).parent_path() / kFiles) {
    std::filesystem::copy(files_, copy_.Path(kFiles), std::filesystem::copy_options::recursive);
  }

  // Requires: the server is down.
  void PutBack() const {
    std::filesystem::remove_all(files_);
    std::filesystem::copy(copy_.Path(kFiles), files_, std::filesystem::copy_options::recursive);
  }

 private:
  static constexpr char kFiles[] = "appendonlydir";
  const std::filesystem::path files_;
  support::TemporaryDirectory copy_;
};

struct Loss {
  std::string name;
  std::vector<std::string> in_log;  // One of them, as docs/reference/log_events.md names it.
  support::RedisServerOptions redis;
  std::function<void(Service&)> happen;
  bool releases_are_known = false;  // To the store, after it.
  // Before the last work of the clients: something that the loss goes back to.
  std::function<std::function<void(Service&)>(Service&)> prepare = nullptr;
};

void PrintTo(const Loss& loss, std::ostream* out) { *out << loss.name; }

std::vector<Loss> Losses() {
  const support::RedisServerOptions durable{.durability = Durability::kDiskAlways};
  return {
      {"Flushall", {"emptied"}, {}, [](Service& service) { service.redis.Run({"FLUSHALL"}); }},
      {"RestartEmpty",
       {"emptied"},
       {},
       [](Service& service) { service.redis.Restart(Data::kLose); }},
      // Redis keeps what it has not written yet to itself while the disk is slow: then the last
      // seconds are lost.
      {"RestartWithEverysec",
       {"restarted", "older_data"},
       {.settings = {"appendonly yes", "appendfsync everysec"}},
       [](Service& service) { service.redis.Restart(Data::kKeep); }},
      {"OldSnapshot",
       {"older_data"},
       durable,
       nullptr,
       true,
       [](Service& service) -> std::function<void(Service&)> {
         const auto old = std::make_shared<Snapshot>(service);
         // A snapshot is older than what each daemon has seen last.
         const int64_t beat = service.Beat();
         EXPECT_TRUE(Service::Eventually([&] { return service.Beat() >= beat + 4; }));
         return [old](Service& hit) {
           hit.redis.Kill();
           old->PutBack();
           hit.redis.Restart(Data::kKeep);
         };
       }},
      {"ClockForward",
       {"clock_step"},
       {},
       [](Service& service) { service.clock.StepBy(std::chrono::hours(1)); },
       true},
      {"ClockBack",
       {"clock_step"},
       {},
       [](Service& service) { service.clock.StepBy(-std::chrono::hours(1)); },
       true},
  };
}

class LossTest : public testing::TestWithParam<Loss> {
 protected:
  LossTest() {
    for (size_t i = 0; i < 2; ++i) {
      keepers_.push_back(std::make_unique<Keeper>(
          service_.daemons[i]->GrpcAddress(), "kept " + std::to_string(i), kLongestTtl, history_));
    }
    const std::vector<std::string> locks = {"a", "b", "c", "d", "e", "f", "kept 0", "kept 1"};
    for (size_t i = 0; i < 4; ++i) {
      passers_.push_back(std::make_unique<Passer>(service_.daemons[i % 2]->GrpcAddress(), locks,
                                                  random_.Bits(), history_));
    }
  }

  // Until there were some more grants, and leases whose holders are gone.
  void AwaitWork() {
    const int grants = Sum(&Passer::grants);
    const int forgotten = Sum(&Passer::forgotten);
    EXPECT_TRUE(Service::Eventually([&] {
      return Sum(&Passer::grants) >= grants + 20 && Sum(&Passer::forgotten) > forgotten;
    }));
  }

  int Sum(int (Passer::*what)() const) const {
    int sum = 0;
    for (const auto& passer : passers_) sum += (passer.get()->*what)();
    return sum;
  }

  // A lease whose holder does nothing until the test does.
  v1::Lease Take(const std::string& lock) {
    const auto answer =
        service_.clients[0]->Acquire(support::AcquireOf(lock, support::NewLeaseId(), kLongestTtl));
    EXPECT_TRUE(answer.response.has_lease()) << answer.status.error_message();
    return answer.response.lease();
  }

  // Asks until the store is not away any more, as it may be after a restart.
  template <typename Ask>
  auto AskedUntilThere(Ask ask) {
    auto answer = ask();
    Service::Eventually([&] {
      if (answer.reason != "STORE_UNAVAILABLE" && answer.reason != "OUTCOME_UNKNOWN") return true;
      answer = ask();
      return false;
    });
    return answer;
  }

  auto Extend(const v1::ExtendRequest& request) {
    return AskedUntilThere([&] { return service_.clients[1]->Extend(request); });
  }

  v1::Verdict Fence(const v1::Lease& lease) {
    return AskedUntilThere([&] {
             return service_.clients[1]->Fence(
                 support::FenceOf(lease.name(), lease.fencing_token()));
           })
        .response.verdict();
  }

  support::SeededRandom random_;
  History history_;
  Service service_{GetParam().redis};
  std::vector<std::unique_ptr<Keeper>> keepers_;
  std::vector<std::unique_ptr<Passer>> passers_;
};

TEST_P(LossTest, NobodyLosesALockAndNobodyGetsOneTwice) {
  const v1::Lease released = Take("released");
  ASSERT_TRUE(service_.clients[0]
                  ->Release(support::ReleaseOf("released", released.lease_id()))
                  .response.released());
  AwaitWork();
  const auto happen = GetParam().prepare ? GetParam().prepare(service_) : GetParam().happen;
  AwaitWork();
  const v1::Lease held = Take("held");

  const Time before = std::chrono::steady_clock::now();
  happen(service_);
  const Time after = std::chrono::steady_clock::now();
  const auto& kinds = GetParam().in_log;
  ASSERT_TRUE(Service::Eventually([&] {
    return std::any_of(kinds.begin(), kinds.end(),
                       [this](const std::string& kind) { return service_.HasNoticed(kind); });
  })) << service_.Logs();
  const Time noticed = std::chrono::steady_clock::now();

  EXPECT_EQ(Fence(held), v1::VERDICT_UNKNOWN_TOKEN);
  EXPECT_EQ(Extend(support::ExtendOf("held", held.lease_id())).reason, "STORE_QUARANTINED");
  const auto extended = Extend(ProvedExtendOf(held));
  EXPECT_EQ(extended.response.lease().fencing_token(), held.fencing_token()) << extended.reason;
  EXPECT_EQ(Fence(held), v1::VERDICT_ADMITTED);
  if (GetParam().releases_are_known) {
    EXPECT_EQ(Extend(ProvedExtendOf(released)).reason, "LEASE_LOST");
  }

  AwaitWork();
  for (const auto& passer : passers_) {
    for (const std::string& surprise : passer->End()) ADD_FAILURE() << surprise;
  }
  for (const auto& keeper : keepers_) keeper->End();
  history_.ExpectSound();
  const auto first = history_.FirstAskedAfter(after);
  ASSERT_TRUE(first.has_value());
  EXPECT_GE(first->answered, before + kQuarantine);
  EXPECT_LE(first->answered, noticed + kQuarantine + kLateMax);
  EXPECT_TRUE(service_.AnyLogHas("event=guard.grants_resumed"));
  if (HasFailure()) std::cerr << service_.Logs();
}

INSTANTIATE_TEST_SUITE_P(Losses, LossTest, testing::ValuesIn(Losses()),
                         [](const auto& loss) { return loss.param.name; });

}  // namespace
}  // namespace lockkeeper::forget
