// SPDX-License-Identifier: Apache-2.0
#include "rpc/bind_problem.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace lockkeeper::rpc {
namespace {

// 0, or why nobody can listen there, as gRPC would: without SO_REUSEPORT.
int TryToListen(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int problem = 0;
  if (bind(fd, address.ai_addr, address.ai_addrlen) != 0 || listen(fd, 1) != 0) problem = errno;
  close(fd);
  return problem;
}

}  // namespace

std::string BindProblem(const config::ListenAddress& address) {
  const std::string name = address.ToString();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) return name + ": " + gai_strerror(error);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (const int problem = TryToListen(*one); problem != 0) {
      return name + ": " + std::strerror(problem);
    }
  }
  return name + ": gRPC cannot listen there";
}

}  // namespace lockkeeper::rpc
