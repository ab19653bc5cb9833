// SPDX-License-Identifier: Apache-2.0
//
// A lease: the time-bounded right to a lock. While a `Lease` object lives, the client renews the
// lease; the destructor releases it. A lease can also be lost; its holder hears that before anybody
// else can have the lock.
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

// The server's answer to the acquire, or to the latest extend that the holder itself called.
struct Grant {
  std::string name;
  std::string lease_id;       // Credential: whoever knows it can extend and release. Do not log it.
  int64_t fencing_token = 0;  // Higher than that of every earlier grant of the lock.
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds remaining_ttl{0};  // When the server answered; see Lease::remaining.
  std::chrono::milliseconds waited{0};
  // The previous lease ended without a release: what the lock guards may be half done.
  bool previous_lease_expired = false;
  Assurance assurance = Assurance::kUnspecified;
  // Proves this lease to a store that has lost its state, so that the holder keeps it. Valid until
  // the lease's end as this answer tells it. The client sends the newest one by itself, see
  // Lease::reassertion. Empty if the server gives none.
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
  kEnded,       // The service said that the lease has ended.
  kNotRenewed,  // The end came near, and the renewals had failed.
  kMaxHold,     // The lease reached its max_hold.
  kPaused,      // The end came near, and no renewal had been sent: this process was paused.
};

struct Loss {
  LossCause cause = LossCause::kNotLost;
  absl::Status error;  // Of the last renewal, for kEnded and kNotRenewed; else OK.
};

// Scope guard of one lease.
//
// The end of the lease is counted from the moment at which the granted request was *sent*, on
// CLOCK_BOOTTIME (which goes on while the machine is suspended), less a margin of 1 % + 50 ms. The
// client renews every ttl/3 on its own thread. A renewal without an answer leaves the end as it
// was. If the store has lost its state, the next renewal takes the lease back. `lost` becomes true
// at the end (less stop_margin), or at once when the server says that the lease has ended. It never
// becomes false again.
//
// What it cannot prevent: a paused process may wake up after the end and act before it checks
// `lost`. Only a resource that checks the fencing token prevents that.
//
// Thread-safety: all methods but Detach are thread-safe; moving and destroying are not. Lifetime:
// may outlive its Client.
class [[nodiscard]] Lease {
 public:
  explicit Lease(std::unique_ptr<client::HeldLease> held);  // For the client.
  Lease(Lease&& other) noexcept;
  // Releases the lease that this object held, as the destructor does.
  Lease& operator=(Lease&& other) noexcept;
  // Releases the lease, as Release does, and ignores the outcome.
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // What was granted.
  const Grant& grant() const;

  // Pass it to every resource that the lock guards.
  int64_t fencing_token() const { return grant().fencing_token; }

  // The newest proof of this lease; each renewal brings a new one. Keep it, with the token, to
  // adopt the lease later. Empty if the server gives none.
  std::string reassertion() const;

  // Time until the lease's end, as counted above. Zero once it is released, or once the server said
  // that it has ended.
  std::chrono::nanoseconds remaining() const;

  // Whether the lease is lost. Once true, always true. A released lease is not lost.
  bool lost() const;

  // Why the lease is lost. A release does not change it.
  Loss loss() const;

  // Runs `callback` once when the lease is lost; at once if it is lost already. Completion: on the
  // client's callback thread, which all leases of the client share, so return soon. After a release
  // no callback of this lease begins, and none is running, unless the release was called from one.
  void OnLost(absl::AnyInvocable<void() &&> callback);

  // Runs `callback` after each renewal, until the lease is lost. Thread and release are as with
  // OnLost. Replaces the previous callback.
  void OnExtended(absl::AnyInvocable<void()> callback);

  // A token whose stop is requested when the lease is lost, on the callback thread.
  std::stop_token stop_token() const;

  // Releases the lock. Blocks for at most ClientOptions::release_timeout, and, unless it is called
  // from a callback, until no callback of this lease is running. May be called again, and then
  // returns the first outcome. Errors: DEADLINE_EXCEEDED if there was no answer in time (the client
  // retries in the background), or the server's error. In any case the lease is no longer renewed.
  absl::StatusOr<ReleaseOutcome> Release();

  // Stops renewing without releasing, to hand the lease to another client (see Client::Adopt). The
  // lease then lives for the rest of its ttl. Returns the lease id. The other client also needs
  // fencing_token() and reassertion(). Requires: not released.
  std::string Detach() &&;

 private:
  std::unique_ptr<client::HeldLease> held_;
};

}  // namespace lockkeeper
