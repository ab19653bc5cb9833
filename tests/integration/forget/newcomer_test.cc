// SPDX-License-Identifier: Apache-2.0
//
// A daemon that comes while the store is empty. It asks those that are there; if they do not answer
// in time it takes the store for a new one, and in the end all mean the same store.
#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include "integration/forget/clients.h"
#include "integration/forget/service.h"

namespace lockkeeper::forget {
namespace {

TEST(NewcomerTest, AllDaemonsAgreeOnOneStoreInTheEnd) {
  Service service;
  ASSERT_TRUE(
      service.clients[0]
          ->Acquire(support::AcquireOf("held", support::NewLeaseId(), std::chrono::seconds(1)))
          .ok());
  for (const auto& daemon : service.daemons) daemon->Pause();
  service.redis.Run({"FLUSHALL"});
  service.AddDaemon();
  for (size_t i = 0; i < 2; ++i) service.daemons[i]->Resume();

  service.daemons[2]->WaitForLog("event=guard.first_use");
  ASSERT_TRUE(Service::Eventually([&] { return service.AnyLogHas("loss=another_store"); }));
  const std::string free = support::NewLeaseId();
  for (const auto& client : service.clients) {
    EXPECT_TRUE(Service::Eventually([&] {
      return client->Acquire(support::AcquireOf("free", free, std::chrono::seconds(1))).ok();
    }));
  }

  const int64_t epoch = service.Epoch();
  const int64_t beat = service.Beat();
  EXPECT_TRUE(Service::Eventually([&] { return service.Beat() >= beat + 9; }));
  EXPECT_EQ(service.Epoch(), epoch) << "they still disagree";
}

struct Loss {
  std::string name;
  std::function<void(Service&)> happen;
};

void PrintTo(const Loss& loss, std::ostream* out) { *out << loss.name; }

class NewcomerAfterLossTest : public testing::TestWithParam<Loss> {};

// The daemons that knew the store stand still, so that it is certain who comes first.
TEST_P(NewcomerAfterLossTest, DoesNotGrantWhatALivingDaemonHasGranted) {
  Service service({}, std::chrono::hours(1));
  const auto request = [] {
    return support::AcquireOf("held", support::NewLeaseId(), std::chrono::seconds(60));
  };
  const auto held = service.clients[0]->Acquire(request());
  ASSERT_TRUE(held.response.has_lease()) << held.status.error_message();
  for (const auto& daemon : service.daemons) daemon->Pause();
  GetParam().happen(service);

  service.AddDaemonThatWaits("1m");
  support::DaemonProcess& newcomer = *service.daemons.back();
  support::LockClient& client = *service.clients.back();
  const auto early = client.Acquire(request());
  ASSERT_EQ(early.reason, "STORE_UNAVAILABLE");
  EXPECT_THAT(early.status.error_message(),
              testing::HasSubstr("in 1m it counts as new, unless another daemon"));
  newcomer.WaitForLog("event=guard.first_use_waits");
  for (size_t i = 0; i < 2; ++i) service.daemons[i]->Resume();

  newcomer.WaitForLog("event=guard.new_epoch");
  EXPECT_EQ(client.Acquire(request()).reason, "STORE_QUARANTINED");
  const auto extended = client.Extend(ProvedExtendOf(held.response.lease()));
  EXPECT_EQ(extended.response.lease().fencing_token(), held.response.lease().fencing_token())
      << extended.reason;
  EXPECT_TRUE(service.AnyLogHas("loss=emptied"));
  EXPECT_FALSE(service.AnyLogHas("loss=another_store")) << service.Logs();
}

INSTANTIATE_TEST_SUITE_P(
    Losses, NewcomerAfterLossTest,
    testing::Values(Loss{"Flushall", [](Service& service) { service.redis.Run({"FLUSHALL"}); }},
                    Loss{"RestartEmpty",
                         [](Service& service) { service.redis.Restart(support::Data::kLose); }}),
    [](const auto& loss) { return loss.param.name; });

}  // namespace
}  // namespace lockkeeper::forget
