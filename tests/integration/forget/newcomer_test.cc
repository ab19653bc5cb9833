// SPDX-License-Identifier: Apache-2.0
//
// A daemon that comes while the store is empty takes it for a new one. The others know better, and
// in the end all mean the same store.
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

}  // namespace
}  // namespace lockkeeper::forget
