// SPDX-License-Identifier: Apache-2.0
//
// The client of lockkeeper: named locks with fencing tokens. Start here:
//
//   auto client = lockkeeper::Client::Create({.addresses = {"db1:7600"}});
//   if (!client.ok()) return client.status();
//   return client->WithLock("report", {.ttl = 10s}, [](lockkeeper::Lease& lease) {
//     return WriteReport(lease.fencing_token());
//   });
//
// client/README.md is the contract that the clients of all languages keep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lockkeeper/acquire_result.h"
#include "lockkeeper/error.h"
#include "lockkeeper/leader_observer.h"
#include "lockkeeper/leadership.h"
#include "lockkeeper/lease.h"
#include "lockkeeper/options.h"

namespace lockkeeper {

namespace client {
class ClientCore;
}  // namespace client

// What a Fence found. Everything but kAdmitted means: reject the access.
enum class Verdict {
  kUnknown = 0,       // The server sent a verdict that this version does not know.
  kAdmitted = 1,      // The newest token of the lock and, if asked, its lease is live.
  kStale = 2,         // A higher token was granted.
  kExpired = 3,       // The newest token, but its lease is over.
  kUnknownToken = 4,  // Never granted, or the service does not remember.
};

struct [[nodiscard]] FenceResult {
  Verdict verdict = Verdict::kUnknown;
  int64_t newest_fencing_token = 0;  // 0 if none is known.

  bool admitted() const { return verdict == Verdict::kAdmitted; }
};

// The client of one service: its connections and two threads. Creating one is expensive, keeping it
// is not: use one per process.
//
// One thread renews all leases, the other runs callbacks. It retries a call only when
// the service is unavailable, and with the same lease id, so that nothing is acquired twice. When
// an acquire ends without an answer, it releases the lease id in the background. All calls share
// one stream to the daemon in use; where a proxy cuts streams they are unary calls. No call waits
// behind acquires that stand in line.
//
// Thread-safety: thread-safe, except moving and destroying. Must not be used in a child after fork.
// Lifetime: leases may outlive it. The destructor of the last of them blocks for at most
// release_timeout while releases are in flight.
class Client {
 public:
  // Does not connect yet. Errors: INVALID_ARGUMENT naming the option.
  static absl::StatusOr<Client> Create(ClientOptions options = {});

  explicit Client(
      std::shared_ptr<client::ClientCore> core);  // For Create, and tests of the client.
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Acquires the lock `name`. Blocks for at most wait_timeout + call_timeout.
  // Errors: those of rpc Acquire; DEADLINE_EXCEEDED if the last try had no answer; CANCELLED;
  // INVALID_ARGUMENT for an option that is checked here.
  AcquireResult Acquire(std::string_view name, const AcquireOptions& options = {});

  // Acquires the lock, runs `fn` once, and releases. Returns the error of `fn` if it has one; else
  // FAILED_PRECONDITION with the reason kLeaseLost if the lease was lost before `fn` returned; and
  // the status of the acquire, without running `fn`, if the lock was not granted. Releases when
  // `fn` throws, too.
  absl::Status WithLock(std::string_view name, const AcquireOptions& options,
                        absl::FunctionRef<absl::Status(Lease&)> fn);

  // Campaigns for the lock, to lead while it holds it, and returns at once. Errors:
  // INVALID_ARGUMENT for an option that a campaign cannot use; those of the acquires go to
  // on_error.
  absl::StatusOr<Leadership> Lead(std::string_view name, LeadOptions options);

  // Tells who holds the lock, now and at each change, to a program that does not campaign itself,
  // and returns at once. Needs the right `inspect` on the name. Errors: INVALID_ARGUMENT if `name`
  // is empty; those of the calls go to on_error.
  absl::StatusOr<LeaderObserver> Observe(std::string name, ObserveOptions options);

  // Takes over a live lease that another client detached: extends it, and renews it from now on.
  // Errors: those of rpc Extend, LEASE_LOST above all.
  absl::StatusOr<Lease> Adopt(std::string_view name, std::string_view lease_id,
                              const AdoptOptions& options = {});

  // Releases by lease id, for a lease that this process does not hold. Blocks for at most
  // call_timeout. Errors: those of rpc Release; DEADLINE_EXCEEDED without an answer.
  absl::StatusOr<ReleaseOutcome> Release(std::string_view name, std::string_view lease_id);

  // Asks whether `fencing_token` is the newest one of the lock, for a resource that cannot store
  // the highest token it has seen. An error means: reject the access. Blocks for at most
  // call_timeout. Errors: those of rpc Fence; DEADLINE_EXCEEDED without an answer.
  absl::StatusOr<FenceResult> Fence(std::string_view name, int64_t fencing_token,
                                    const FenceOptions& options = {});

 private:
  std::shared_ptr<client::ClientCore> core_;
};

}  // namespace lockkeeper
