// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor.h"

#include <unistd.h>

#include <utility>

namespace lockkeeper::os {

Descriptor::~Descriptor() {
  if (valid()) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Descriptor taken(std::move(other));
  std::swap(number_, taken.number_);
  return *this;
}

int Descriptor::Release() { return std::exchange(number_, -1); }

}  // namespace lockkeeper::os
