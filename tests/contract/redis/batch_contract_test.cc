// SPDX-License-Identifier: Apache-2.0
//
// Operations that are asked for together go to the server together; on each lock they take effect
// in the order of asking all the same.
#include <algorithm>
#include <numeric>
#include <regex>

#include "contract/redis/redis_contract.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using core::AcquireAnswer;
using core::Lease;

class BatchContract : public RedisContract {
 protected:
  core::LockStore& locks() { return world_->ports(0).locks; }

  // Tokens are times of the store's clock: also those of former holders, behind `R`, `X` or `F`.
  // How long these had the lock is counted from their tokens.
  static std::string WithoutTokens(std::string record) {
    constexpr size_t kTokenBegin = 15;
    constexpr size_t kTokenLength = 16;
    if (!record.empty()) record.replace(kTokenBegin, kTokenLength, "token");
    return std::regex_replace(record, std::regex("\n([RXF])[0-9]{16}[0-9]+;"), "\n$1token;");
  }

  static bool IsLease(const Answer<AcquireAnswer>& answer) {
    return answer.value().ok() && std::holds_alternative<Lease>(*answer.value());
  }
};

TEST_P(BatchContract, ScriptsThatTheServerForgotChangeNoOrder) {
  Grant("a", Id(1));
  world_->Run({"SCRIPT", "FLUSH"});
  Answer<core::ReleaseAnswer> released;
  Answer<AcquireAnswer> second;
  Answer<Lease> extended;

  world_->OnLoop([&] {
    locks().Release(ReleaseOf("a", Id(1)), released.Into());
    locks().Acquire(AcquireOf("a", Id(2)), second.Into());
    locks().Extend(ExtendOf("a", Id(2)), extended.Into());
  });

  ASSERT_TRUE(Await(extended));
  EXPECT_TRUE(released.value()->released());
  EXPECT_TRUE(IsLease(second));
  EXPECT_TRUE(extended.value().ok());
}

// Method: two stores of the same kind get the same random operations, one of them all of a turn
// together and the other one by one. Their records have to be the same at the end.
TEST_P(BatchContract, OperationsTogetherDoWhatTheyDoOneByOne) {
  SeededRandom random;
  const std::unique_ptr<StoreWorld> one_by_one = GetParam().make();
  const std::vector<std::string> names = {"a", "b", "c"};

  for (int turn = 0; turn < 30; ++turn) {
    struct Step {
      uint64_t kind;
      std::string name;
      LeaseId id;
    };
    std::vector<Step> steps(random.Below(20));
    for (Step& step : steps) step = {random.Below(4), random.Pick(names), Id(random.Below(6))};
    const auto run = [&](StoreWorld& world, const Step& step, std::vector<std::string>& ended,
                         size_t place) {
      const auto note = [&ended, place](const auto& answer) {
        ended[place] = answer.ok() ? "ok" : std::string(answer.status().message());
      };
      core::LockStore& store = world.ports(0).locks;
      const auto with_deadline = [&world](auto request) {
        request.deadline = world.Now() + std::chrono::seconds(20);
        return request;
      };
      if (step.kind == 0) store.Acquire(with_deadline(AcquireOf(step.name, step.id)), note);
      if (step.kind == 1) store.Extend(with_deadline(ExtendOf(step.name, step.id)), note);
      if (step.kind == 2) store.Release(with_deadline(ReleaseOf(step.name, step.id)), note);
      if (step.kind == 3) {
        store.Withdraw(with_deadline(WithdrawOf(AcquireOf(step.name, step.id))), note);
      }
    };
    const auto all_ended = [](const std::vector<std::string>& ended) {
      return std::none_of(ended.begin(), ended.end(), [](auto& end) { return end.empty(); });
    };

    std::vector<std::string> together(steps.size());
    world_->OnLoop([&] {
      for (size_t i = 0; i < steps.size(); ++i) run(*world_, steps[i], together, i);
    });
    ASSERT_TRUE(world_->Await([&] { return all_ended(together); }));
    std::vector<std::string> alone(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      one_by_one->OnLoop([&] { run(*one_by_one, steps[i], alone, i); });
      ASSERT_TRUE(one_by_one->Await([&] { return !alone[i].empty(); }));
    }

    EXPECT_EQ(together, alone);
    const Micros pause(random.Between(0, 20'000'000));
    StepBy(pause);
    one_by_one->StepNodeClock(pause);
  }
  for (const std::string& name : names) {
    const std::string alone = one_by_one->RecordOf(name);
    EXPECT_EQ(WithoutTokens(RecordOf(name)), WithoutTokens(alone)) << name;
  }
}

LOCKKEEPER_REDIS_SUITE(BatchContract);

}  // namespace
}  // namespace lockkeeper::support
