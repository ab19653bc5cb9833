// SPDX-License-Identifier: Apache-2.0
//
// A PostgreSQL of our own: fresh data, settings as it comes, on a unix socket only.
#pragma once

#include <memory>
#include <string>

#include "bench/peers/peer.h"
#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {

Peer PostgresPeer();

// Path of `name` among PostgreSQL's programs, those of the newest version that is installed.
// Empty: there is none.
std::string PostgresProgram(const std::string& name);

// It refuses to run as root; then it runs as the user `postgres`, which its package makes.
//
// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class PostgresServer {
 public:
  // Starts it and waits until it answers.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // What its clients need: where the socket lies, and as whom they come.
  std::string socket_folder() const { return directory_.path(); }
  static std::string user() { return "postgres"; }

  // Also that of connections that have ended.
  double CpuSeconds() const;

 private:
  void WaitUntilItAnswers();

  support::TemporaryDirectory directory_;
  std::unique_ptr<support::ChildProcess> process_;
};

}  // namespace lockkeeper::bench
