// SPDX-License-Identifier: Apache-2.0
//
// A resource that fencing tokens guard: a number in memory. In a database the mark is a column, and
// is checked and raised in the transaction that reads or writes the data.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

// The rule: keep the highest token ever seen and refuse lower ones, for reads as for writes.
//  - A token equal to the mark is the same holder again: admitted. (Comparing for equality with the
//    newest lease instead, as is often done, refuses nobody who comes before that lease is used.)
//  - A read raises the mark too. Otherwise a late holder can still write between the new holder's
//    read and its write, and the new holder writes over it without having seen it.
//
// Thread-safety: thread-safe. Check and access are one step: that is the point.
class FencedStore {
 public:
  // The number. Nothing: the token is stale.
  std::optional<int> Read(int64_t fencing_token) {
    const std::lock_guard lock(mutex_);
    if (!Admit(fencing_token)) return std::nullopt;
    return value_;
  }

  // Whether it was written. False: the token is stale, and nothing has changed.
  bool Write(int64_t fencing_token, int value) {
    const std::lock_guard lock(mutex_);
    if (!Admit(fencing_token)) return false;
    value_ = value;
    return true;
  }

 private:
  bool Admit(int64_t fencing_token) {
    if (fencing_token < highest_token_) return false;
    highest_token_ = fencing_token;
    return true;
  }

  std::mutex mutex_;
  int64_t highest_token_ = 0;
  int value_ = 0;
};
