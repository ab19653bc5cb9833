// SPDX-License-Identifier: Apache-2.0
#include "redis/client/connection.h"

#include <array>
#include <utility>

#include "core/errors.h"
#include "redis/error_reply.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using Kind = StoreProblem::Kind;

// hiredis moves the unparsed rest of its buffer after each reply, so a large one is no gain.
constexpr size_t kReadBytes = 16 * 1024;
// Reads per turn: a flood of replies must not keep the other connections waiting.
constexpr int kReadsPerTurn = 64;

// Error replies that tell that the server is no longer what the handshake found.
constexpr std::array<std::string_view, 4> kJudgeAnew = {"READONLY", "LOADING", "MASTERDOWN",
                                                        "NOAUTH"};

std::string InWords(core::Millis duration) { return std::to_string(duration.count()) + " ms"; }

}  // namespace

Connection::Connection(EventLoop& loop, ConnectionOptions options, Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      listener_(listener),
      handshake_(options_.url, options_.client_name, options_.scripts),
      self_(std::make_shared<Connection*>(this)) {
  setup_timer_ = loop_.After(options_.connect_timeout, [this] {
    BreakUnreachable(" does not finish the handshake within " + InWords(options_.connect_timeout));
  });
  connector_ = std::make_unique<Connector>(
      loop_, options_.url, ConnectorOptions{options_.connect_timeout, options_.request_timeout},
      [this](Connected connected) { OnConnected(std::move(connected)); });
}

Connection::~Connection() {
  if (state_ != State::kBroken) End({Kind::kUnreachable, options_.url.Address() + ": closed"});
}

void Connection::Send(std::string_view wire, ReplyDone done) {
  if (pending_.size() < options_.commands_max &&
      transport_->unwritten() < options_.unwritten_bytes_max) {
    return Enqueue(wire, std::move(done));
  }
  loop_.Post([done = std::move(done)]() mutable {
    std::move(done)(core::Error(ErrorReason::kStoreUnavailable,
                                "too many commands are waiting for the store; none was sent"));
  });
}

void Connection::OnConnected(Connected connected) {
  connector_.reset();
  if (const auto* problem = std::get_if<std::string>(&connected)) {
    return Break({Kind::kUnreachable, *problem});
  }
  state_ = State::kHandshaking;
  transport_ = std::make_unique<Transport>(std::get<Descriptor>(std::move(connected)));
  watcher_ = std::make_unique<SocketWatcher>(loop_, transport_->socket(),
                                             [this](SocketEvents events) { OnSocket(events); });
  watcher_->Watch(SocketInterest::kRead);
  SendHandshake();
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
  switch (transport_->Write()) {
    case Transport::Result::kDone:
      watcher_->Watch(SocketInterest::kRead);
      break;
    case Transport::Result::kBlocked:
      watcher_->Watch(SocketInterest::kReadAndWrite);
      break;
    case Transport::Result::kBroken: {
      const std::string problem = ": " + transport_->problem();
      ReadReplies();  // The server may have answered before it went.
      BreakUnreachable(problem);
      break;
    }
  }
}

void Connection::OnSocket(SocketEvents events) {
  if (events.readable) ReadReplies();
  if (events.writable && state_ != State::kBroken) FlushAtEndOfTurn();
}

void Connection::ReadReplies() {
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    size_t count = 0;
    const Transport::Result result = transport_->Read(buffer, count);
    if (result == Transport::Result::kBroken) return BreakUnreachable(": " + transport_->problem());
    reader_.Feed({buffer.data(), count});
    TakeReplies();
    if (state_ == State::kBroken || result == Transport::Result::kBlocked) return;
  }
}

void Connection::TakeReplies() {
  for (;;) {
    Reply reply;
    switch (reader_.Next(reply)) {
      case ReplyReader::Result::kNeedsMore:
        return;
      case ReplyReader::Result::kBroken:
        return BreakUnreachable(" sent what is no reply: " + reader_.problem());
      case ReplyReader::Result::kReply:
        OnReply(std::move(reply));
        if (state_ == State::kBroken) return;
    }
  }
}

// {"message", channel, text} is no reply but what was published.
bool Connection::TakeMessage(const Reply& reply) {
  constexpr size_t kMessageItems = 3;
  if (!options_.on_message || reply.type != Reply::Type::kArray ||
      reply.items.size() != kMessageItems || reply.items[0].text != "message") {
    return false;
  }
  options_.on_message(reply.items[2].text);
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
  if (transport_) ReadReplies();
  if (state_ == State::kBroken || pending_.empty()) return;
  if (loop_.Now() - pending_.front().since >= options_.request_timeout) {
    return BreakUnreachable(" does not answer within " + InWords(options_.request_timeout));
  }
  WatchForStall();
}

void Connection::Probe() {
  probe_timer_ = loop_.After(options_.probe_interval, [this] { Probe(); });
  if (!pending_.empty()) return;
  Command ping(1);
  Enqueue(ping.Word("PING").wire(), [](const absl::StatusOr<Reply>&) {});
}

void Connection::BreakUnreachable(const std::string& what) {
  Break({Kind::kUnreachable, options_.url.Address() + what});
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
