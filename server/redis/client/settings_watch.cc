// SPDX-License-Identifier: Apache-2.0
#include "redis/client/settings_watch.h"

#include <chrono>
#include <utility>

#include "redis/client/handshake.h"
#include "redis/client/rights.h"
#include "redis/node/command.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {

// One question, and what has been answered so far.
struct SettingsWatch::Round {
  ServerFacts facts;
  core::Instant asked;
  bool looked = false;  // The first answer has come.
  size_t unanswered = 0;
  bool failed = false;
};

SettingsWatch::SettingsWatch(loop::EventLoop& loop, core::Millis interval, std::string key_prefix,
                             std::function<ReconnectingConnection*()> connection,
                             LookListener looked, Listener listener)
    : loop_(loop),
      interval_(interval),
      key_prefix_(std::move(key_prefix)),
      connection_(std::move(connection)),
      looked_(std::move(looked)),
      listener_(std::move(listener)) {
  AskLater();
}

SettingsWatch::~SettingsWatch() { *alive_ = false; }

void SettingsWatch::AskLater() {
  timer_ = loop_.After(interval_, [this] {
    AskLater();
    Ask();
  });
}

void SettingsWatch::Ask() {
  ReconnectingConnection* const connection = connection_();
  if (connection == nullptr || asking_) return;
  asking_ = true;
  auto round = std::make_shared<Round>();
  round->asked = loop_.Now();
  const auto send = [&](const Command& command, auto take) {
    ++round->unanswered;
    connection->Send(
        command.wire(), [this, alive = alive_, round, take](absl::StatusOr<Reply> reply) {
          if (!reply.ok()) {
            round->failed = true;
          } else {
            take(*round, *std::move(reply));
            if (*alive && !std::exchange(round->looked, true)) {
              looked_(std::chrono::duration_cast<core::Micros>(loop_.Now() - round->asked),
                      round->facts.Clock());
            }
          }
          if (--round->unanswered > 0 || !*alive) return;
          asking_ = false;
          if (!round->failed) listener_(round->facts);
        });
  };
  static_assert(kInfoSections[0] == "server");  // The first answer has the clock.
  for (const std::string_view section : kInfoSections) {
    send(Command::Of({"INFO", section}), [](Round& to, const Reply& reply) {
      if (reply.type == Reply::Type::kError) to.failed = true;
      AddInfo(reply.text, to.facts.info);
    });
  }
  send(ConfigQuestion(), [](Round& to, Reply reply) {
    if (reply.type != Reply::Type::kError) to.facts.config = std::move(reply);
  });
  send(LoadCommand(kRightsScript), [](Round&, const Reply&) {});  // Somebody may have flushed it.
  send(RightsQuestion(key_prefix_), [prefix = key_prefix_](Round& to, const Reply& reply) {
    to.facts.missing_rights = MissingRights(reply, prefix);
  });
}

}  // namespace lockkeeper::redis
