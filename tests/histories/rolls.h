// SPDX-License-Identifier: Apache-2.0
//
// The life of a cluster of daemons of two builds under load: it grows from one to all, each daemon
// is replaced by the other build and back, one is on a slow machine for a while, and it shrinks to
// one. Nobody may notice.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "histories/holder.h"
#include "histories/journal.h"
#include "histories/scene.h"
#include "histories/users.h"
#include "support/random.h"

namespace lockkeeper::histories {

struct RollReport {
  int started = 0;  // Daemons, and how many were drained.
  int drained = 0;
  std::chrono::milliseconds longest_drain{};
  // What a daemon of the former build answers for a lock whose record only the newer one can read;
  // empty if it can read all of them.
  std::string refusal;
  UsersReport users;
  // Failures of calls of the holder, who has no client that would retry them.
  std::map<std::string, int> holder_failures;
  // What must not be. Empty: all went well.
  std::vector<std::string> problems;
};

// Thread-safety: not thread-safe; on the main thread.
class Rolls {
 public:
  // The scene's builds: first the newer one, then the former one. `is_known`: the former one has
  // all features of the newer one.
  Rolls(Scene& scene, Journal& journal, bool is_known, uint64_t seed);

  // Starts the first daemon. Clients of the scene may begin then.
  void Begin();
  // Errors: throws std::runtime_error if something does not come back.
  RollReport Run();

 private:
  static constexpr size_t kNewer = 0;
  static constexpr size_t kFormer = 1;

  void StartDaemon(size_t i, size_t build);
  void DrainDaemon(size_t i);
  // In an order that is drawn.
  void ReplaceAllBy(size_t build);
  void SlowDown(size_t i);
  void AwaitWork();
  // A lock whose record has the newest format, as far as we write it.
  void UseNewestFormat();
  void AskFormerForNewestFormat();
  void CheckStore(size_t i);
  std::string NewestRecord();
  void Note(const std::string& problem) { report_.problems.push_back(problem); }

  Scene& scene_;
  Journal& journal_;
  const bool is_known_;
  support::Random random_;
  std::unique_ptr<Users> users_;
  RollReport report_;
};

// How often which reason stands in these histories. `unexpected` gets those that no load without a
// loss of the store may be answered.
std::map<std::string, int> ReasonsIn(const std::vector<std::string>& histories,
                                     std::vector<std::string>& unexpected);

}  // namespace lockkeeper::histories
