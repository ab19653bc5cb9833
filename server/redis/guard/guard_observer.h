// SPDX-License-Identifier: Apache-2.0
//
// What the guard of a store tells the outside: the composition root makes log records, metrics and
// health of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/types.h"
#include "redis/guard/loss_judge.h"

namespace lockkeeper::redis {

// What a guard thinks of its store.
struct StoreTrust {
  int64_t epoch = 0;               // 0: the store has not been looked at yet.
  std::string store_id;            // Random, from its first use. Empty: as epoch 0.
  std::string run_id;              // Of this start of its server. Empty: the same.
  core::NodeTime quarantine_end;   // No new grants before; in the past if there is no quarantine.
  core::Micros quarantine_left{};  // 0 if there is none.
  std::optional<LossKind> loss;    // How this epoch began, if this daemon has noticed it.
  core::NodeTime noticed;          // When it noticed that, or that another one had. 0: neither.
  // Why nothing is granted although there is no quarantine: a setting, or rights that are missing.
  std::string problem;
  // Why an empty store is not judged yet: other daemons may know it. Passes by itself.
  std::string waiting;
  // Why this daemon does not begin yet: others have to hear of it. Passes by itself.
  std::string joining;

  bool operator==(const StoreTrust&) const = default;
};

// What became of a proof that a holder has shown for a lease that the store may have forgotten.
enum class ReassertionEnd {
  kTakenBack,
  kNotProved,  // The proof is not one of this very lease.
  kTooLate,    // The lease has ended, or a newer one was taken back.
};

// Thread-safety: called on the loop's thread; must not block nor call the guard.
class GuardObserver {
 public:
  virtual ~GuardObserver() = default;

  // The store had no marker and no records; it has a marker now.
  virtual void OnFirstUse(const StoreTrust& trust) = 0;

  // This daemon has noticed that the store may have forgotten leases.
  virtual void OnLoss(LossKind kind, const StoreTrust& trust) = 0;

  // Another daemon has noticed it.
  virtual void OnNewEpoch(const StoreTrust& trust) = 0;

  // The quarantine is over, or a problem has come or gone: `trust` says which.
  virtual void OnTrustChanged(const StoreTrust& trust) = 0;

  virtual void OnReassertion(ReassertionEnd /*end*/) {}

  // Somebody was told that nothing new is granted.
  virtual void OnGrantRefused() {}
};

}  // namespace lockkeeper::redis
