// SPDX-License-Identifier: Apache-2.0
//
// What a daemon says of a lock that a newer version has written, as after a downgrade: refused with
// a clear word, by every rpc and command, its record left as it is, and all other locks served.
#include <gmock/gmock.h>

#include <string>

#include "integration/cli/daemon_fixture.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using support::LockClient;
using testing::AllOf;
using testing::HasSubstr;

class NewerFormatTest : public CliDaemonTest {
 protected:
  static constexpr char kKey[] = "lk:{newer}";

  NewerFormatTest() {
    lease_id_ = Hold("newer");
    record_ = redis_.Run({"GET", kKey}).text;
    EXPECT_EQ(record_.substr(0, 2), "1 ");
    record_[0] = '4';
    redis_.Run({"SET", kKey, record_, "KEEPTTL"});
  }

  template <typename Response>
  static void ExpectRefused(const support::Answer<Response>& answer) {
    EXPECT_EQ(answer.reason, "FORMAT_TOO_NEW");
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DATA_LOSS);
    EXPECT_THAT(answer.status.error_message(),
                AllOf(HasSubstr("'newer'"), HasSubstr("has a newer format than this daemon")));
  }

  std::string lease_id_;
  std::string record_;
  LockClient client_{daemon_->GrpcAddress()};
};

TEST_F(NewerFormatTest, EveryRpcRefusesTheLockAndLeavesItsRecord) {
  ExpectRefused(client_.Acquire(support::AcquireOf("newer", support::NewLeaseId())));
  auto waiting = support::AcquireOf("newer", support::NewLeaseId());
  waiting.mutable_wait_timeout()->set_seconds(30);
  ExpectRefused(client_.Acquire(waiting));
  ExpectRefused(client_.Extend(support::ExtendOf("newer", lease_id_)));
  ExpectRefused(client_.Release(support::ReleaseOf("newer", lease_id_)));
  ExpectRefused(client_.Fence(support::FenceOf("newer", 1)));
  ExpectRefused(client_.GetLock("newer"));

  EXPECT_EQ(redis_.Run({"GET", kKey}).text, record_);
}

TEST_F(NewerFormatTest, CommandsSayWhatIsWrongAndEndWithOne) {
  for (const Words& words :
       {Words{"acquire", "newer", "--wait", "30s"}, Words{"extend", "newer", lease_id_},
        Words{"release", "newer", lease_id_}, Words{"fence", "newer", "1"}, Words{"get", "newer"},
        Words{"is-held", "newer"}, Words{"force-release", "newer", "--reason", "a test"}}) {
    SCOPED_TRACE(words.front());
    const CliResult result = RunJson(words);
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_EQ(Json(result).Text("reason"), "FORMAT_TOO_NEW");
    EXPECT_THAT(Json(result).Text("message"), HasSubstr("has a newer format than this daemon"));
  }
  EXPECT_EQ(redis_.Run({"GET", kKey}).text, record_);
}

TEST_F(NewerFormatTest, OtherLocksAreServedAndListed) {
  Hold("other");

  const Json listed(RunJson({"list"}));

  ASSERT_EQ(listed.ItemsOf("locks"), 1);
  EXPECT_EQ(listed.Item("locks", 0).Text("name"), "other");
  EXPECT_EQ(listed.Number("unreadable"), 1);
}

TEST_F(NewerFormatTest, DaemonThatKnowsTheFormatGoesOn) {
  record_[0] = '1';
  redis_.Run({"SET", kKey, record_, "KEEPTTL"});

  EXPECT_TRUE(client_.Extend(support::ExtendOf("newer", lease_id_)).ok());
}

}  // namespace
}  // namespace lockkeeper
