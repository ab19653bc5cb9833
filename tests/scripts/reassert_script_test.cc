// SPDX-License-Identifier: Apache-2.0
//
// What comes of a proof that arrives when its lease has been taken back already.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kHeldAgain = 1;
constexpr int64_t kLost = 3;

class ReassertScriptTest : public testing::TestWithParam<std::string> {
 protected:
  ReassertScriptTest() { EXPECT_TRUE(servers_.RunAll(LoadCommands())); }

  redis::Reply Call(const redis::ScriptSource& script, const Strings& arguments) {
    const Strings call = CallOf(script, 2, KeysOfLock("a", 2), arguments);
    return servers_.Run({call.begin(), call.end()});
  }

  // Without a marker no quarantine runs. Answers the outcome.
  int64_t Prove(int64_t token, const std::string& keeper = "") {
    constexpr char kNever[] = "0000000000000000";
    return Call(redis::kReassertScript,
                {redis::EncodeLeaseId(request_.lease_id), redis::Digits(token, 16), "00030000",
                 "00000000", kNever, kNever, kNever, "", keeper, ""})
        .items.at(1)
        .integer;
  }

  std::string Record() { return servers_.Run({"GET", "lk:{a}"}).text; }

  TwinServers servers_{GetParam()};
  core::AcquireRequest request_ = ScriptAcquire(ScriptId(1));
};

TEST_P(ReassertScriptTest, ProofOfALeaseThatRunsExtendsItAfterTheQuarantine) {
  const int64_t token =
      Call(redis::kAcquireScript, AcquireArguments(request_, 0)).items.at(2).integer;
  EXPECT_EQ(Prove(token + 1), kLost);
  EXPECT_EQ(Prove(token), kHeldAgain);
  servers_.AdvanceBy(std::chrono::seconds(29));
  EXPECT_EQ(Prove(token), kHeldAgain);
  servers_.AdvanceBy(std::chrono::seconds(29));
  EXPECT_EQ(Prove(token), kHeldAgain);
  servers_.AdvanceBy(std::chrono::seconds(31));
  EXPECT_EQ(Prove(token), kLost);
}

TEST_P(ReassertScriptTest, ProofThatComesAfterAnAdoptionLeavesTheLeaseToItsAdopter) {
  const int64_t token =
      Call(redis::kAcquireScript, AcquireArguments(request_, 0)).items.at(2).integer;
  const std::string adopter(core::Keeper::OfHolder(7).digits());
  ASSERT_EQ(Prove(token, adopter), kHeldAgain);
  ASSERT_NE(Record().find(adopter), std::string::npos);
  EXPECT_EQ(Prove(token), kHeldAgain);
  EXPECT_NE(Record().find(adopter), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Servers, ReassertScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
