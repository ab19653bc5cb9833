// SPDX-License-Identifier: Apache-2.0
#include "transport/daemons.h"

#include <utility>

#include "transport/grpc_session_stream.h"

namespace lockkeeper::client {

Daemons::Daemons(std::unique_ptr<Channels> channels, const SessionPorts& ports,
                 const std::string& owner, OnUnserved on_unserved,
                 const SessionTransport::LeaseEnded& on_lease_ended)
    : channels_(std::move(channels)), on_unserved_(std::move(on_unserved)) {
  for (size_t i = 0; i < channels_->size(); ++i) {
    const Channels::Endpoint& daemon = (*channels_)[i];
    auto way = std::make_unique<Way>();
    way->unary = std::make_unique<UnaryTransport>(daemon, ports.clock);
    way->way = way->unary.get();
    if (daemon.sessions != nullptr) {
      way->sessions = std::make_unique<SessionTransport>(
          ports, *way->unary,
          [&daemon](std::shared_ptr<SessionEvents> events) {
            return NewSessionStream(daemon, std::move(events));
          },
          SessionTransport::Settings{
              .owner = owner,
              .on_draining = [this, i] { channels_->Failed(i); },
              .on_lease_ended = on_lease_ended,
              .token_version = [token = daemon.token] { return token ? token->Version() : 0; }});
      way->way = way->sessions.get();
    }
    ways_.push_back(std::move(way));
  }
}

void Daemons::Forget(const std::string& name, const std::string& lease_id) {
  for (const auto& way : ways_) {
    if (way->sessions != nullptr) way->sessions->Forget(name, lease_id);
  }
}

void Daemons::Close() {
  for (const auto& way : ways_) {
    if (way->sessions != nullptr) way->sessions->Close();
    way->unary->Close();
  }
}

}  // namespace lockkeeper::client
