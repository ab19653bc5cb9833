// SPDX-License-Identifier: Apache-2.0
//
// The daemon's own Redis server, for those who have none: the real store, durable, in a folder of
// the daemon's, reachable over a unix socket only. It is started again when it dies, and dies with
// the daemon; its locks and tokens are there again at the next start. Only this daemon knows them.
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
  std::string program;                    // Empty: redis-server, else valkey-server, from PATH.
  core::Millis lock_patience{5'000};      // For the server of a daemon that has just died.
  core::Millis start_patience{10'000};    // To answer; loading its data counts as an answer.
  core::Millis stop_patience{10'000};     // To end by itself after SIGTERM.
  core::Millis restart_pause_first{100};  // After an unexpected end; doubles up to the next line.
  core::Millis restart_pause_max{5'000};
};

// What happened to the server, for the log.
struct EmbeddedEvent {
  enum class Kind { kWaiting, kStarted, kEnded, kStartFailed };
  Kind kind;
  std::string text;  // For people.
};

// Called on the store's own thread, kWaiting on that of Start; must not block.
using EmbeddedListener = absl::AnyInvocable<void(const EmbeddedEvent&)>;

// Thread-safety: thread-safe.
class EmbeddedStore {
 public:
  // Starts the server and waits until it answers.
  // Errors: STORE_UNAVAILABLE that says what is wrong (no program, folder in use or not ours, the
  // server's last words) and what to do.
  static absl::StatusOr<std::unique_ptr<EmbeddedStore>> Start(const EmbeddedStoreOptions& options,
                                                              EmbeddedListener listener);
  ~EmbeddedStore();  // Stop().
  EmbeddedStore(const EmbeddedStore&) = delete;
  EmbeddedStore& operator=(const EmbeddedStore&) = delete;

  // "unix:///var/lib/lockkeeper/redis.sock"
  const std::string& url() const;

  // Its folder, as it was before the server was started for the first time.
  const DataHome& home() const { return home_; }

  // Ends the server: SIGTERM, later SIGKILL. Returns when it is gone.
  void Stop();

 private:
  class Supervisor;
  EmbeddedStore(DataHome home, std::unique_ptr<Supervisor> supervisor);

  const DataHome home_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace lockkeeper::embedded
