// SPDX-License-Identifier: Apache-2.0
#include "redis/known_lines.h"

#include <utility>

namespace lockkeeper::redis {

KnownLine* KnownLines::Find(std::string_view name, core::Instant now) {
  ForgetOld(now);
  if (lines_.empty() && before_.empty()) return nullptr;  // As in most calls.
  if (const auto found = lines_.find(name); found != lines_.end()) return &found->second;
  const auto found = before_.find(name);
  return found == before_.end() ? nullptr : &found->second;
}

KnownLine& KnownLines::Saw(std::string_view name, core::Instant now) {
  ForgetOld(now);
  if (const auto known = lines_.find(name); known != lines_.end()) return known->second;
  if (const auto before = before_.find(name); before != before_.end()) {
    return lines_.insert(before_.extract(before)).position->second;
  }
  return lines_[std::string(name)];
}

void KnownLines::ForgetOld(core::Instant now) {
  if (now < half_end_) return;
  before_.clear();
  if (now < half_end_ + kKept) std::swap(before_, lines_);
  lines_.clear();
  half_end_ = now + kKept;
}

}  // namespace lockkeeper::redis
