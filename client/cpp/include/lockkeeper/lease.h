// SPDX-License-Identifier: Apache-2.0
//
// A lease: the time-bounded right to a lock. While a `Lease` object lives, the client renews it;
// when the object goes, the lock is released. A lease can also be lost, and its holder is told
// before anybody else can have the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "lockkeeper/options.h"

namespace lockkeeper {

namespace client {
class HeldLease;
}  // namespace client

// What the server said when it granted, or last extended on a call of the holder.
struct Grant {
  std::string name;
  std::string lease_id;       // Credential: whoever knows it can extend and release. Do not log it.
  int64_t fencing_token = 0;  // Higher than that of every earlier grant of the lock.
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds remaining_ttl{0};  // When the server answered; see Lease::remaining.
  std::chrono::milliseconds waited{0};
  // The lease before this one ended without a release: what the lock guards may be half done.
  bool previous_lease_expired = false;
  Assurance assurance = Assurance::kUnspecified;
  // Proof of this lease until the end that it has here, with which it is taken back into a store
  // that has lost its state. The client sends the newest by itself, see Lease::reassertion. Empty:
  // the server gives none.
  std::string reassertion;
};

// What a release found.
enum class ReleaseOutcome {
  kReleased,       // The lock was held by this lease until now.
  kExpired,        // The lease had ended before: its holder may have worked unprotected.
  kNotHolder,      // The lease id does not hold the lock, or is not known any more.
  kWaiterRemoved,  // The lease id stood in line and has left it.
};

// Why a lease is lost.
enum class LossCause {
  kNotLost,
  kEnded,       // The service says that it has ended.
  kNotRenewed,  // Its end came near, and the renewals had failed.
  kMaxHold,     // It reached its max_hold.
  kPaused,      // Its end came near, and no renewal had been sent: this process stood still.
};

struct Loss {
  LossCause cause = LossCause::kNotLost;
  absl::Status error;  // Of the last renewal, for kEnded and kNotRenewed; else OK.
};

// Scope guard of one lease.
//
// The lease's end is counted from the moment at which the request that was granted was *sent*, on
// CLOCK_BOOTTIME (which goes on while the machine is suspended), less a margin of 1 % + 50 ms. The
// client renews every ttl/3 on a thread of its own. If no renewal is answered the old end stands.
// A store that has lost its state is given the lease back by the next renewal.
// `lost` is raised at that end (less stop_margin), or at once when the server says that the lease
// has ended, and never taken back.
//
// What it cannot do: a process that is paused may wake up after the end and act before it looks at
// `lost`. Only a resource that checks the fencing token stops that.
//
// Thread-safety: reassertion, remaining, lost, loss, OnLost, OnExtended, stop_token and Release are
// thread-safe; moving and destroying are not. Lifetime: may outlive its Client.
class [[nodiscard]] Lease {
 public:
  explicit Lease(std::unique_ptr<client::HeldLease> held);  // For the client.
  Lease(Lease&& other) noexcept;
  // Releases the lease that this object had before, as the destructor does.
  Lease& operator=(Lease&& other) noexcept;
  // Releases, as Release; its outcome is dropped.
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // What was granted.
  const Grant& grant() const;

  // Pass it to every resource that the lock guards.
  int64_t fencing_token() const { return grant().fencing_token; }

  // The newest proof of this lease: each renewal brings one. Keep it, with the token, to adopt the
  // lease later. Empty: the server gives none.
  std::string reassertion() const;

  // Time until the lease's end, as counted above. Zero once released, or lost by the server's word.
  std::chrono::nanoseconds remaining() const;

  // Whether the lease is lost. Once true, always true. A released lease is not lost.
  bool lost() const;

  // Why it is lost. Stays when the lease is released.
  Loss loss() const;

  // Runs `callback` once when the lease is lost, at once if it is already.
  // Completion: on the client's callback thread, which all leases of the client share: return soon.
  // A release ends it: afterwards no callback of this lease begins, and none is running, unless the
  // release was called from one.
  void OnLost(absl::AnyInvocable<void() &&> callback);

  // Runs `callback` after each renewal, on the same thread and with the same end, until the lease
  // is lost. Replaces the one that was set before.
  void OnExtended(absl::AnyInvocable<void()> callback);

  // Token whose stop is requested, on the same thread, when the lease is lost.
  std::stop_token stop_token() const;

  // Releases the lock. Blocks for at most ClientOptions::release_timeout, and, unless it is called
  // from a callback, until no callback of this lease is running. May be called again: the first
  // outcome is repeated.
  // Errors: DEADLINE_EXCEEDED if there was no answer in time (the client goes on trying in the
  // background), or the server's error. In any case the lease is no longer renewed.
  absl::StatusOr<ReleaseOutcome> Release();

  // Stops renewing without releasing, for handing the lease to somebody else (see Client::Adopt).
  // The lease then lives for what remains of its ttl. Returns the lease id. Whoever adopts it
  // should have its fencing_token() and reassertion().
  // Requires: not released.
  std::string Detach() &&;

 private:
  std::unique_ptr<client::HeldLease> held_;
};

}  // namespace lockkeeper
