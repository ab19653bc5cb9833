// SPDX-License-Identifier: Apache-2.0
//
// A store of several parts on the in-process server in virtual time.
#pragma once

#include <memory>

#include "contract/store_world.h"

namespace lockkeeper::support {

std::unique_ptr<StoreWorld> MakePartedWorld();

}  // namespace lockkeeper::support
