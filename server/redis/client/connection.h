// SPDX-License-Identifier: Apache-2.0
//
// One connection to a Redis server, from its first packet to its end. It does not reconnect.
//
// | state        | what happens                             | ends with             |
// |--------------|------------------------------------------|-----------------------|
// | kConnecting  | name resolved, socket connecting, TLS    | kHandshaking, kBroken |
// | kHandshaking | the server is judged, scripts are loaded | kReady, kBroken       |
// | kReady       | commands are taken                       | kBroken               |
// | kBroken      | nothing, for ever                        |                       |
//
// It breaks by: an error of the socket, a malformed reply, a reply without a command, no readiness
// within connect_timeout, a command without a reply for request_timeout, a server that says it is
// no longer what the handshake found, Break().
//
// hiredis keeps the output buffer and parses the replies; the queue of pending commands is ours.
// Its asynchronous layer (redisAsyncContext) is left out on purpose: its timer starts anew with
// each read, so a stuck command on a busy connection is never noticed, it knows no "not sent", it
// aborts on replies to nothing, and it may be freed while we are inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/executor.h"
#include "loop/event_loop.h"
#include "loop/socket_watcher.h"
#include "redis/client/connector.h"
#include "redis/client/handshake.h"
#include "redis/client/redis_url.h"
#include "redis/client/reply_reader.h"
#include "redis/client/server_facts.h"
#include "redis/client/store_problem.h"
#include "redis/client/tls_context.h"
#include "redis/client/transport.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

struct ConnectionOptions {
  RedisUrl url;
  Expected expected = Expected::kServer;
  std::shared_ptr<const TlsContext> tls;  // Of rediss://; otherwise null.
  std::string client_name;                // For CLIENT LIST.
  std::string key_prefix;  // Of all keys and channels; the user's rights to them are asked.
  std::span<const ScriptSource> scripts;  // Loaded by the handshake.
  core::Millis connect_timeout{2'000};    // To resolve, connect and shake hands.
  core::Millis request_timeout{1'000};    // Longest wait for a reply.
  core::Millis probe_interval{1'000};     // An idle connection is asked whether it lives.
  // Hears of published messages, once SUBSCRIBE was sent. Without it a message breaks the
  // connection.
  std::function<void(std::string_view channel, std::string_view message)> on_message;
  size_t commands_max = 65'536;                   // In flight; beyond it there is no room.
  size_t unwritten_bytes_max = size_t{64} << 20;  // Waiting for the socket; likewise.
};

// Thread-safety: loop-thread only.
// Lifetime: borrows loop and listener; not to be destroyed inside one of its callbacks.
class Connection {
 public:
  enum class State { kConnecting, kHandshaking, kReady, kBroken };

  // Called once each at most, never inside the constructor or Send().
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReady(const ServerFacts& facts) = 0;
    // Before the pending commands are answered.
    virtual void OnBroken(const StoreProblem& problem) = 0;
  };

  Connection(loop::EventLoop& loop, ConnectionOptions options, Listener& listener);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  State state() const { return state_; }

  // Whether one more command may be in flight. Requires: kReady.
  bool has_room() const;

  // Sends a command at the end of the turn, together with the others of the turn.
  // Completion: `done` runs exactly once, never inside this call: with the reply; with
  // OUTCOME_UNKNOWN if the connection breaks after the whole command was handed to the kernel; with
  // STORE_UNAVAILABLE if it breaks before.
  // Requires: kReady, and has_room().
  void Send(std::string_view wire, ReplyDone done);

  // Ends the connection; what is pending is answered inside this call.
  void Break(const StoreProblem& problem);

 private:
  struct Pending {
    ReplyDone done;
    core::Instant since;
    uint64_t end;  // The command's place in the stream of bytes.
  };

  void OnConnected(Connected connected);
  void Establish();
  void OnSetupTimer();
  void SendHandshake();
  void OnHandshakeReply(absl::StatusOr<Reply> reply);
  void BecomeReady();
  void Enqueue(std::string_view wire, ReplyDone done);
  void FlushAtEndOfTurn();
  void Flush();
  void OnSocket();
  void WatchSocket();
  void ReadReplies();
  void ReadOnInNextTurn();
  void TakeReplies();
  bool TakeMessage(const Reply& reply);
  StoreProblem ProblemOfTransport() const;
  void BreakFor(const StoreProblem& problem);
  void OnReply(Reply reply);
  void WatchForStall();
  void OnStallTimer();
  void Probe();
  void BreakUnreachable(const std::string& what);
  void End(const StoreProblem& problem);
  absl::Status StatusOfUnanswered(bool sent, const StoreProblem& problem) const;

  loop::EventLoop& loop_;
  const ConnectionOptions options_;
  Listener& listener_;
  State state_ = State::kConnecting;
  Handshake handshake_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<loop::SocketWatcher> watcher_;
  ReplyReader reader_;
  std::deque<Pending> pending_;
  bool flush_scheduled_ = false;
  std::unique_ptr<core::Timer> setup_timer_;
  std::unique_ptr<core::Timer> stall_timer_;
  std::unique_ptr<core::Timer> probe_timer_;
  bool heard_ = false;  // The server has answered something.
  // Posted tasks cannot be cancelled: they hold it weakly, and see whether this object is gone.
  std::shared_ptr<Connection*> self_;
};

}  // namespace lockkeeper::redis
