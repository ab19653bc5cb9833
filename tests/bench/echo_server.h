// SPDX-License-Identifier: Apache-2.0
//
// The echo server as the rows measure it: in the clear, or with mutual TLS.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/service.h"
#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class EchoServer {
 public:
  EchoServer() : EchoServer(std::vector<std::string>{}, {}) {}

  pid_t pid() const { return process_->pid(); }
  const std::string& address() const { return address_; }
  double CpuSeconds() const;

  // What bench_load needs to be let in, besides the address.
  const std::vector<std::string>& client_words() const { return client_words_; }

 protected:
  EchoServer(const std::vector<std::string>& words, std::vector<std::string> client_words);

 private:
  support::TemporaryDirectory directory_;
  std::optional<support::ChildProcess> process_;
  std::string address_;
  const std::vector<std::string> client_words_;
};

class SecuredEchoServer : private MutualTlsPlace, public EchoServer {
 public:
  SecuredEchoServer();
};

}  // namespace lockkeeper::bench
