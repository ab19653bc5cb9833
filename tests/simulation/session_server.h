// SPDX-License-Identifier: Apache-2.0
//
// A session at a simulated daemon: the real core::Session, and a stand-in for rpc/session_reactor,
// which connects it to the stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/session.h"
#include "simulation/judge.h"
#include "simulation/process.h"

namespace lockkeeper::simulation {

// What the session will send when the stream has room.
struct SessionMessage {
  struct Result {
    uint64_t id = 0;
    absl::StatusOr<core::SessionAnswer> answer;
  };
  struct Beat {
    uint64_t number = 0;
    core::HeartbeatAnswer answer;
  };

  std::vector<Result> results;  // Of operations, offers and adoptions.
  std::vector<Beat> beats;      // The oldest first.
  bool draining = false;
  bool closed = false;

  bool empty() const { return results.empty() && beats.empty() && !draining && !closed; }
};

// The daemon's end of a stream.
class StreamToClient {
 public:
  virtual ~StreamToClient() = default;

  // `written` runs when there is room for the next message.
  virtual void Deliver(SessionMessage message, std::function<void()> written) = 0;

  // The daemon ends the stream, after the messages that it has delivered.
  virtual void End() = 0;
};

class SessionServer final : public core::SessionListener,
                            public std::enable_shared_from_this<SessionServer> {
 public:
  struct World {
    const core::Clock& clock;
    Judge& judge;
    Process& process;
    core::LockManager& locks;
    std::function<core::Keeper()> next_keeper;
    std::function<core::Keeper()> next_holder;
  };

  SessionServer(World world, StreamToClient& stream);

  // The client's messages, on the daemon's process. `id` is the number of the operation at the
  // judge.
  void Run(core::SessionOperation operation);
  void Cancel(uint64_t id);
  void Adopt(uint64_t id, core::ExtendRequest request);
  void Heartbeat(uint64_t number);
  void Close(bool release_leases);
  void HalfClose();

  void StartDraining();

  // The stream is gone.
  void Break();

  // The daemon is destroyed: nothing in flight is reported any more.
  void Forget() { over_ = true; }

  // Whether anything of the session is left in the domain.
  bool remains() const { return !watched_.expired(); }

  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;

 private:
  enum class Closing { kNo, kWaiting, kReleasing, kDone };

  void Answer(uint64_t id, absl::StatusOr<core::SessionAnswer> answer);
  void TellJudge(uint64_t id, const absl::StatusOr<core::SessionAnswer>& answer);
  void StartBeat(uint64_t number);
  void OnBeat(uint64_t number, core::HeartbeatAnswer answer);
  void AdvanceSoon();
  void Advance();
  bool Idle() const { return unanswered_ == 0 && !beating_; }
  bool SpeaksTooLate();

  const World world_;
  StreamToClient* stream_;
  std::shared_ptr<core::Session> session_;  // Null once the stream is gone.
  std::weak_ptr<core::Session> watched_;
  std::unordered_map<uint64_t, Try> acquires_;  // Without an answer, by operation.
  int unanswered_ = 0;
  SessionMessage outbox_;
  bool writing_ = false;
  bool advancing_ = false;
  bool beating_ = false;
  std::optional<uint64_t> next_beat_;
  Closing closing_ = Closing::kNo;
  bool release_leases_ = false;
  bool half_closed_ = false;
  bool draining_ = false;
  bool over_ = false;
};

}  // namespace lockkeeper::simulation
