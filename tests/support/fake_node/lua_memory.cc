// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/lua_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace lockkeeper::support {

LuaMemory::LuaMemory() : blocks_(std::make_unique_for_overwrite<std::byte[]>(kLength)) {}

// Up to kSmallMax by steps of kGrain, then by powers of two.
size_t LuaMemory::ClassOf(size_t size) {
  if (size <= kSmallMax) return (size + kGrain - 1) / kGrain;
  return kSmallClasses + static_cast<size_t>(std::bit_width(size - 1));
}

size_t LuaMemory::LengthOf(size_t size_class) {
  if (size_class < kSmallClasses) return size_class * kGrain;
  return size_t{1} << (size_class - kSmallClasses);
}

void* LuaMemory::Reallocate(void* memory, void* block, size_t old_size, size_t new_size) {
  auto& self = *static_cast<LuaMemory*>(memory);
  if (new_size == 0) {
    if (block) self.Give(block, old_size);
    return nullptr;
  }
  if (!block) return self.Take(new_size);
  if (ClassOf(old_size) == ClassOf(new_size)) return block;
  void* moved = self.Take(new_size);
  if (!moved) return nullptr;
  std::memcpy(moved, block, std::min(old_size, new_size));
  self.Give(block, old_size);
  return moved;
}

void* LuaMemory::Take(size_t size) {
  const size_t size_class = ClassOf(size);
  FreeBlock*& first = free_[size_class];
  if (first) {
    void* block = first;
    first = first->next;
    return block;
  }
  const size_t length = LengthOf(size_class);
  if (length > kLength - used_) return nullptr;
  void* block = blocks_.get() + used_;
  used_ += length;
  return block;
}

void LuaMemory::Give(void* block, size_t size) {
  FreeBlock*& first = free_[ClassOf(size)];
  first = new (block) FreeBlock{first};
}

void LuaMemory::Keep() {
  free_ = {};  // What is taken from now on lies close together.
  kept_.assign(blocks_.get(), blocks_.get() + used_);
}

void LuaMemory::ForgetRest() {
  if (used_ - kept_.size() <= kForgetAt) return;
  used_ = kept_.size();
  free_ = {};
  std::memcpy(blocks_.get(), kept_.data(), used_);
}

}  // namespace lockkeeper::support
