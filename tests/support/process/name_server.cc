// SPDX-License-Identifier: Apache-2.0
#include "support/process/name_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace lockkeeper::support {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kTypeAndClassBytes = 4;
constexpr std::string_view kTypeOfAddresses{"\0\1", 2};  // A

std::system_error Failed(const char* what) { return {errno, std::generic_category(), what}; }

// One past the question, which follows the header: the labels of a name, its type and its class. 0
// if the query is malformed.
size_t EndOfQuestion(std::string_view query) {
  size_t at = kHeaderBytes;
  while (at < query.size() && query[at] != '\0') at += 1 + static_cast<uint8_t>(query[at]);
  at += 1 + kTypeAndClassBytes;
  return at <= query.size() ? at : 0;
}

}  // namespace

NameServer::NameServer()
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw Failed("bind");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

NameServer::~NameServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void NameServer::Publish(const std::vector<std::string>& addresses) {
  std::vector<in_addr> parsed(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (inet_pton(AF_INET, addresses[i].c_str(), &parsed[i]) != 1) {
      throw std::invalid_argument(addresses[i]);
    }
  }
  const std::lock_guard lock(mutex_);
  addresses_ = std::move(parsed);
}

std::string NameServer::TargetOf(uint16_t port) const {
  return "dns://127.0.0.1:" + std::to_string(port_) + "/lockkeeper.test:" + std::to_string(port);
}

void NameServer::Serve() {
  std::array<pollfd, 2> waits_for{pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (;;) {
    poll(waits_for.data(), waits_for.size(), -1);
    if (waits_for[1].revents != 0) return;
    std::array<char, 512> bytes{};
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    const ssize_t got = recvfrom(socket_.get(), bytes.data(), bytes.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
    if (got <= 0) continue;
    const std::string answer = AnswerTo({bytes.data(), static_cast<size_t>(got)});
    sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from),
           size);
  }
}

std::string NameServer::AnswerTo(const std::string& query) {
  const size_t end = EndOfQuestion(query);
  if (end == 0) return "";
  std::string answer = query.substr(0, end);
  // An answer without errors that says nothing of other servers.
  answer.replace(2, 2, "\x81\x80", 2);
  answer.replace(6, 6, 6, '\0');
  if (query.substr(end - kTypeAndClassBytes, 2) != kTypeOfAddresses) return answer;
  const std::lock_guard lock(mutex_);
  if (addresses_.empty()) return answer;
  std::rotate(addresses_.begin(), addresses_.begin() + 1, addresses_.end());
  answer[7] = static_cast<char>(addresses_.size());
  for (const in_addr& address : addresses_) {
    // The name of the question; A, IN; not to be kept; four bytes.
    answer.append("\xc0\x0c\0\1\0\1\0\0\0\0\0\4", 12);
    answer.append(reinterpret_cast<const char*>(&address), sizeof(address));
  }
  return answer;
}

}  // namespace lockkeeper::support
