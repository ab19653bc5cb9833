// SPDX-License-Identifier: Apache-2.0
//
// WatchCalls whose other end is the test.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "observe/watch_calls.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class ScriptedWatch final : public WatchStream {
 public:
  ScriptedWatch(size_t at, std::string lock, WatchListener listener)
      : daemon(at), name(std::move(lock)), listener_(std::move(listener)) {}

  void Read() override { ++reads; }
  void Cancel() override { ++cancels; }

  // Answers the Read.
  void Say(const std::vector<LockEvent>& events) {
    --reads;
    listener_.on_events(events);
  }
  void Say(LockEvent::Kind kind, Leader lease = {}) { Say({{kind, std::move(lease)}}); }

  void End(const absl::Status& why) { std::exchange(listener_, {}).on_end(why); }
  bool has_ended() const { return listener_.on_end == nullptr; }

  const size_t daemon;
  const std::string name;
  int reads = 0;  // That wait for events.
  int cancels = 0;

 private:
  WatchListener listener_;
};

// Thread-safety: thread-compatible.
class ScriptedLook final : public LookCall {
 public:
  ScriptedLook(size_t at, std::string lock, Done done)
      : daemon(at), name(std::move(lock)), done_(std::move(done)) {}

  void Begin() override { ++begins; }
  void Cancel() override { ++cancels; }

  void Answer(absl::StatusOr<LockLook> look) {
    std::move(std::exchange(done_, nullptr))(std::move(look));
  }
  bool has_ended() const { return done_ == nullptr; }

  const size_t daemon;
  const std::string name;
  int begins = 0;
  int cancels = 0;

 private:
  Done done_;
};

// Thread-safety: thread-compatible.
class ScriptedWatchCalls final : public WatchCalls {
 public:
  explicit ScriptedWatchCalls(size_t daemons) : daemons_(daemons) {}

  size_t size() const override { return daemons_; }
  size_t current() const override { return current_; }
  void Failed(size_t daemon, const absl::Status& why) override {
    if (current_ == daemon) current_ = (daemon + 1) % daemons_;
    failed.emplace_back(daemon, why);
  }

  std::shared_ptr<WatchStream> NewWatch(size_t daemon, const std::string& name,
                                        WatchListener listener) override {
    watches.push_back(std::make_shared<ScriptedWatch>(daemon, name, std::move(listener)));
    return watches.back();
  }
  std::shared_ptr<LookCall> NewLook(size_t daemon, const std::string& name,
                                    LookCall::Done done) override {
    looks.push_back(std::make_shared<ScriptedLook>(daemon, name, std::move(done)));
    return looks.back();
  }

  // Ends what was cancelled, as gRPC does.
  void EndCancelled() {
    for (const auto& watch : watches) {
      if (watch->cancels > 0 && !watch->has_ended()) watch->End(absl::CancelledError(""));
    }
    for (const auto& look : looks) {
      if (look->cancels > 0 && !look->has_ended()) look->Answer(absl::CancelledError(""));
    }
  }

  std::vector<std::shared_ptr<ScriptedWatch>> watches;  // All, oldest first.
  std::vector<std::shared_ptr<ScriptedLook>> looks;     // The same.
  std::vector<std::pair<size_t, absl::Status>> failed;

 private:
  const size_t daemons_;
  size_t current_ = 0;
};

}  // namespace lockkeeper::client
