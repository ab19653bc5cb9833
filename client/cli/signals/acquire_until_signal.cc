// SPDX-License-Identifier: Apache-2.0
#include "cli/signals/acquire_until_signal.h"

#include <poll.h>

#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "cli/signals/wake_up.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

// What shells add to the number of the signal.
constexpr int kExitSignal = 128;

// What becomes of the place in line.
enum class Place { kNone, kGivenUp, kUntold };

std::string TextOf(Place place) {
  switch (place) {
    case Place::kNone:
      break;
    case Place::kGivenUp:
      return "; the place in line is given up";
    case Place::kUntold:
      return "; the service does not answer: a place in line lapses by itself";
  }
  return "";
}

Report InterruptedReport(const std::string& name, int signal, Place place) {
  const std::string message = std::string("SIG") + sigabbrev_np(signal) +
                              " arrived before the lock was acquired" + TextOf(place);
  Report report("error", ExitCode::kOther, "lockkeeper: " + message);
  report.exit_code = kExitSignal + signal;
  report.is_error = true;
  report.json.Set("name", name).Set("reason", "INTERRUPTED").Set("message", message);
  return report;
}

bool EndsAnAcquire(int signal) { return signal != SIGCONT && signal != SIGWINCH; }

// Waits for `finished` or a signal. Returns the signal, after requesting a stop. Calls `on_slow`
// once if neither comes for a while.
std::optional<int> WaitFor(const WakeUp& finished, SignalQueue& signals, std::stop_source& cancel,
                           absl::FunctionRef<void()> on_slow) {
  int timeout_ms =
      std::chrono::duration_cast<std::chrono::duration<int, std::milli>>(kPatience).count();
  std::array<pollfd, 2> fds{
      {{signals.descriptor(), POLLIN, 0}, {finished.descriptor(), POLLIN, 0}}};
  while (true) {
    if (poll(fds.data(), fds.size(), timeout_ms) == 0) {
      timeout_ms = -1;
      on_slow();
    }
    while (const std::optional<int> signal = signals.Take()) {
      if (!EndsAnAcquire(*signal)) continue;
      cancel.request_stop();
      signals.LetThrough();
      return signal;
    }
    if (fds[1].revents != 0) return std::nullopt;
  }
}

}  // namespace

std::variant<AcquireResult, Report> AcquireUntilSignal(Client& client, const std::string& name,
                                                       AcquireOptions options, SignalQueue& signals,
                                                       Progress& progress) {
  const bool waits = options.wait_timeout.count() > 0;
  const std::string own_lease_id = options.lease_id;
  const WakeUp finished;
  std::stop_source cancel;
  options.cancel = cancel.get_token();
  std::optional<AcquireResult> result;
  std::thread acquiring([&] {
    result.emplace(client.Acquire(name, options));
    finished.Notify();
  });
  const std::optional<int> ended_by = WaitFor(finished, signals, cancel, [&] {
    progress.OnPatienceEnded(waits ? "waiting for `" + name + "`, for up to " +
                                         text::InWords(options.wait_timeout)
                                   : "");
  });
  acquiring.join();
  if (!ended_by) return *std::move(result);
  // If the lock was granted all the same, the result's destructor releases it. The client leaves a
  // lease id that its caller chose to the caller, which is us.
  absl::Status told;
  if (!*result && !own_lease_id.empty()) told = client.Release(name, own_lease_id).status();
  const bool is_untold = !told.ok() || progress.HasTrouble();
  const Place place = is_untold ? Place::kUntold : Place::kGivenUp;
  return InterruptedReport(name, *ended_by, waits ? place : Place::kNone);
}

}  // namespace lockkeeper::cli
