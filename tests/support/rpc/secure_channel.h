// SPDX-License-Identifier: Apache-2.0
//
// A channel over TLS for clients made from the protos alone.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace lockkeeper::support {

// PEM files. Without a certificate none is shown.
struct ClientFiles {
  std::string ca;
  std::string certificate;
  std::string key;
  std::string server_name = {};  // Expects this name in the server's certificate, not its address.
};

// With a connection of its own. `address` as the daemon tells it: tls://127.0.0.1:4711. Its calls
// show the bearer token `token`, unless it is empty.
std::shared_ptr<grpc::Channel> SecureChannel(const std::string& address, const ClientFiles& files,
                                             const std::string& token = "");

}  // namespace lockkeeper::support
