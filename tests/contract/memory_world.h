// SPDX-License-Identifier: Apache-2.0
//
// A store in memory, in virtual time, see store_world.h.
#pragma once

#include <memory>

#include "contract/store_world.h"

namespace lockkeeper::support {

std::unique_ptr<StoreWorld> MakeMemoryWorld();

}  // namespace lockkeeper::support
