// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guardian_link.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/run/process_title.h"

namespace lockkeeper::cli {
namespace {

absl::Status SystemError(const char* what) {
  return absl::InternalError(std::string(what) + ": " + std::strerror(errno));
}

[[noreturn]] void BecomeGuardian(const GuardianSetup& setup, os::Descriptor socket) {
  // Leaves run's group, so that a kill of that group does not kill the guardian too.
  setpgid(0, 0);
  // Hides the command line of run, so that a search for the command by its name does not find the
  // guardian.
  prctl(PR_SET_NAME, "lockkeeper-run");
  SetProcessTitle("lockkeeper-run: guardian of " + setup.lock_name);
  // Makes orphans of the command our children, so that we see the end of its group.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // A parent that ignores SIGCHLD would hide the end of our children.
  signal(SIGCHLD, SIG_DFL);
  Guardian(setup, std::move(socket)).Run();
  _exit(0);
}

}  // namespace

absl::StatusOr<GuardianLink> GuardianLink::Fork(const GuardianSetup& setup) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("socketpair");
  }
  os::Descriptor ours(ends[0]);
  os::Descriptor theirs(ends[1]);
  // The guardian starts with all signals blocked, so that none ends it before it is ready.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    ours = os::Descriptor();
    BecomeGuardian(setup, std::move(theirs));
  }
  absl::Status status = pid < 0 ? SystemError("fork") : absl::OkStatus();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!status.ok()) return status;
  return GuardianLink(std::move(ours), pid);
}

GuardianLink::~GuardianLink() {
  if (!socket_.valid()) return;  // Moved from.
  socket_ = os::Descriptor();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GuardianLink::Send(const Order& order) {
  send(socket_.get(), &order, sizeof(order), MSG_NOSIGNAL);
}

std::variant<std::monostate, Notice, GuardianLink::Gone> GuardianLink::Receive() {
  // Linux may report that the guardian is gone before it delivers the guardian's last notice. recv
  // looks for a message first and then for the end, and both may happen in between. And an
  // ECONNRESET, which is reported once if orders were left unread, comes before messages. So look
  // again, up to three times.
  for (int look = 0; look < 3; ++look) {
    Notice notice;
    const ssize_t got = recv(socket_.get(), &notice, sizeof(notice), MSG_DONTWAIT);
    if (got == sizeof(notice)) return notice;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::monostate();
  }
  return Gone();
}

}  // namespace lockkeeper::cli
