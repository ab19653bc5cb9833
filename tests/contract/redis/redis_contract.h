// SPDX-License-Identifier: Apache-2.0
//
// The fixture of what only the store on Redis does: looks at keys and records, around the daemons.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "contract/redis/redis_world.h"
#include "contract/store_contract.h"

namespace lockkeeper::support {

class RedisContract : public StoreContract {
 protected:
  static std::string KeyOf(const std::string& name) { return RedisWorld::KeyOf(name); }
  void PutRecord(const std::string& name, std::string_view record) {
    world_->Run({"SET", KeyOf(name), record});
  }
  int64_t KeyCount() { return world_->Run({"DBSIZE"}).integer; }

  RedisWorld* const world_ = static_cast<RedisWorld*>(StoreContract::world_.get());
};

// Runs all tests of a fixture on each kind of Redis that this machine can have.
#define LOCKKEEPER_REDIS_SUITE(fixture) \
  INSTANTIATE_TEST_SUITE_P(Stores, fixture, testing::ValuesIn(RedisWorldKinds()), NameOf)

}  // namespace lockkeeper::support
