// SPDX-License-Identifier: Apache-2.0
//
// Asks a server about once a second whether it still has the settings that locks need: somebody may
// change them while it runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/executor.h"
#include "loop/event_loop.h"
#include "redis/client/reconnecting_connection.h"
#include "redis/client/server_facts.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows the loop.
class SettingsWatch {
 public:
  using Listener = std::function<void(const ServerFacts& facts)>;
  // See NodeObserver::OnLooked.
  using LookListener =
      std::function<void(core::Micros elapsed, std::optional<core::NodeTime> clock)>;

  // `key_prefix`: what all keys and channels begin with. `connection`: whom to ask now; null if
  // nobody is connected. `looked` hears of the first answer, `listener` what was answered, if all
  // was; a server that stops answering is noticed elsewhere.
  SettingsWatch(loop::EventLoop& loop, core::Millis interval, std::string key_prefix,
                std::function<ReconnectingConnection*()> connection, LookListener looked,
                Listener listener);
  ~SettingsWatch();
  SettingsWatch(const SettingsWatch&) = delete;
  SettingsWatch& operator=(const SettingsWatch&) = delete;

 private:
  struct Round;

  void Ask();
  void AskLater();

  loop::EventLoop& loop_;
  const core::Millis interval_;
  const std::string key_prefix_;
  const std::function<ReconnectingConnection*()> connection_;
  const LookListener looked_;
  const Listener listener_;
  std::unique_ptr<core::Timer> timer_;
  bool asking_ = false;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::redis
