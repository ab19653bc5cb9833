// SPDX-License-Identifier: Apache-2.0
#include "scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lockkeeper::redis {
namespace {

// Takes a number and its line end off the front, after the given type byte.
std::optional<size_t> TakeNumber(std::string_view& text, char type) {
  const size_t end = text.find("\r\n");
  if (end == std::string_view::npos || text[0] != type) return std::nullopt;
  size_t number = 0;
  std::from_chars(text.data() + 1, text.data() + end, number);
  text.remove_prefix(end + 2);
  return number;
}

// Takes one whole command off the front of `input`.
std::optional<ScriptedServer::Words> TakeCommand(std::string& input) {
  std::string_view rest = input;
  const std::optional<size_t> count = rest.empty() ? std::nullopt : TakeNumber(rest, '*');
  if (!count) return std::nullopt;
  ScriptedServer::Words words;
  for (size_t i = 0; i < *count; ++i) {
    const std::optional<size_t> length = rest.empty() ? std::nullopt : TakeNumber(rest, '$');
    if (!length || rest.size() < *length + 2) return std::nullopt;
    words.emplace_back(rest.substr(0, *length));
    rest.remove_prefix(*length + 2);
  }
  input.erase(0, input.size() - rest.size());
  return words;
}

bool WriteAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

std::string Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string BulkArray(const std::vector<std::string>& texts) {
  std::string reply = "*" + std::to_string(texts.size()) + "\r\n";
  for (const std::string& text : texts) reply += Bulk(text);
  return reply;
}

ScriptedServer::ScriptedServer(Handler handler, std::optional<support::TlsFiles> tls)
    : handler_(std::move(handler)),
      acceptor_of_tls_(tls ? std::make_unique<support::TlsAcceptor>(*tls) : nullptr) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, length) != 0 || listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, generic, &length) != 0) {
    throw std::runtime_error("scripted server: no port");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
}

void ScriptedServer::Accept() {
  for (int connection = 0;; ++connection) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (socket < 0 || stopping_) {
      if (socket >= 0) close(socket);
      return;
    }
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket, connection] { Serve(socket, connection); });
  }
}

void ScriptedServer::Serve(int socket, int connection) {
  Talk(socket, connection);
  const std::lock_guard lock(mutex_);
  std::erase(sockets_, socket);
  close(socket);
}

void ScriptedServer::Talk(int socket, int connection) {
  std::unique_ptr<support::TlsServerStream> tls;
  const auto play = [&](const Words& command) {
    const ScriptedAnswer answer = handler_(connection, command);
    const bool written = tls ? tls->WriteAll(answer.bytes) : WriteAll(socket, answer.bytes);
    if (!written || !WriteAll(socket, answer.beneath)) return false;
    if (answer.then == ScriptedAnswer::Then::kReset) {
      const linger at_once{1, 0};
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    return answer.then == ScriptedAnswer::Then::kGoOn;
  };
  if (!play({})) return;
  if (acceptor_of_tls_) {
    tls = acceptor_of_tls_->Accept(socket);
    if (!tls) return;
  }
  std::string input;
  for (bool goes_on = true; goes_on;) {
    char buffer[65536];
    const ssize_t count =
        tls ? tls->Read(buffer, sizeof buffer) : recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) return;
    input.append(buffer, static_cast<size_t>(count));
    while (goes_on) {
      const std::optional<Words> command = TakeCommand(input);
      if (!command) break;
      goes_on = play(*command);
    }
  }
}

ScriptedAnswer HealthyAnswer(const ScriptedServer::Words& command) {
  if (command.empty()) return {};
  const std::string& name = command[0];
  const std::string section = command.size() < 2 ? "" : command[1];
  if (name == "INFO" && section == "server") return {Bulk("redis_version:7.0.15\r\n")};
  if (name == "INFO" && section == "replication") return {Bulk("role:master\r\n")};
  if (name == "INFO" && section == "memory") return {Bulk("maxmemory:0\r\n")};
  if (name == "INFO") return {Bulk("loading:0\r\naof_enabled:0\r\n")};
  if (name == "ROLE") return {"*3\r\n" + Bulk("master") + ":0\r\n*0\r\n"};
  if (name == "CONFIG") return {"*2\r\n" + Bulk("appendfsync") + Bulk("always")};
  return {"+OK\r\n"};
}

}  // namespace lockkeeper::redis
