// SPDX-License-Identifier: Apache-2.0
#include "transport/unary_call.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "transport/call_options.h"
#include "transport/status_details.h"

namespace lockkeeper::client {

bool PauseFor(Duration delay, const std::stop_token& cancel) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, cancel, delay, [] { return false; });
  return !cancel.stop_requested();
}

absl::Status CallOnce(Duration timeout, const std::stop_token& cancel,
                      absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  grpc::ClientContext context;
  SetTimeout(context, timeout);
  const std::stop_callback on_stop(cancel, [&] { context.TryCancel(); });
  const grpc::Status status = call(context);
  return cancel.stop_requested() ? StatusFromGrpc(status) : StatusOfUncancelled(status);
}

absl::Status CallUntilAnswered(
    const CallPorts& ports, Duration timeout,
    absl::FunctionRef<grpc::Status(grpc::ClientContext&, Channels::Stub&)> call) {
  RetryRule rule(ports.clock.Now() + timeout, static_cast<int>(ports.channels.size()),
                 ports.jitter);
  while (true) {
    const size_t daemon = ports.channels.current();
    const Instant began = ports.clock.Now();
    const absl::Status status =
        CallOnce(rule.TryTimeout(began), {}, [&](grpc::ClientContext& context) {
          return call(context, *ports.channels[daemon].others);
        });
    const std::optional<Duration> delay = rule.DelayAfter(status, began, ports.clock.Now());
    if (!delay) return status;
    ports.channels.Failed(daemon);
    PauseFor(*delay, {});
  }
}

}  // namespace lockkeeper::client
