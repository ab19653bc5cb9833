// SPDX-License-Identifier: Apache-2.0
//
// The daemon's own Redis server, for users who have none. It is durable, keeps its data in a folder
// of the daemon, and listens only on a unix socket. It is restarted when it dies, and dies with the
// daemon. Locks and tokens survive a restart. Only this daemon knows them.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/types.h"
#include "embedded/data_home.h"

namespace lockkeeper::embedded {

struct EmbeddedStoreOptions {
  std::string data_directory;
  std::string program;                  // Empty: redis-server, else valkey-server, from PATH.
  core::Millis lock_patience{5'000};    // How long to wait for the server of a dead daemon to end.
  core::Millis start_patience{10'000};  // For its first answer; "loading" counts.
  core::Millis stop_patience{10'000};   // From SIGTERM to SIGKILL.
  core::Millis restart_pause_first{100};  // After an unexpected end. Doubles up to:
  core::Millis restart_pause_max{5'000};
};

// An event of the server, for the log.
struct EmbeddedEvent {
  enum class Kind { kWaiting, kStarted, kEnded, kStartFailed };
  Kind kind;
  std::string text;  // For people.
};

// Called on the store's own thread, and for kWaiting on the thread of Start. Must not block.
using EmbeddedListener = absl::AnyInvocable<void(const EmbeddedEvent&)>;

// Thread-safety: thread-safe.
class EmbeddedStore {
 public:
  // Starts the server and waits until it answers.
  // Errors: STORE_UNAVAILABLE that says what is wrong (no program, folder in use or not ours, the
  // last output of the server) and what to do.
  static absl::StatusOr<std::unique_ptr<EmbeddedStore>> Start(const EmbeddedStoreOptions& options,
                                                              EmbeddedListener listener);
  ~EmbeddedStore();  // Stop().
  EmbeddedStore(const EmbeddedStore&) = delete;
  EmbeddedStore& operator=(const EmbeddedStore&) = delete;

  // "unix:///var/lib/lockkeeper/redis.sock"
  const std::string& url() const;

  // The state of its folder before the first start of the server.
  const DataHome& home() const { return home_; }

  // Ends the server with SIGTERM, later SIGKILL. Returns when it is gone.
  void Stop();

 private:
  class Supervisor;
  EmbeddedStore(DataHome home, std::unique_ptr<Supervisor> supervisor);

  const DataHome home_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace lockkeeper::embedded
