// SPDX-License-Identifier: Apache-2.0
#include "scripts/script_calls.h"

#include "redis/format/lock_record.h"

namespace lockkeeper::support {

core::LeaseId ScriptId(uint64_t number) {
  return core::LeaseId::FromBits(0x9e3779b97f4a7c15 * (number + 1),
                                 0xbf58476d1ce4e5b9 * (number + 1));
}

core::AcquireRequest ScriptAcquire(const core::LeaseId& id) {
  core::AcquireRequest request;
  request.lease_id = id;
  request.attempt = 1;
  request.ttl = core::Millis(30'000);
  request.owner = "owner";
  request.keeper = core::Keeper(1, 1);
  return request;
}

std::vector<std::string> AcquireArguments(const core::AcquireRequest& request, int waiters_max) {
  std::string text = redis::EncodeText(request);
  std::string columns = redis::EncodeRequest(request, text.size());
  return {std::move(columns), std::move(text), redis::Digits(waiters_max, 6)};
}

std::vector<ScriptShape> ScriptShapes() {
  const std::string id(ScriptId(1).digits());
  const std::string id_and_digest = redis::EncodeLeaseId(ScriptId(1));
  const std::string keeper(core::Keeper(1, 1).digits());
  return {
      {&redis::kAcquireScript, AcquireArguments(ScriptAcquire(ScriptId(1)), 0), 1, 4, false},
      {&redis::kExtendScript, {id, "00030000", "", ""}, 1, 4, true},
      {&redis::kReleaseScript, {id_and_digest, ""}, 1, 4, true},
      {&redis::kWithdrawScript,
       {id_and_digest, "000001", keeper, "L", redis::Digits(0, 16)},
       1,
       4,
       true},
      {&redis::kFenceScript, {"1", "0"}, 1, 2, true},
      {&redis::kForceReleaseScript, {"1"}, 1, 4, true},
      {&redis::kInspectScript, {}, 1, 2, true},
      {&redis::kPollScript,
       {core::Hex16(1), "H", "0000000000000000", "0000000000000000"},
       2,
       4,
       true},
      {&redis::kReassertScript,
       {id_and_digest, "0000000000000001", "00030000", "00000000", "0000000000000000",
        "9999999999999999", "0000000000000000", "", "", ""},
       2,
       4,
       true},
  };
}

std::vector<std::string> KeysOfLock(const std::string& name, size_t keys_per_lock) {
  std::vector<std::string> keys = {"lk:{" + name + "}"};
  if (keys_per_lock == 2) keys.push_back(keys.front() + ":line");
  return keys;
}

std::vector<std::string> CallOf(const redis::ScriptSource& script, size_t keys_per_lock,
                                const std::vector<std::string>& keys,
                                const std::vector<std::string>& arguments,
                                const CommonArguments& common) {
  std::vector<std::string> call = {"EVALSHA", std::string(script.ForKeys(keys_per_lock).sha1),
                                   std::to_string(keys.size() + 1)};
  call.insert(call.end(), keys.begin(), keys.end());
  call.push_back(common.marker_key);
  call.insert(call.end(),
              {common.token_floor, common.retention, common.epoch, std::to_string(keys_per_lock),
               common.channel, common.stamp, common.grants_from, common.earliest, common.latest});
  call.insert(call.end(), arguments.begin(), arguments.end());
  return call;
}

std::vector<std::string> CallOf(const ScriptShape& shape, const std::string& name,
                                const CommonArguments& common) {
  return CallOf(*shape.script, shape.keys_per_lock, KeysOfLock(name, shape.keys_per_lock),
                shape.arguments, common);
}

std::vector<std::vector<std::string>> LoadCommands() {
  std::vector<std::vector<std::string>> commands;
  for (const redis::ScriptSource& script : redis::AllScripts()) {
    commands.push_back({"SCRIPT", "LOAD", std::string(script.text)});
  }
  return commands;
}

}  // namespace lockkeeper::support
