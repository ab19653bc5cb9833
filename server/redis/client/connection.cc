// SPDX-License-Identifier: Apache-2.0
#include "redis/client/connection.h"

#include <array>
#include <utility>

#include "core/errors.h"
#include "redis/node/error_reply.h"
#include "text/duration.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using Kind = StoreProblem::Kind;

// hiredis moves the unparsed rest of its buffer after each reply, so a large one is no gain.
constexpr size_t kReadBytes = 16 * 1024;
// Reads per turn: a flood of replies must not keep the other connections waiting.
constexpr int kReadsPerTurn = 64;

// Error replies that tell that the server is no longer what the handshake found.
constexpr std::array<std::string_view, 5> kJudgeAnew = {"READONLY", "LOADING", "MASTERDOWN",
                                                        "NOAUTH", "UNBLOCKED"};

// The first byte of what a TLS server answers to plain text: an alert, or a handshake.
bool IsTlsRecord(char byte) { return byte == 0x15 || byte == 0x16; }

}  // namespace

Connection::Connection(loop::EventLoop& loop, ConnectionOptions options, Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      listener_(listener),
      handshake_(options_.url, options_.client_name, options_.key_prefix, options_.scripts,
                 options_.expected),
      self_(std::make_shared<Connection*>(this)) {
  setup_timer_ = loop_.After(options_.connect_timeout, [this] { OnSetupTimer(); });
  connector_ = std::make_unique<Connector>(
      loop_, options_.url, ConnectorOptions{options_.connect_timeout, options_.request_timeout},
      [this](Connected connected) { OnConnected(std::move(connected)); });
}

Connection::~Connection() {
  if (state_ != State::kBroken) End({Kind::kUnreachable, options_.url.Address() + ": closed"});
}

bool Connection::has_room() const {
  return pending_.size() < options_.commands_max &&
         transport_->unwritten() < options_.unwritten_bytes_max;
}

void Connection::Send(std::string_view wire, ReplyDone done) { Enqueue(wire, std::move(done)); }

void Connection::OnConnected(Connected connected) {
  connector_.reset();
  if (const auto* problem = std::get_if<std::string>(&connected)) {
    return Break({Kind::kUnreachable, *problem});
  }
  transport_ = std::make_unique<Transport>(std::get<os::Descriptor>(std::move(connected)),
                                           options_.tls, options_.url.host);
  watcher_ = std::make_unique<loop::SocketWatcher>(loop_, transport_->socket(),
                                                   [this](loop::SocketEvents) { OnSocket(); });
  Establish();
}

// TLS first, then our own words.
void Connection::Establish() {
  const Transport::Result result = transport_->Establish();
  if (result == Transport::Result::kBroken) return BreakFor(transport_->problem());
  WatchSocket();
  if (result == Transport::Result::kBlocked) return;
  state_ = State::kHandshaking;
  SendHandshake();
}

void Connection::OnSetupTimer() {
  const std::string limit = " within " + text::InWords(options_.connect_timeout);
  if (state_ == State::kHandshaking || !options_.tls || !transport_) {
    return BreakUnreachable(" does not finish the handshake" + limit);
  }
  BreakUnreachable(" does not finish the TLS handshake" + limit +
                   ": does it speak TLS there (redis:// is without)?");
}

void Connection::SendHandshake() {
  const std::vector<Command> pipeline = handshake_.NextPipeline();
  if (pipeline.empty()) return BecomeReady();
  for (const Command& command : pipeline) {
    Enqueue(command.wire(),
            [this](absl::StatusOr<Reply> reply) { OnHandshakeReply(std::move(reply)); });
  }
}

void Connection::OnHandshakeReply(absl::StatusOr<Reply> reply) {
  if (!reply.ok()) return;  // The connection is broken.
  if (std::optional<StoreProblem> problem = handshake_.OnReply(*std::move(reply))) {
    problem->text = options_.url.Address() + " " + problem->text;
    return Break(*problem);
  }
  if (pending_.empty()) SendHandshake();
}

void Connection::BecomeReady() {
  state_ = State::kReady;
  setup_timer_.reset();
  Probe();
  listener_.OnReady(handshake_.facts());
}

void Connection::Enqueue(std::string_view wire, ReplyDone done) {
  pending_.push_back({std::move(done), loop_.Now(), transport_->Append(wire)});
  WatchForStall();
  FlushAtEndOfTurn();
}

void Connection::FlushAtEndOfTurn() {
  if (std::exchange(flush_scheduled_, true)) return;
  loop_.AtEndOfTurn([self = std::weak_ptr(self_)] {
    if (const auto connection = self.lock()) (*connection)->Flush();
  });
}

void Connection::Flush() {
  flush_scheduled_ = false;
  if (state_ == State::kBroken) return;
  if (transport_->Write() != Transport::Result::kBroken) return WatchSocket();
  const StoreProblem problem = ProblemOfTransport();
  ReadReplies();  // The server may have answered before it went, or said why it goes.
  BreakFor(problem);
}

// Whatever the event is: under TLS a read may wait for the socket to be writable, and the other way
// round.
void Connection::OnSocket() {
  if (state_ == State::kConnecting) return Establish();
  ReadReplies();
  if (state_ == State::kBroken) return;
  WatchSocket();
  if (transport_->unwritten() > 0) FlushAtEndOfTurn();
}

void Connection::WatchSocket() {
  watcher_->Watch(transport_->awaits_writable() ? loop::SocketInterest::kReadAndWrite
                                                : loop::SocketInterest::kRead);
}

void Connection::ReadReplies() {
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    size_t count = 0;
    const Transport::Result result = transport_->Read(buffer, count);
    if (result == Transport::Result::kBroken) return BreakFor(ProblemOfTransport());
    if (count > 0 && !std::exchange(heard_, true) && IsTlsRecord(buffer[0])) {
      return BreakUnreachable(" speaks TLS: use rediss:// in store.redis");
    }
    reader_.Feed({buffer.data(), count});
    TakeReplies();
    if (state_ == State::kBroken || result == Transport::Result::kBlocked) return;
  }
  ReadOnInNextTurn();
}

// The socket need not show what TLS has read ahead.
void Connection::ReadOnInNextTurn() {
  if (!options_.tls) return;
  loop_.Post([self = std::weak_ptr(self_)] {
    const auto connection = self.lock();
    if (connection && (*connection)->state_ != State::kBroken) (*connection)->OnSocket();
  });
}

void Connection::TakeReplies() {
  for (;;) {
    Reply reply;
    switch (reader_.Next(reply)) {
      case ReplyReader::Result::kNeedsMore:
        return;
      case ReplyReader::Result::kBroken:
        return BreakUnreachable(" sent a malformed reply: " + reader_.problem());
      case ReplyReader::Result::kReply:
        OnReply(std::move(reply));
        if (state_ == State::kBroken) return;
    }
  }
}

// {"message", channel, text} is a published message, not a reply.
bool Connection::TakeMessage(const Reply& reply) {
  constexpr size_t kMessageItems = 3;
  if (!options_.on_message || reply.type != Reply::Type::kArray ||
      reply.items.size() != kMessageItems || reply.items[0].text != "message") {
    return false;
  }
  options_.on_message(reply.items[1].text, reply.items[2].text);
  return true;
}

void Connection::OnReply(Reply reply) {
  if (TakeMessage(reply)) return;
  if (pending_.empty()) {
    const bool error = reply.type == Reply::Type::kError;
    return BreakUnreachable(error ? " says: " + reply.text
                                  : std::string(" sent a reply to no command"));
  }
  std::string changed;
  if (state_ == State::kReady && reply.type == Reply::Type::kError) {
    for (const std::string_view word : kJudgeAnew) {
      if (ErrorWord(reply.text) == word) changed = reply.text;
    }
  }
  ReplyDone done = std::move(pending_.front().done);
  pending_.pop_front();
  std::move(done)(std::move(reply));
  if (!changed.empty()) BreakUnreachable(" says: " + changed);
}

// One timer for all commands: replies come in order, so only the oldest one matters.
void Connection::WatchForStall() {
  if (stall_timer_ || pending_.empty()) return;
  const auto waited = loop_.Now() - pending_.front().since;
  stall_timer_ = loop_.After(std::chrono::ceil<core::Micros>(options_.request_timeout - waited),
                             [this] { OnStallTimer(); });
}

void Connection::OnStallTimer() {
  stall_timer_.reset();
  // If this process stood still, the replies may be waiting for us.
  if (transport_) OnSocket();
  if (state_ == State::kBroken || pending_.empty()) return;
  if (loop_.Now() - pending_.front().since >= options_.request_timeout) {
    return BreakUnreachable(" does not answer within " + text::InWords(options_.request_timeout));
  }
  WatchForStall();
}

void Connection::Probe() {
  probe_timer_ = loop_.After(options_.probe_interval, [this] { Probe(); });
  if (!pending_.empty()) return;
  Enqueue(Command::Of({"PING"}).wire(), [](const absl::StatusOr<Reply>&) {});
}

void Connection::BreakUnreachable(const std::string& what) {
  Break({Kind::kUnreachable, options_.url.Address() + what});
}

StoreProblem Connection::ProblemOfTransport() const {
  StoreProblem problem = transport_->problem();
  if (!options_.tls && !heard_ && options_.url.socket_path.empty()) {
    problem.text += " before its first answer: does it expect TLS (rediss://)?";
  }
  return problem;
}

// `problem` stands right behind the server's address.
void Connection::BreakFor(const StoreProblem& problem) {
  Break({problem.kind, options_.url.Address() + problem.text});
}

void Connection::Break(const StoreProblem& problem) {
  if (state_ == State::kBroken) return;
  state_ = State::kBroken;
  listener_.OnBroken(problem);
  End(problem);
}

void Connection::End(const StoreProblem& problem) {
  state_ = State::kBroken;
  connector_.reset();
  watcher_.reset();
  setup_timer_.reset();
  stall_timer_.reset();
  probe_timer_.reset();
  const uint64_t written = transport_ ? transport_->written() : 0;
  // Transport and reader stay: this may be inside a reply that they are reading.
  if (transport_) transport_->Shutdown();
  for (Pending& command : std::exchange(pending_, {})) {
    std::move(command.done)(StatusOfUnanswered(command.end <= written, problem));
  }
}

absl::Status Connection::StatusOfUnanswered(bool sent, const StoreProblem& problem) const {
  return sent ? core::Error(ErrorReason::kOutcomeUnknown,
                            "the store did not answer: " + problem.text)
              : core::Error(ErrorReason::kStoreUnavailable, "the store is away: " + problem.text);
}

}  // namespace lockkeeper::redis
