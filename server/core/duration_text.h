// SPDX-License-Identifier: Apache-2.0
//
// Durations in messages for people.
#pragma once

#include <string>

#include "core/types.h"

namespace lockkeeper::core {

// "100ms", "4.2s", "1m0.7s", "24h". From a second on rounded up to tenths of it.
std::string InWords(Micros duration);

}  // namespace lockkeeper::core
