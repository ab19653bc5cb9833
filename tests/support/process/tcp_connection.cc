// SPDX-License-Identifier: Apache-2.0
#include "support/process/tcp_connection.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace lockkeeper::support {

os::Descriptor ConnectTo(uint16_t port, std::string_view bytes) {
  os::Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return {};
  }
  send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return connection;
}

}  // namespace lockkeeper::support
