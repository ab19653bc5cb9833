// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/lua_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace lockkeeper::support {

void* LuaMemory::Reallocate(void* memory, void* block, size_t old_size, size_t new_size) {
  auto& self = *static_cast<LuaMemory*>(memory);
  if (new_size == 0) {
    if (block) self.Give(block, old_size);
    return nullptr;
  }
  if (!block) return self.Take(new_size);
  const bool small = old_size <= kSmallMax && new_size <= kSmallMax;
  if (small && ClassOf(old_size) == ClassOf(new_size)) return block;
  if (old_size > kSmallMax && new_size > kSmallMax) return std::realloc(block, new_size);
  void* moved = self.Take(new_size);
  if (!moved) return nullptr;
  std::memcpy(moved, block, std::min(old_size, new_size));
  self.Give(block, old_size);
  return moved;
}

void* LuaMemory::Take(size_t size) {
  if (size > kSmallMax) return std::malloc(size);
  FreeBlock*& first = free_[ClassOf(size)];
  if (first) {
    void* block = first;
    first = first->next;
    return block;
  }
  const size_t length = ClassOf(size) * kGrain;
  if (used_of_chunk_ + length > kChunk) {
    chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
    used_of_chunk_ = 0;
  }
  void* block = chunks_.back().get() + used_of_chunk_;
  used_of_chunk_ += length;
  return block;
}

void LuaMemory::Give(void* block, size_t size) {
  if (size > kSmallMax) {
    std::free(block);
    return;
  }
  FreeBlock*& first = free_[ClassOf(size)];
  first = new (block) FreeBlock{first};
}

}  // namespace lockkeeper::support
