// SPDX-License-Identifier: Apache-2.0
//
// Why gRPC could not listen on an address: it tells only that, so this tries again by hand.
#pragma once

#include <string>

#include "config/listen_address.h"

namespace lockkeeper::rpc {

// "127.0.0.1:7600: Address already in use". Requires: `address` is no unix socket.
std::string BindProblem(const config::ListenAddress& address);

}  // namespace lockkeeper::rpc
