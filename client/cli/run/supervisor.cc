// SPDX-License-Identifier: Apache-2.0
#include "cli/run/supervisor.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "renewal/boot_clock.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

// Whether this process has just been stopped and continued. SIGCONT is blocked, so it is still
// pending.
bool WasContinued() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

// Whether a signal goes to the whole group of the command, as one from the terminal does, or to the
// command alone.
bool IsForGroup(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

}  // namespace

Supervisor::Supervisor(GuardianLink& guardian, SignalQueue& signals, Terminal& terminal,
                       Lease& lease, Duration grace, Progress& progress)
    : guardian_(guardian),
      signals_(signals),
      terminal_(terminal),
      lease_(lease),
      grace_(grace),
      progress_(progress) {}

CommandEnd Supervisor::Run() {
  const std::string renewed = "the lease of `" + lease_.grant().name + "` is renewed again";
  progress_.SetOutlook([this] { return Outlook(); });
  lease_.OnExtended([this, renewed] {
    progress_.OnServed(renewed);
    lease_changed_.Notify();
  });
  lease_.OnLost([this] { lease_changed_.Notify(); });
  Order start{.kind = Order::Kind::kStart,
              .fencing_token = lease_.fencing_token(),
              .times = TimesOfLease(),
              .in_foreground = terminal_.IsOurs()};
  const std::string& id = lease_.grant().lease_id;
  std::copy_n(id.begin(), std::min(id.size(), start.lease_id.size() - 1), start.lease_id.begin());
  guardian_.Send(start);

  while (!end_) {
    std::array<pollfd, 3> fds{{{guardian_.descriptor(), POLLIN, 0},
                               {signals_.descriptor(), POLLIN, 0},
                               {lease_changed_.descriptor(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), -1);
    if (fds[2].revents != 0) OnLease();
    while (const std::optional<int> signal = signals_.Take()) OnSignal(*signal);
    const auto received = guardian_.Receive();
    if (const auto* notice = std::get_if<Notice>(&received)) {
      OnNotice(*notice);
    } else if (std::holds_alternative<GuardianLink::Gone>(received)) {
      OnGuardianGone();
    }
  }
  if (command_ != 0) terminal_.TakeBack(command_);
  progress_.SetOutlook(nullptr);
  return *end_;
}

StopTimes Supervisor::TimesOfLease() const {
  // The clock is read first, so that the computed end is never late.
  const Instant now = client::BootClock().Now();
  return StopTimesOf(now + lease_.remaining(), grace_);
}

std::string Supervisor::Outlook() const {
  const Duration left = lease_.remaining() - kKillMargin - grace_;
  return "unless the lease of `" + lease_.grant().name +
         "` is renewed, the command is stopped in " +
         text::InWords(std::chrono::duration_cast<std::chrono::milliseconds>(
             std::max(left, Duration::zero())));
}

void Supervisor::OnLease() {
  lease_changed_.Clear();
  if (is_lost_) return;
  is_lost_ = lease_.lost();
  if (is_lost_) {
    guardian_.Send({.kind = Order::Kind::kStop});
  } else {
    guardian_.Send({.kind = Order::Kind::kTimes, .times = TimesOfLease()});
  }
}

void Supervisor::OnSignal(int signal) {
  if (signal == SIGCONT) {
    OnContinued();
  } else {
    guardian_.Send(
        {.kind = Order::Kind::kSignal, .signal = signal, .to_group = IsForGroup(signal)});
  }
}

void Supervisor::OnContinued() {
  // The shell may have put us in the foreground (fg), or not (bg).
  if (command_ != 0) terminal_.Lend(command_);
  OnLease();
  if (!is_lost_) guardian_.Send({.kind = Order::Kind::kContinue});
}

void Supervisor::OnStopped() {
  if (!terminal_.exists()) return;  // No job control: whoever stopped the command continues it.
  terminal_.TakeBack(command_);
  // Stops our whole group, as the terminal would, because a shell's job can have several processes.
  kill(0, SIGTSTP);
  // The kernel does not stop a group without a job-control shell above it, since nobody could
  // continue it. Then the command must continue too.
  if (!WasContinued()) OnContinued();
}

void Supervisor::OnNotice(const Notice& notice) {
  switch (notice.kind) {
    case Notice::Kind::kStarted:
      command_ = notice.pid;
      break;
    case Notice::Kind::kNotStarted:
      end_ = {.how = CommandEnd::How::kNotStarted, .error = notice.error};
      break;
    case Notice::Kind::kStopped:
      OnStopped();
      break;
    case Notice::Kind::kEnded:
      end_ = {.how = notice.for_lease ? CommandEnd::How::kForLease : CommandEnd::How::kByItself,
              .wait_status = notice.wait_status};
      break;
  }
}

void Supervisor::OnGuardianGone() {
  if (command_ != 0) kill(-command_, SIGKILL);
  end_ = {.how = CommandEnd::How::kGuardianGone};
}

}  // namespace lockkeeper::cli
