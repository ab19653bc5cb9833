// SPDX-License-Identifier: Apache-2.0
//
// A real gRPC server on a real socket, over a store that the test scripts.
#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "access/access_control.h"
#include "core/domain.h"
#include "core/lock_watches.h"
#include "core/watched_lock_observer.h"
#include "loop/event_loop.h"
#include "rpc/server.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/captured_log.h"
#include "support/rpc/fake_daemon_view.h"
#include "support/rpc/scripted_store.h"
#include "telemetry/health_board.h"
#include "telemetry/lock_observer.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::support {

inline constexpr uint64_t kTestDaemonId = 0x0123456789abcdef;

// Errors: throws std::runtime_error if the server does not start, which fails the test.
// Thread-safety: not thread-safe, but for its parts that are.
class InProcessServer {
 public:
  InProcessServer();
  // Answers what is still in flight, cancelled, and ends.
  ~InProcessServer();

  ScriptedStore& store() { return store_; }
  telemetry::HealthBoard& health() { return health_; }
  telemetry::Metrics& metrics() { return metrics_; }
  CapturedLog& log() { return output_; }
  loop::EventLoop& loop() { return loop_; }
  access::AccessControl& access() { return access_; }
  core::LockManager& locks() { return domain_.locks(); }  // On the loop's thread, as the next.
  core::LockWatches& watches() { return watches_; }
  telemetry::ContendedLocks& contended() { return contended_; }
  rpc::CurrentLimits& limits() { return limits_; }
  FakeDaemonView& view() { return view_; }
  rpc::Server& server() { return *server_; }
  rpc::ServiceDeps Deps();

  // How often it was asked to stop. It goes on.
  int asked_to_stop() const { return asked_to_stop_; }

  // A channel with a connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel() const;

  // Operations and withdrawals that have not ended.
  size_t Outstanding();

 private:
  loop::EventLoop loop_{"test loop"};
  CapturedLog output_;
  telemetry::Log log_{{.level = telemetry::LogLevel::kDebug}, output_};
  telemetry::Metrics metrics_{"test", "none"};
  telemetry::HealthBoard health_{{log_, "telemetry"}, metrics_};
  telemetry::TelemetryLockObserver observer_{{log_, "core"}, metrics_, core::Millis(10'000)};
  ScriptedStore store_{loop_};
  core::LockWatches watches_{core::Hex16(kTestDaemonId), store_, nullptr, loop_, loop_};
  telemetry::ContendedLocks contended_{observer_, loop_};
  core::WatchedLockObserver watched_{contended_, watches_};
  core::Domain domain_{store_, &store_, loop_, loop_, watched_, {}};
  rpc::CurrentLimits limits_{{.max_ttl = core::Millis(60'000)}};
  access::AccessControl access_{std::make_shared<access::Rulebook>(), [] { return absl::Now(); }};
  FakeDaemonView view_;
  std::atomic<int> asked_to_stop_ = 0;
  const core::Instant started_at_ = loop_.Now();
  TemporaryDirectory directory_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace lockkeeper::support
