// SPDX-License-Identifier: Apache-2.0
//
// What happens to the processes of a scene, drawn at random: faults of which nothing is lost, and
// faults that make the store forget. Several at a time, one for each part of the scene.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "histories/journal.h"
#include "histories/scene.h"
#include "support/random.h"

namespace lockkeeper::histories {

struct FaultOptions {
  bool forgetting = false;        // Strike with losses of the store too.
  std::set<std::string> without;  // Names of faults that do not happen.
};

// Thread-safety: not thread-safe; on the main thread.
class Faults {
 public:
  using Clock = std::chrono::steady_clock;

  Faults(Scene& scene, Journal& journal, FaultOptions options, uint64_t seed);

  // Lets faults happen until `end`, and heals the last of them.
  void RunUntil(Clock::time_point end);

  int count() const { return count_; }
  // Of all faults.
  static std::vector<std::string> Names();

 private:
  struct Fault;
  static const std::vector<Fault>& All();

  void Strike();
  void Heal(Clock::time_point now);
  // Undoes the fault of `part` after a random time up to `longest`.
  void HealLater(const std::string& part, std::chrono::milliseconds longest,
                 std::function<void()> heal);
  std::chrono::milliseconds Upto(std::chrono::milliseconds longest);
  bool MayForget() const;
  bool MayStartDaemons() const;

  void EndDaemon(bool drain);
  void StopDaemon();
  void KillClient();
  void StopClient();
  void StopRedis();
  void RestartRedis();
  void BreakLink(bool to_redis);
  void Flush();
  void RestartEmpty();
  // For PutOldDataBack, some seconds later.
  void KeepData(bool alive);
  void PutOldDataBack(bool alive);
  void SetClock(int direction);
  void Note(const std::string& text, bool forgets = false);
  void Forgot(const std::string& text);

  Scene& scene_;
  Journal& journal_;
  const FaultOptions options_;
  support::Random random_;
  std::set<std::string> struck_;  // Parts of the scene that are not as they should be.
  std::multimap<Clock::time_point, std::function<void()>> heals_;
  std::map<std::string, Clock::time_point> healthy_since_;  // By part.
  Clock::time_point forgot_;
  Clock::time_point kept_;  // Older data was.
  bool has_kept_ = false;
  int count_ = 0;
};

}  // namespace lockkeeper::histories
