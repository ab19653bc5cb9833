// SPDX-License-Identifier: Apache-2.0
//
// The leases that the daemon keeps for this session, and the extends of theirs that one heartbeat
// carries. A heartbeat names no leases: the daemon extends those that are due, so that thousands
// cost one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lockkeeper/v1/lock_service.pb.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// From so many leases on they are kept by heartbeats.
inline constexpr size_t kHeartbeatLeasesMin = 4;

// Longest time for which an extend waits for others. Each also waits for a sixtieth of its ttl at
// most, which a stop_margin leaves between the renewal and the loss.
inline constexpr Duration kHeartbeatGatherMax = std::chrono::milliseconds(500);

// Thread-safety: thread-compatible.
class Heartbeats {
 public:
  // An extend that waits for a heartbeat's answer, and what the answer says of it.
  struct Carried {
    uint64_t operation;
    std::string lease_id;
    // The lease, extended by its whole ttl. Nothing: the heartbeat did not extend it, or not
    // wholly, and the extend has to be sent itself.
    std::optional<v1::Lease> lease = std::nullopt;
  };

  // The daemon offered this lease to an acquire of the session.
  void Offered(const std::string& lease_id) { offered_.insert(lease_id); }
  // The daemon has answered with this lease, granted, claimed or adopted. An extend of a lease of
  // another session does not make it one of this session.
  void Granted(const v1::Lease& lease);
  void Extended(const v1::Lease& lease);
  // The client releases it, or it has ended.
  void Drop(const std::string& lease_id);

  // Whether the session keeps the lease, or will by the extend that claims it.
  bool Knows(const std::string& lease_id) const {
    return kept_.contains(lease_id) || offered_.contains(lease_id);
  }
  // Whether a heartbeat may carry this extend.
  bool Carries(const v1::ExtendRequest& request) const;

  // Requires: Carries.
  void Add(uint64_t operation, const std::string& lease_id, Instant now);
  // When the next heartbeat is due. Nothing: none is.
  std::optional<Instant> due() const { return due_; }
  // The extends of the heartbeat that is sent now, and its number.
  const std::vector<Carried>& Send(v1::SessionHeartbeat& heartbeat);
  // What the answer says of the extends that it answers. Empty while more of it follows.
  std::vector<Carried> Answered(const v1::SessionHeartbeatResult& result);
  // Those that wait to be sent.
  std::vector<Carried> TakeWaiting();

  // A heartbeat was not answered in time: extends are sent themselves until one is.
  void Unanswered() { is_late_ = true; }

 private:
  std::unordered_map<std::string, v1::Lease> kept_;
  std::unordered_set<std::string> offered_;
  std::vector<Carried> waiting_;
  std::optional<Instant> due_;
  uint64_t last_number_ = 0;
  std::unordered_map<uint64_t, std::vector<Carried>> sent_;  // By the number of the heartbeat.
  // Of the answer that is being read, by lease id.
  std::unordered_map<std::string, std::string> proofs_;
  std::unordered_set<std::string> not_extended_;
  bool is_late_ = false;
};

}  // namespace lockkeeper::client
