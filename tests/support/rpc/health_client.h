// SPDX-License-Identifier: Apache-2.0
//
// Asks a server for its health by gRPC's standard service.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace lockkeeper::support {

enum class Serving { kServing, kNotServing, kUnknownName, kNoAnswer };

Serving CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& name);

}  // namespace lockkeeper::support
