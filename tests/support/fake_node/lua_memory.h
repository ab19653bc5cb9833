// SPDX-License-Identifier: Apache-2.0
//
// An allocator for one Lua state. A script call makes and drops some hundred small objects; lists
// of free blocks by size are much faster for them than malloc. A state that only runs compiled
// scripts needs no garbage collection either: Keep saves all memory, and ForgetRest copies it back,
// which drops everything that calls have left.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace lockkeeper::support {

// Lifetime: outlives the state that uses it. Thread-safety: not thread-safe.
class LuaMemory {
 public:
  LuaMemory();

  // For lua_newstate, with a LuaMemory as its user data.
  static void* Reallocate(void* memory, void* block, size_t old_size, size_t new_size);

  // Remembers all blocks with their contents.
  void Keep();

  // Restores the memory that Keep saved, if more than kForgetAt bytes were allocated since.
  // Requires: Keep was called, and no script runs.
  void ForgetRest();

 private:
  static constexpr size_t kGrain = 16;
  static constexpr size_t kSmallMax = 512;
  static constexpr size_t kSmallClasses = kSmallMax / kGrain + 1;
  static constexpr size_t kClasses = kSmallClasses + 64;
  // Costs only what is used of it.
  static constexpr size_t kLength = size_t{256} << 20;
  // A third of a processor's second cache.
  static constexpr size_t kForgetAt = size_t{160} << 10;

  struct FreeBlock {
    FreeBlock* next;
  };
  using FreeBlocks = std::array<FreeBlock*, kClasses>;

  static size_t ClassOf(size_t size);
  static size_t LengthOf(size_t size_class);

  void* Take(size_t size);
  void Give(void* block, size_t size);

  std::unique_ptr<std::byte[]> blocks_;
  size_t used_ = 0;
  FreeBlocks free_{};
  std::vector<std::byte> kept_;
};

}  // namespace lockkeeper::support
