// SPDX-License-Identifier: Apache-2.0
//
// A TCP server that speaks the Redis protocol, in the clear or through TLS, and answers what the
// test tells it to, right or wrong: for everything that a real server does too seldom.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/tls/tls_acceptor.h"

namespace lockkeeper::redis {

// What the server does with one command.
struct ScriptedAnswer {
  std::string bytes;
  enum class Then { kGoOn, kClose, kReset } then = Then::kGoOn;
  std::string beneath = {};  // Comes behind `bytes`, past TLS where there is TLS.
};

// Thread-safety: construct and destroy on the test's thread; the handler runs on the server's.
class ScriptedServer {
 public:
  using Words = std::vector<std::string>;
  // `connection` counts the accepted connections from 0. An empty command stands for the
  // connection itself, before anything was said on it, TLS included.
  using Handler = std::function<ScriptedAnswer(int connection, const Words& command)>;

  // With `tls` through TLS, by these files.
  explicit ScriptedServer(Handler handler, std::optional<support::TlsFiles> tls = std::nullopt);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const {
    return (acceptor_of_tls_ ? "rediss://127.0.0.1:" : "redis://127.0.0.1:") +
           std::to_string(port_);
  }

 private:
  void Accept();
  void Serve(int socket, int connection);
  void Talk(int socket, int connection);

  const Handler handler_;
  const std::unique_ptr<support::TlsAcceptor> acceptor_of_tls_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::mutex mutex_;
  bool stopping_ = false;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// The bytes of a text and of an array of texts.
std::string Bulk(std::string_view text);
std::string BulkArray(const std::vector<std::string>& texts);

// The answer of a healthy Redis 7.0.15 to a command of the handshake, "+OK" to any other one.
ScriptedAnswer HealthyAnswer(const ScriptedServer::Words& command);

}  // namespace lockkeeper::redis
