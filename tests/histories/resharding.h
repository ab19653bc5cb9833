// SPDX-License-Identifier: Apache-2.0
//
// All slots of a scene's Cluster move to one primary and to another one, under load. Nobody may
// lose a lock, and calls may take a little longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "histories/holder.h"
#include "histories/load.h"
#include "histories/scene.h"

namespace lockkeeper::histories {

// p99 of the calls meanwhile is to be below.
inline constexpr std::chrono::milliseconds kReshardingP99Max{1'000};

struct ReshardingReport {
  size_t slots = 0;  // That moved, each time they did.
  std::chrono::milliseconds elapsed{};
  LoadReport before;
  LoadReport during;
  // What must not be. Empty: all went well.
  std::vector<std::string> problems;
};

// Thread-safety: not thread-safe; on the main thread.
class Resharding {
 public:
  explicit Resharding(Scene& scene);

  // Moves all slots so many times there and back. Errors: throws std::runtime_error if a server
  // refuses.
  ReshardingReport Run(int times);

 private:
  void AwaitTheyAreOld();
  size_t MoveAllTo(size_t primary);
  void CheckEpochs(ReshardingReport& report);

  Scene& scene_;
  std::vector<std::unique_ptr<Holder>> holders_;  // One for each part of the store.
  Load load_;
};

}  // namespace lockkeeper::histories
