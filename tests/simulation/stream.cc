// SPDX-License-Identifier: Apache-2.0
#include "simulation/stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockkeeper::simulation {

using core::Instant;
using core::Micros;

Stream::Stream(const core::Clock& clock, Rpc& network, Process& client, Daemon* daemon,
               Receiver receiver, support::Random random)
    : clock_(clock),
      network_(network),
      client_(client),
      daemon_(daemon),
      receiver_(std::move(receiver)),
      random_(random) {}

void Stream::ToServer(std::function<void()> arrive) {
  last_to_server_ = std::max(last_to_server_, clock_.Now() + network_.StreamDelay());
  const auto delay = std::chrono::ceil<Micros>(last_to_server_ - clock_.Now());
  network_.AfterWorldTime(delay, [self = shared_from_this(), arrive = std::move(arrive)] {
    if (!self->server_hears_) return;
    self->daemon_->process().Post([self, arrive] {
      if (!self->server_noticed_) arrive();
    });
  });
}

void Stream::ToClient(std::function<void()> arrive) {
  last_to_client_ = std::max(last_to_client_, clock_.Now() + network_.StreamDelay());
  const auto delay = std::chrono::ceil<Micros>(last_to_client_ - clock_.Now());
  network_.AfterWorldTime(delay, [self = shared_from_this(), arrive = std::move(arrive)]() mutable {
    self->Arrive(std::move(arrive));
  });
}

void Stream::Arrive(std::function<void()> arrive) {
  if (!client_hears_ || !client_listens_) return;
  if (clock_.Now() < still_until_) {
    const auto delay = std::chrono::ceil<Micros>(still_until_ - clock_.Now());
    return network_.AfterWorldTime(
        delay, [self = shared_from_this(), arrive = std::move(arrive)]() mutable {
          self->Arrive(std::move(arrive));
        });
  }
  client_.Post([self = shared_from_this(), arrive = std::move(arrive)] {
    if (self->client_listens_) arrive();
  });
}

void Stream::Send(std::function<void(SessionServer&)> message) {
  if (broken_) return;
  if (daemon_ == nullptr) return Break(Blind::kNobody, Micros(0));
  ToServer([self = shared_from_this(), message = std::move(message)] {
    if (!self->server_) {
      if (self->daemon_->is_draining()) return self->End();
      self->server_ = self->daemon_->OpenSession(*self);
    }
    message(*self->server_);
  });
}

void Stream::Cancel() {
  client_listens_ = false;
  receiver_ = {};
  if (std::exchange(broken_, true) || daemon_ == nullptr) return;
  ToServer([self = shared_from_this()] { self->ServerNotices(Micros(0)); });
}

void Stream::Break(Blind blind, Micros blind_for) {
  const bool known = std::exchange(broken_, true);
  client_hears_ = false;
  // A daemon that does not notice may still get what was sent before.
  if (blind != Blind::kDaemon || random_.OneIn(2)) server_hears_ = false;
  if (known && blind != Blind::kNobody) blind_for = Micros(0);
  ClientNotices(blind == Blind::kClient ? blind_for : network_.StreamDelay());
  ServerNotices(blind == Blind::kDaemon ? blind_for : network_.StreamDelay());
}

void Stream::ClientNotices(Micros delay) {
  network_.AfterWorldTime(delay, [self = shared_from_this()] {
    self->client_.Post([self] {
      if (!std::exchange(self->client_listens_, false)) return;
      const Receiver receiver = std::exchange(self->receiver_, {});
      receiver.on_broken();
    });
  });
}

void Stream::ServerNotices(Micros delay) {
  if (daemon_ == nullptr) return;
  network_.AfterWorldTime(delay, [self = shared_from_this()] {
    self->daemon_->process().Post([self] {
      if (std::exchange(self->server_noticed_, true)) return;
      if (const auto server = std::exchange(self->server_, nullptr)) server->Break();
    });
  });
}

void Stream::StandStill(Micros duration) {
  still_until_ = std::max(still_until_, clock_.Now() + duration);
}

void Stream::Deliver(SessionMessage message, std::function<void()> written) {
  ToClient([self = shared_from_this(), message = std::move(message)]() mutable {
    const auto on_message = self->receiver_.on_message;  // It may cancel the stream.
    on_message(std::move(message));
  });
  // There is room for the next one when the client has read this one; until then it is in buffers.
  const auto delay = std::chrono::ceil<Micros>(std::max(still_until_, clock_.Now()) - clock_.Now());
  network_.AfterWorldTime(delay, [self = shared_from_this(), written = std::move(written)] {
    self->daemon_->process().Post([self, written] {
      if (!self->server_noticed_) written();
    });
  });
}

void Stream::End() {
  server_noticed_ = true;
  server_ = nullptr;
  if (broken_) return;
  broken_ = true;
  ToClient([self = shared_from_this()] { self->ClientNotices(Micros(0)); });
}

StreamPtr Streams::Open(Process& client, size_t index, Stream::Receiver receiver) {
  std::erase_if(streams_, [](const StreamPtr& stream) { return !stream->open(); });
  streams_.push_back(std::make_shared<Stream>(clock_, network_, client, network_.DaemonAt(index),
                                              std::move(receiver), random_.Fork()));
  return streams_.back();
}

void Streams::BreakThoseOf(const Daemon& daemon) {
  for (const StreamPtr& stream : streams_) {
    if (stream->leads_to(daemon)) stream->Break(Blind::kNobody, Micros(0));
  }
}

}  // namespace lockkeeper::simulation
