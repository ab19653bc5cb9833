// SPDX-License-Identifier: Apache-2.0
//
// A channel whose calls all show the same bearer token.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace lockkeeper::support {

// `authorization`: the whole value of the metadata key, "Bearer TOKEN". Empty: none.
std::shared_ptr<grpc::Channel> NewBearerChannel(const std::string& address,
                                                const std::string& authorization);

}  // namespace lockkeeper::support
