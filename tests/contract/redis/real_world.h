// SPDX-License-Identifier: Apache-2.0
//
// A real server with connections as the daemon makes them, see redis_world.h. A
// preloaded clock makes its time as exact as that of the in-process one.
#pragma once

#include <memory>
#include <string>

#include "contract/redis/redis_world.h"

namespace lockkeeper::support {

// `program` is the server's, for example "redis-server".
std::unique_ptr<StoreWorld> MakeRealWorld(const std::string& program, Guarding guarding);

}  // namespace lockkeeper::support
