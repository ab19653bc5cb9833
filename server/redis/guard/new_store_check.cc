// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/new_store_check.h"

#include <algorithm>
#include <utility>

#include "redis/node/command.h"
#include "redis/node/daemon_channels.h"

namespace lockkeeper::redis {
namespace {

using Kind = StoreFinding::Kind;

constexpr int64_t kScanCount = 1'000;

// What happened between two looks that are further apart is not known.
constexpr core::Millis kLooksApartMax{1'000};

StoreFinding Refused(const absl::StatusOr<Reply>& reply) {
  return {.kind = Kind::kFailed, .refusal = reply.ok() ? reply->text : ""};
}

}  // namespace

NewStoreCheck::NewStoreCheck(Node& node, const core::Clock& clock, NewStoreCheckOptions options)
    : node_(node), clock_(clock), options_(std::move(options)) {}

NewStoreCheck::~NewStoreCheck() { *alive_ = false; }

void NewStoreCheck::Ask(Route route, const NodeLife& life, core::NodeTime now, Done done) {
  if (HasBeenWatched(life)) return LookForRecords(route, std::move(done), "0", 1);
  const int64_t wait = core::Micros(options_.wait).count();
  const bool started_before = life.started.micros > 0 && life.started.micros <= now.micros - wait;
  if (!started_before) return std::move(done)({.kind = Kind::kTooEarly});
  LookForDaemons(route, std::move(done));
}

// Whether this daemon has seen the store empty for long enough, whatever others there may be.
bool NewStoreCheck::HasBeenWatched(const NodeLife& life) {
  const core::Instant now = clock_.Now();
  if (run_id_ != life.run_id || now > last_look_ + kLooksApartMax) {
    run_id_ = life.run_id;
    first_look_ = now;
  }
  last_look_ = now;
  return now - first_look_ >= options_.wait;
}

void NewStoreCheck::LookForDaemons(Route route, Done done) {
  FindDaemonChannels(
      node_, route, options_.channel_pattern,
      [this, route, alive = alive_, done = std::move(done)](const FoundChannels& channels) mutable {
        if (!*alive) return;
        // Where Redis does not tell there may be some.
        const bool alone = channels && std::all_of(channels->begin(), channels->end(),
                                                   [this](const std::string& channel) {
                                                     return channel == options_.own_channel;
                                                   });
        if (!alone) return std::move(done)({.kind = Kind::kTooEarly});
        LookForRecords(route, std::move(done), "0", 1);
      });
}

void NewStoreCheck::LookForRecords(Route route, Done done, const std::string& cursor, int scans) {
  Command scan(6);
  scan.Word("SCAN").Word(cursor);
  scan.Word("MATCH").Word(options_.record_pattern).Word("COUNT").Number(kScanCount);
  node_.Send(route, std::move(scan),
             [this, route, alive = alive_, done = std::move(done),
              scans](absl::StatusOr<Reply> reply) mutable {
               if (!*alive) return;
               if (!reply.ok() || reply->type != Reply::Type::kArray || reply->items.size() != 2) {
                 return std::move(done)(Refused(reply));
               }
               const std::string& next = reply->items[0].text;
               if (!reply->items[1].items.empty())
                 return std::move(done)({.kind = Kind::kHasRecords});
               if (next == "0") return std::move(done)({.kind = Kind::kNew});
               if (scans >= options_.scans_max)
                 return std::move(done)({.kind = Kind::kTooManyKeys});
               LookForRecords(route, std::move(done), next, scans + 1);
             });
}

}  // namespace lockkeeper::redis
