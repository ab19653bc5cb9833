// SPDX-License-Identifier: Apache-2.0
//
// The real clock.
#pragma once

#include "renewal/time.h"

namespace lockkeeper::client {

class BootClock final : public Clock {
 public:
  Instant Now() const override;
};

}  // namespace lockkeeper::client
