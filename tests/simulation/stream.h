// SPDX-License-Identifier: Apache-2.0
//
// The streams of sessions between clients and daemons. In each direction messages arrive in order,
// exactly once, until the stream breaks. Then messages in flight are lost, and each end notices in
// its own time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "simulation/daemon.h"
#include "simulation/process.h"
#include "simulation/rpc.h"
#include "simulation/session_server.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// Which end of a broken stream does not notice for a while.
enum class Blind { kNobody, kClient, kDaemon };

class Stream final : public StreamToClient, public std::enable_shared_from_this<Stream> {
 public:
  // The client's end. Called on its process, and not after Cancel().
  struct Receiver {
    std::function<void(SessionMessage)> on_message;
    std::function<void()> on_broken;  // Once, and nothing after it. Also when the daemon ends it.
  };

  // `daemon` is null if no daemon runs there.
  Stream(const core::Clock& clock, Rpc& network, Process& client, Daemon* daemon, Receiver receiver,
         support::Random random);

  // Sends the daemon's session a message. The first one opens it.
  void Send(std::function<void(SessionServer&)> message);

  // The client cancels the stream. The daemon notices after the messages in flight.
  void Cancel();

  // The network breaks the stream; the blind end notices after `blind_for`.
  void Break(Blind blind, core::Micros blind_for);

  // The client does not read for `duration`, but can send.
  void StandStill(core::Micros duration);

  // The daemon's side.
  void Deliver(SessionMessage message, std::function<void()> written) override;
  void End() override;

  bool open() const { return client_listens_ || server_ != nullptr; }
  bool leads_to(const Daemon& daemon) const { return daemon_ == &daemon; }

 private:
  void ToServer(std::function<void()> arrive);
  void ToClient(std::function<void()> arrive);
  void Arrive(std::function<void()> arrive);
  void ClientNotices(core::Micros delay);
  void ServerNotices(core::Micros delay);

  const core::Clock& clock_;
  Rpc& network_;
  Process& client_;
  Daemon* const daemon_;
  Receiver receiver_;
  support::Random random_;
  std::shared_ptr<SessionServer> server_;
  bool client_listens_ = true;
  bool broken_ = false;       // Nothing is sent any more.
  bool server_hears_ = true;  // What is on its way to the daemon arrives,
  bool client_hears_ = true;  // or to the client.
  bool server_noticed_ = false;
  core::Instant last_to_server_;
  core::Instant last_to_client_;
  core::Instant still_until_;
};

using StreamPtr = std::shared_ptr<Stream>;

// All streams of a run.
class Streams {
 public:
  Streams(const core::Clock& clock, Rpc& network, support::Random random)
      : clock_(clock), network_(network), random_(random) {}

  // A stream from `client` to the daemon that now runs at `index`, if any.
  StreamPtr Open(Process& client, size_t index, Stream::Receiver receiver);

  // The daemon was killed.
  void BreakThoseOf(const Daemon& daemon);

  // A number that no call and no other operation has.
  uint64_t NextOperation() { return next_operation_++; }

 private:
  const core::Clock& clock_;
  Rpc& network_;
  support::Random random_;
  std::vector<StreamPtr> streams_;
  uint64_t next_operation_ = uint64_t{1} << 40;
};

}  // namespace lockkeeper::simulation
