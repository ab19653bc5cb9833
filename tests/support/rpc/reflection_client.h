// SPDX-License-Identifier: Apache-2.0
//
// Asks a server for its services by gRPC's reflection, as grpcurl does.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

namespace lockkeeper::support {

// Names of all services, sorted. Errors: throws std::runtime_error if the server does not answer.
std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace lockkeeper::support
