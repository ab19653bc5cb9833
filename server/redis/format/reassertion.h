// SPDX-License-Identifier: Apache-2.0
//
// The proof that a lease was granted, which its holder shows after the store may have forgotten it.
// A text that only daemons of this service can make: what has to be known to take the lease back,
// and a keyed digest of that together with what the holder says besides.
//
// Source: SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012), a MAC that is made for short
// texts: a third of the time of HMAC-SHA-256, which every grant would pay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"

namespace lockkeeper::redis {

// Point on the node's clock as if nobody had ever set it: what is left of a lease by it does not
// change when the clock is set. ProofBasis::clock_offset is the difference.
struct ServiceTime {
  int64_t micros = 0;
  auto operator<=>(const ServiceTime&) const = default;
};

// What a proof carries by itself.
struct ProvedTerms {
  core::Millis ttl{};
  core::Millis lock_delay{};
  ServiceTime max_hold_end;  // 0: none.
  ServiceTime lease_end;     // The proof is valid until then.
  ServiceTime hold_end;      // By hold_at_least. 0: none.

  bool operator==(const ProvedTerms&) const = default;
};

// What the holder says of its lease; as much as the daemon knew when it made the proof.
struct ProvedLease {
  std::string_view name;
  const core::LeaseId& lease_id;
  core::FencingToken token;
  std::string_view principal;
};

// Thread-safety: not thread-safe.
class Reassertions {
 public:
  Reassertions();
  ~Reassertions();
  Reassertions(const Reassertions&) = delete;
  Reassertions& operator=(const Reassertions&) = delete;

  // Proofs are made and checked with this key from now on: 32 hex digits. With anything else no
  // proof is made, and none is valid.
  void SetKey(std::string_view key);

  // Empty without a key.
  std::string Make(const ProvedLease& lease, const ProvedTerms& terms);

  // Nothing if `proof` was not made with this key for this very lease.
  std::optional<ProvedTerms> Check(const ProvedLease& lease, std::string_view proof);

 private:
  struct Mac;
  bool AppendDigest(const ProvedLease& lease, std::string_view terms, std::string& to);

  std::string key_;
  std::unique_ptr<Mac> mac_;
};

}  // namespace lockkeeper::redis
