// SPDX-License-Identifier: Apache-2.0
//
// A program on a terminal of its own, typed at and looked at by a test.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace lockkeeper::support {

// Thread-safety: not thread-safe.
class TerminalSession {
 public:
  // Starts `command` as the leader of a new session on a new terminal, with these variables besides
  // the test's own.
  TerminalSession(std::vector<std::string> command,
                  const std::vector<std::pair<std::string, std::string>>& environment);
  // Hangs up, and kills the program.
  ~TerminalSession();
  TerminalSession(const TerminalSession&) = delete;
  TerminalSession& operator=(const TerminalSession&) = delete;

  // Types `keys`; "\x03" is Ctrl-C, "\x1a" is Ctrl-Z, "\x04" is Ctrl-D.
  void Type(const std::string& keys);

  // Reads until `text` is on the terminal, after what was waited for before. False if that takes
  // over half a minute. What is typed is on it as well: look for what cannot have been typed.
  bool WaitFor(const std::string& text);

  // Number that comes after `word` and a space. Waits for it; 0 if it does not come.
  int NumberAfter(const std::string& word);

  // All that was on the terminal.
  const std::string& screen() const { return screen_; }

 private:
  bool ReadMore();

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string screen_;
  size_t seen_ = 0;
};

}  // namespace lockkeeper::support
