// SPDX-License-Identifier: Apache-2.0
//
// Judges what happened in a run, as it happens. It knows nothing of the simulator: hand-made
// histories (judge_test.cc) show that it notices what it is meant to notice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/types.h"

namespace lockkeeper::simulation {

using core::Instant;

class Judge {
 public:
  // A client has a grant: called at `asked` and heard of at `now`.
  void Granted(const std::string& lock, int64_t token, Instant asked, Instant now);

  // A client believes that it holds the lock, from now until BeliefEnded.
  void BeliefBegan(const std::string& lock, int client, int64_t token, Instant now);
  void BeliefEnded(const std::string& lock, int client, int64_t token);

  // The store gave the lock a new token for this lease id, granted or offered, past or along the
  // line.
  void TurnGiven(const std::string& lock, const std::string& lease_id, int64_t token, Instant now);

  // A lease id stands in line from now on. It no longer does once it was given its turn and used
  // it, left, or its caller was answered or is gone.
  void Joined(const std::string& lock, const std::string& lease_id, int64_t number, int daemon);
  void Left(const std::string& lock, const std::string& lease_id);

  // A fault has struck a daemon, its links, or its clients' network: for a while afterwards its
  // waiters may be overtaken. Daemons never reported are in good order.
  void Disturbed(int daemon, Instant until);

  // A client has sent a call, and a daemon has answered it. A call of a daemon that was killed, or
  // whose request was lost, is never answered.
  void CallAsked(uint64_t call);
  void CallAnswered(uint64_t call);
  void CallGone(uint64_t call);

  // What remains when all clients have stopped and all times have passed.
  void Remains(int64_t keys_in_store, size_t outstanding);

  // Something that the world noticed by itself.
  void Violation(std::string what);

  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t grants() const { return grants_; }

 private:
  struct Waiter {
    int64_t number = 0;
    int daemon = 0;
  };
  struct Lock {
    int64_t granted_token = 0;                          // Highest that a client has heard of,
    Instant granted_at;                                 // and when.
    std::vector<std::pair<Instant, int64_t>> returned;  // (heard of, token), rising in both.
    int64_t given_token = 0;                            // Highest that the store has given.
    int believer = -1;
    int64_t belief_token = 0;
    std::map<std::string, Waiter> line;
    std::map<std::string, int64_t> numbers;  // Of all that ever joined.
  };

  std::map<std::string, Lock> locks_;
  std::map<int, Instant> disturbed_until_;
  std::map<uint64_t, int> calls_;
  std::vector<std::string> violations_;
  uint64_t grants_ = 0;
};

}  // namespace lockkeeper::simulation
