// SPDX-License-Identifier: Apache-2.0
//
// The options of calls. Plain structs, filled with designated initialisers; a member that is left
// out has its default. The server checks the limits, unless a member says otherwise. Every member
// has an initialiser, because otherwise -Wextra warns about callers that leave it out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lockkeeper {

// What the store must have confirmed before it grants. The numbers are those of
// lockkeeper.v1.Assurance.
enum class Assurance { kUnspecified = 0, kMemory = 1, kDisk = 2, kReplicas = 3, kQuorum = 4 };

// How to reach daemons over TLS: whom to trust, and who this program is. PEM files, which are read
// again when they change.
struct TlsOptions {
  // CAs that may sign the certificate of a daemon. Empty: those of the system.
  std::string ca_file{};

  // This program's certificate, with those between it and its CA, and its key, without a
  // passphrase, for daemons that ask for one. Both or neither.
  std::string certificate_file{};
  std::string key_file{};

  // Name or address that the certificate of a daemon must be for. Empty: the host of its address.
  std::string server_name{};
};

// The trace that a call belongs to: W3C's headers of these names.
struct TraceContext {
  // At most 64 printable bytes of ASCII; another one counts as none. Empty: no trace.
  std::string traceparent{};

  // At most 512 printable bytes of ASCII, else it is left out. Without a traceparent it means
  // nothing.
  std::string tracestate{};

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// How to reach the service.
struct ClientOptions {
  // Daemons of one service: `host:port`, `[v6]:port`, `unix:/path`, or `tls://host:port`. The first
  // that answers is used; the next one is tried when it is unavailable or stopping. 1 to 16
  // addresses.
  std::vector<std::string> addresses = {"127.0.0.1:7600"};

  // Spreads calls and sessions over all daemons that the address in use resolves to (gRPC's
  // round_robin), instead of staying with one until it is gone. For a name with several daemons
  // behind it, such as a headless Service of Kubernetes. Each daemon then has up to three
  // connections of this client.
  bool spread_calls = false;

  // If any of them is given, all hosts are reached over TLS, whether `tls://` is written or not.
  TlsOptions tls{};

  // File that holds a bearer token (or a JWT, such as a service-account token of Kubernetes), which
  // proves who this program is. It is read again when it changes. Only shown on connections within
  // this machine, unless they are encrypted. Empty: none.
  std::string token_file{};

  // Names this program for people: at most 256 bytes. Empty: `host/pid`.
  std::string owner{};

  // Longest time of one call, retries included. A wait_timeout comes on top. Positive.
  std::chrono::milliseconds call_timeout{10'000};

  // Longest time that Release and the destructor of a Lease block. After that the client retries
  // the release in the background, until the lease has expired. Positive.
  std::chrono::milliseconds release_timeout{2'000};

  // Runs with the error of each call or renewal that a daemon did not serve and that the client
  // retries, there or at the next address. For people who wonder what takes so long. Runs on any
  // thread, so return soon. May be empty.
  std::function<void(const absl::Status& why)> on_unserved{};

  // Returns the trace context of the caller, which makes the spans of the daemon part of the
  // caller's trace. docs/guides/cpp.md shows how to fill it with opentelemetry-cpp. Runs once for
  // each Acquire, Adopt, Release (of a lease, too, also by its destructor) and Fence, on the thread
  // that calls it, before anything is sent; those of a campaign on its thread. All attempts of the
  // call carry the same context. Renewals belong to no caller, and have none; neither has an Adopt
  // by token in a session. Must not throw, and must be thread-safe. Empty: no call has one.
  std::function<TraceContext()> trace_context{};
};

// How to acquire a lock.
struct AcquireOptions {
  // Length of the lease, and how far each renewal moves its end. At least 100 ms. Nothing: the
  // server's default, 30 s or its lease.max_ttl.
  std::optional<std::chrono::milliseconds> ttl{};

  // Time to stand in line if the lock is not free. 0: try once.
  std::chrono::milliseconds wait_timeout{0};

  // Names the holder for people. Empty: ClientOptions::owner.
  std::string owner{};

  // Kept with the lease, for people. At most 8 labels.
  std::map<std::string, std::string> labels{};

  // Time for which the lock stays closed if this lease ends without a release. At most 1 min.
  std::chrono::milliseconds lock_delay{0};

  // Longest time for which the lease is renewed. 0: no bound. At least 100 ms, at most 24 h.
  std::chrono::milliseconds max_hold{0};

  // Time from the grant on for which the lock stays closed to others, even if the lease is released
  // or lost earlier. At most 24 h.
  std::chrono::milliseconds hold_at_least{0};

  // Least that the store has to confirm; else the acquire fails.
  Assurance min_assurance = Assurance::kUnspecified;

  // How long before its end the lease counts as lost, so that the holder can stop its work in time.
  // At most about half of the ttl: at least 1/20 of the ttl must lie between the regular renewal
  // and the loss (the client checks this).
  std::chrono::milliseconds stop_margin{0};

  // Ends the call early when a stop is requested: it then fails with CANCELLED.
  std::stop_token cancel{};

  // Lease id to use: 32 hex digits or a UUID. Empty: a new random one. A caller that gives an id
  // can repeat the acquire later, and must release the id itself if the outcome stays unknown.
  std::string lease_id{};
};

// How to take over a lease by its id.
struct AdoptOptions {
  // As in AcquireOptions; the lease then runs on with this ttl. Nothing: the ttl as granted.
  std::optional<std::chrono::milliseconds> ttl{};

  // As in AcquireOptions.
  std::chrono::milliseconds stop_margin{0};

  // Those of the Grant. With them the lease survives a store that has lost its state; without them
  // it is then lost. 0 and empty: not known.
  int64_t fencing_token = 0;
  std::string reassertion{};
};

// What a Fence checks.
struct FenceOptions {
  // Whether the token's lease must be live as well.
  bool require_live_lease = false;
};

}  // namespace lockkeeper
