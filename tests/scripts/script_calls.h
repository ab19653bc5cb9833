// SPDX-License-Identifier: Apache-2.0
//
// Calls of the scripts as operation_queue makes them, and as it never would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/requests.h"
#include "redis/scripts.h"

namespace lockkeeper::support {

// What one script takes and answers, by its contract.
struct ScriptShape {
  const redis::ScriptSource* script;
  std::vector<std::string> arguments;  // Good ones, for one lock.
  size_t keys_per_lock;                // That it needs at least.
  size_t reply_width;                  // Replies for each lock.
  bool runs_without_memory;
};

// All scripts of the repository, for a lease of Id(1).
std::vector<ScriptShape> ScriptShapes();

// A lease id, different in all digits for different numbers.
core::LeaseId ScriptId(uint64_t number);

// The request and text of an acquire.
core::AcquireRequest ScriptAcquire(const core::LeaseId& id);
std::vector<std::string> AcquireArguments(const core::AcquireRequest& request, int waiters_max);

// The arguments that come before those of the locks.
struct CommonArguments {
  std::string token_floor = "0";
  std::string retention = "60000";
  std::string epoch = "0000000001";
  std::string channel = "lk:daemon:";
  // The guard's; without a stamp there must be no marker.
  std::string stamp;
  std::string grants_from = "0000000000000000";
  std::string earliest = "0000000000000000";
  std::string latest = "9999999999999999";
  std::string marker_key = "lk:store";
};

// Keys of a lock: record, and line if there are two.
std::vector<std::string> KeysOfLock(const std::string& name, size_t keys_per_lock);

// EVALSHA of `script` for locks with these keys and arguments, one after the other.
std::vector<std::string> CallOf(const redis::ScriptSource& script, size_t keys_per_lock,
                                const std::vector<std::string>& keys,
                                const std::vector<std::string>& arguments,
                                const CommonArguments& common = {});

// The same for the lock `name` alone.
std::vector<std::string> CallOf(const ScriptShape& shape, const std::string& name,
                                const CommonArguments& common = {});

// SCRIPT LOAD of every text of every script.
std::vector<std::vector<std::string>> LoadCommands();

}  // namespace lockkeeper::support
