// SPDX-License-Identifier: Apache-2.0
#include "redis/redis_store.h"

#include <utility>

#include "redis/format/line_message.h"
#include "redis/node/daemon_channels.h"

namespace lockkeeper::redis {
namespace {

std::unique_ptr<NodeGuard> MakeGuard(Node& node, const core::Clock& clock, core::Executor& executor,
                                     GuardObserver& observer, const RedisStoreOptions& options) {
  return std::make_unique<NodeGuard>(
      node, clock, executor, observer,
      NodeGuardOptions{
          .keys = options.keys,
          .marker_key = options.keys.MarkerKey(),
          .roll_id = options.restores ? options.daemon_id : "",
          .call_lifetime = options.call_lifetime,
          .policy = options.policy,
          .new_store = {.record_pattern = options.keys.RecordPattern(""),
                        .channel_pattern = options.keys.ChannelPattern(),
                        .own_channel = options.keys.ChannelPrefix() + options.daemon_id,
                        .wait = options.first_use_wait}});
}

}  // namespace

RedisStore::RedisStore(Node& node, const core::Clock& clock, core::Executor& executor,
                       GuardObserver& observer, const RedisStoreOptions& options)
    : RedisStore(node, clock, executor, observer, options,
                 MakeGuard(node, clock, executor, observer, options)) {
  node_guard_ = static_cast<NodeGuard*>(guard_.get());
  if (!told_) return;
  restorer_.emplace(*told_, *queue_, clock, executor,
                    [this](int64_t epoch) { node_guard_->OnRestored(epoch); });
  node_guard_->RestoreBy([this](int64_t epoch) {
    if (restorer_) restorer_->Restore(epoch);
  });
}

RedisStore::RedisStore(Node& node, const core::Clock& clock, core::Executor& executor,
                       GuardObserver& observer, const RedisStoreOptions& options,
                       std::unique_ptr<StoreGuard> guard)
    : keys_(options.keys),
      guard_(std::move(guard)),
      queue_(std::in_place, node, *guard_, clock, executor,
             OperationQueueOptions{.keys = keys_, .record_retention = options.record_retention}),
      told_(options.restores ? std::optional<ToldLeases>(std::in_place) : std::nullopt),
      proofs_(clock, *guard_, told_ ? &*told_ : nullptr),
      locks_(
          node, *guard_, *queue_, proofs_, told_ ? &*told_ : nullptr, clock, observer,
          {.daemon_id = options.daemon_id, .waiters_per_lock_max = options.waiters_per_lock_max}),
      admin_(node, *guard_, *queue_, proofs_, clock, executor, options.request_timeout),
      watches_(node, keys_) {
  node.Subscribe(keys_.ChannelPrefix() + options.daemon_id,
                 [this](std::string_view message) { OnMessage(message); });
}

RedisStore::~RedisStore() { Close(); }

void RedisStore::CoverLeases(core::Millis longest_lease) {
  if (node_guard_ != nullptr) node_guard_->CoverLeases(longest_lease);
}

void RedisStore::LeaveRoll() {
  if (node_guard_ != nullptr) node_guard_->Leave();
}

void RedisStore::Close() {
  queue_.reset();
  restorer_.reset();
}

// Ignores messages that no script and no daemon writes.
void RedisStore::OnMessage(std::string_view message) {
  if (const auto stamp = ReadMarkerMessage(message)) {
    if (node_guard_ != nullptr) node_guard_->OnMarkerWritten(*stamp);
    return;
  }
  if (watches_.OnMessage(message)) return;
  if (const auto said = ReadLineMessage(message, keys_)) locks_.OnLineMessage(*said);
}

}  // namespace lockkeeper::redis
