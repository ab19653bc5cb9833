// SPDX-License-Identifier: Apache-2.0
//
// The in-process server in virtual time, see redis_world.h.
#pragma once

#include <memory>

#include "contract/redis/redis_world.h"

namespace lockkeeper::support {

std::unique_ptr<StoreWorld> MakeFakeWorld(Guarding guarding);

}  // namespace lockkeeper::support
