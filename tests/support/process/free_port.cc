// SPDX-License-Identifier: Apache-2.0
#include "support/process/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockkeeper::support {

uint16_t FreePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = descriptor >= 0 && bind(descriptor, generic, length) == 0 &&
                     getsockname(descriptor, generic, &length) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!bound) throw std::system_error(error, std::generic_category(), "bind");
  return ntohs(address.sin_port);
}

}  // namespace lockkeeper::support
