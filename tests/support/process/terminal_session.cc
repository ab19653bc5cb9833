// SPDX-License-Identifier: Apache-2.0
#include "support/process/terminal_session.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace lockkeeper::support {
namespace {

constexpr std::chrono::seconds kLimit{30};

}  // namespace

TerminalSession::TerminalSession(
    std::vector<std::string> command,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> variable_words;
  for (std::string& variable : variables) variable_words.push_back(variable.data());
  variable_words.push_back(nullptr);

  pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (pid_ == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(words[0], words.data(), variable_words.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("forkpty failed");
  fcntl(terminal_, F_SETFD, FD_CLOEXEC);
}

TerminalSession::~TerminalSession() {
  close(terminal_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void TerminalSession::Type(const std::string& keys) {
  size_t done = 0;
  while (done < keys.size()) {
    const ssize_t written = write(terminal_, keys.data() + done, keys.size() - done);
    if (written < 0 && errno != EINTR) throw std::runtime_error("cannot type at the terminal");
    if (written > 0) done += static_cast<size_t>(written);
  }
}

bool TerminalSession::ReadMore() {
  pollfd readable{terminal_, POLLIN, 0};
  if (poll(&readable, 1, 100) <= 0) return true;
  std::array<char, 4096> bytes{};
  const ssize_t got = read(terminal_, bytes.data(), bytes.size());
  if (got <= 0) return false;  // The last program on the terminal has gone.
  screen_.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

bool TerminalSession::WaitFor(const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  bool more = true;
  while (true) {
    const size_t at = screen_.find(text, seen_);
    if (at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    if (!more || std::chrono::steady_clock::now() > deadline) return false;
    more = ReadMore();
  }
}

int TerminalSession::NumberAfter(const std::string& word) {
  // A digit right after it, since the word alone may have been typed.
  for (size_t from = seen_;;) {
    const size_t at = screen_.find(word + " ", from);
    const size_t digits = at + word.size() + 1;
    if (at == std::string::npos || digits >= screen_.size() ||
        screen_.find_first_not_of("0123456789", digits) == std::string::npos) {
      if (!WaitFor("\n")) return 0;
      continue;
    }
    if (screen_[digits] >= '0' && screen_[digits] <= '9') return std::atoi(&screen_[digits]);
    from = digits;
  }
}

}  // namespace lockkeeper::support
