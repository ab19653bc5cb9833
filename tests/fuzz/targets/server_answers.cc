// SPDX-License-Identifier: Apache-2.0
//
// What servers and Sentinels tell of themselves and of others: INFO, ROLE and CONFIG, CLUSTER
// NODES, MOVED and ASK, and the three answers of a Sentinel. A text is read as each of them, and as
// the bytes of a reply.
#include "fuzz/target.h"
#include "redis/client/reply_reader.h"
#include "redis/client/server_facts.h"
#include "redis/cluster/cluster_view.h"
#include "redis/cluster/slot.h"
#include "redis/sentinel/primary_election.h"

namespace lockkeeper::redis {
namespace {

using fuzz::Require;
using fuzz::RequireOneLine;

void ReadAsCluster(std::string_view text) {
  static const RedisUrl kAsked = *ParseRedisUrl("rediss://asked:6379");
  if (const auto redirection = ReadRedirection(text)) {
    Require(redirection->slot < kSlots, "a redirection is for a slot");
  }
  const auto view = ReadClusterNodes(text, kAsked);
  if (!view) return;
  for (const ClusterPrimary& primary : view->primaries) {
    Require(!primary.host.empty() && primary.port != 0, "a primary can be reached");
    for (const auto& [first, last] : primary.slots) {
      Require(first <= last && last < kSlots, "a range is one of slots");
      const ClusterPrimary* const owner = OwnerOf(last, {&*view});
      Require(owner != nullptr && owner->Claims(last) && owner->epoch >= primary.epoch,
              "of those that claim a slot the highest epoch has it");
    }
  }
}

void ReadAsFacts(const ServerFacts& facts) {
  RequireOneLine(facts.Version());
  facts.IsRewriting();
  facts.Clock();
  facts.Life();
  IsolationInCluster(facts);
  for (const Expected expected : {Expected::kServer, Expected::kPrimary, Expected::kSentinel,
                                  Expected::kClusterPrimary, Expected::kClusterServer}) {
    if (const auto problem = Judge(facts, expected)) RequireOneLine(problem->text);
    RequireOneLine(SettingProblem(facts, {}, expected));
  }
  RequireOneLine(AssuranceProblem(facts, core::Assurance::kReplicas));
  Require(facts.ConnectedReplicas() >= 0, "replicas can be counted");
  const auto alone = facts.WritesAloneFor();
  Require(!alone || alone->count() >= 0, "a time is not negative");
}

void ReadAsSentinel(const Reply& reply) {
  if (const auto state = ReadServiceState(reply)) {
    Require(state->sentinels >= 1, "who answers is a Sentinel");
  }
  if (const auto address = ReadPrimaryAddress(reply)) {
    Require(!address->host.empty() && address->port != 0, "the primary can be reached");
  }
  ReadOtherSentinels(reply);
}

void ReadAsAll(std::string_view text) {
  ReadAsCluster(text);
  ServerFacts facts;
  AddInfo(text, facts.info);
  ReadAsFacts(facts);
  ReplyReader reader;
  reader.Feed(text);
  Reply reply;
  if (reader.Next(reply) != ReplyReader::Result::kReply) return;
  ReadAsSentinel(reply);
  facts.role = reply;
  facts.config = reply;
  ReadAsFacts(facts);
}

}  // namespace
}  // namespace lockkeeper::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockkeeper::redis::ReadAsAll(lockkeeper::fuzz::TextOf(data, size));
  return 0;
}
