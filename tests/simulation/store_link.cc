// SPDX-License-Identifier: Apache-2.0
#include "simulation/store_link.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/errors.h"
#include "redis/scripts.h"
#include "simulation/line_watch.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Micros;

namespace {

constexpr int64_t kDelayMin = 30;
constexpr int64_t kDelayMax = 600;
// Longer than a daemon remembers that it told of an offer.
constexpr Micros kMessageDelayMax{7'000'000};

}  // namespace

struct StoreLink::Request {
  redis::Command command;
  redis::ReplyDone done;
  const redis::ScriptSource* script = nullptr;
  uint64_t connection = 0;
  uint64_t start = 0;       // Of the server, to which it was sent.
  bool lost = false;        // Will not be executed.
  bool reply_lost = false;  // Will be executed without an answer.
  bool finished = false;
  redis::Reply reply;
  Instant executed;
  Confirmed confirms = Confirmed::kNothing;
};

StoreLink::StoreLink(support::RedisModel& server, const core::Clock& clock,
                     support::ManualExecutor& world, Process& process, support::Random random,
                     ExecutionListener listener, MessageOrder* order)
    : server_(server),
      clock_(clock),
      world_(world),
      process_(process),
      random_(random),
      listener_(std::move(listener)),
      order_(order) {}

StoreLink::~StoreLink() {
  if (subscribed_) server_.Unsubscribe(subscription_);
}

const redis::NodeLife& StoreLink::life(size_t) const {
  static const redis::NodeLife kNobody;
  return clock_.Now() < away_until_ ? kNobody : server_.life();
}

core::Assurance StoreLink::assurance() const {
  return clock_.Now() < away_until_ ? core::Assurance::kNone : core::Assurance::kDisk;
}

Micros StoreLink::Delay() {
  Micros delay(random_.Between(kDelayMin, kDelayMax));
  if (clock_.Now() < slow_until_) delay += Micros(random_.Between(0, slow_most_.count()));
  return order_ ? order_->Next(delay) : delay;
}

// Messages come over a connection of their own, which need not be slow when the others are.
Micros StoreLink::MessageDelay() {
  const bool slow = clock_.Now() < slow_until_ && random_.OneIn(2);
  Micros delay = slow ? Delay() : Micros(random_.Between(kDelayMin, kDelayMax));
  if (clock_.Now() < messages_late_until_) {
    delay += Micros(random_.Between(0, kMessageDelayMax.count()));
  }
  return slow || !order_ ? delay : order_->Next(delay);
}

void StoreLink::Run(size_t lane, const redis::ScriptSource& script, redis::Command command,
                    redis::ReplyDone done) {
  auto request = std::make_shared<Request>(Request{std::move(command), std::move(done)});
  request->script = &script;
  Submit(lane, std::move(request));
}

void StoreLink::Send(redis::Command command, redis::ReplyDone done) {
  Submit(0, std::make_shared<Request>(Request{std::move(command), std::move(done)}));
}

void StoreLink::Submit(size_t lane, std::shared_ptr<Request> request) {
  if (clock_.Now() < away_until_) {
    Finish(request, core::Error(core::ErrorReason::kStoreUnavailable, "the node is away"));
    return;
  }
  Lane& at = lanes_[lane];
  request->connection = at.connection;
  request->start = server_.starts();
  request->reply_lost = clock_.Now() < replies_lost_until_;
  at.open.push_back(request);
  at.last_arrival = std::max(at.last_arrival, clock_.Now() + Delay());
  At(at.last_arrival, [this, lane, request] { Arrive(lane, request); });
  const uint64_t connection = at.connection;
  if (request->reply_lost || clock_.Now() < slow_until_) {
    At(clock_.Now() + kReplyTimeout, [this, lane, request, connection] {
      if (!request->finished && lanes_[lane].connection == connection) BreakLane(lane);
    });
  }
}

void StoreLink::Arrive(size_t lane, const std::shared_ptr<Request>& request) {
  if (request->lost || request->start != server_.starts()) return;
  const auto words = request->command.Words();
  request->reply = server_.Execute(words);
  listener_(words, request->reply);
  request->executed = clock_.Now();
  request->confirms = ConfirmedBy(words, request->reply);
  if (request->reply_lost || request->connection != lanes_[lane].connection) return;
  Lane& at = lanes_[lane];
  at.last_reply = std::max(at.last_reply, clock_.Now() + Delay());
  At(at.last_reply, [this, lane, request] { Reply(lane, request); });
}

void StoreLink::Reply(size_t lane, const std::shared_ptr<Request>& request) {
  if (request->finished || request->connection != lanes_[lane].connection) return;
  auto& open = lanes_[lane].open;
  open.erase(std::find(open.begin(), open.end(), request));
  const bool unknown_script = request->script != nullptr &&
                              request->reply.type == redis::Reply::Type::kError &&
                              request->reply.text.starts_with("NOSCRIPT");
  if (request->confirms != Confirmed::kNothing && request->executed >= last_confirmed_) {
    last_confirmed_ = request->executed;
    lease_confirmed_ = request->confirms == Confirmed::kLease ? request->executed : Instant::min();
  }
  if (!unknown_script) return Finish(request, std::move(request->reply));
  redis::Command load(3);
  load.Word("SCRIPT").Word("LOAD").Word(request->script->text);
  Submit(lane, std::make_shared<Request>(Request{std::move(load), [](auto) {}}));
  Submit(lane,
         std::make_shared<Request>(Request{std::move(request->command), std::move(request->done)}));
}

void StoreLink::Finish(const std::shared_ptr<Request>& request,
                       absl::StatusOr<redis::Reply> reply) {
  request->finished = true;
  process_.Post([request, reply = std::move(reply)]() mutable {
    std::move(request->done)(std::move(reply));
  });
}

// Everything open on the lane is without an answer; half of what has not arrived never will.
void StoreLink::BreakLane(size_t lane) {
  Lane& at = lanes_[lane];
  ++at.connection;
  at.last_arrival = clock_.Now();
  at.last_reply = clock_.Now();
  for (const auto& request : std::exchange(at.open, {})) {
    if (request->reply.type == redis::Reply::Type::kNil && random_.OneIn(2)) request->lost = true;
    if (orphan_) {
      orphans_.push_back(request);
    } else {
      Finish(request, core::Error(core::ErrorReason::kOutcomeUnknown, "the connection broke"));
    }
  }
}

void StoreLink::Orphan() {
  orphan_ = true;
  if (subscribed_) server_.Unsubscribe(subscription_);
  subscribed_ = false;
  for (size_t lane = 0; lane < kLanes; ++lane) BreakLane(lane);
}

void StoreLink::Cut(Micros duration) {
  away_until_ = std::max(away_until_, clock_.Now() + duration);
  for (size_t lane = 0; lane < kLanes; ++lane) BreakLane(lane);
  DropSubscription(duration);
}

void StoreLink::DropSubscription(Micros duration) {
  if (subscribed_) server_.Unsubscribe(subscription_);
  subscribed_ = false;
  At(clock_.Now() + duration, [this] { Listen(); });
}

bool StoreLink::HasUnderWay(int64_t beats) const {
  const auto may_be_executed = [beats](const std::shared_ptr<Request>& request) {
    if (request->lost || request->reply.type != redis::Reply::Type::kNil) return false;
    const std::optional<int64_t> carried = BeatsOfCall(request->command.Words());
    return carried && *carried <= beats;
  };
  return std::any_of(orphans_.begin(), orphans_.end(), may_be_executed) ||
         std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
           return std::any_of(lane.open.begin(), lane.open.end(), may_be_executed);
         });
}

void StoreLink::Strike(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kStoreCut:
      return Cut(fault.duration);
    case FaultKind::kStoreSlow:
      slow_most_ = fault.duration;
      slow_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kStoreReplyLost:
      replies_lost_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kMessagesLost:
      messages_lost_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kMessagesLate:
      messages_late_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kSubscriptionDown:
      return DropSubscription(fault.duration);
    default:
      return;
  }
}

void StoreLink::Subscribe(const std::string& channel, redis::MessageListener listener) {
  channel_ = channel;
  on_message_ = std::move(listener);
  Listen();
}

void StoreLink::Listen() {
  if (subscribed_ || orphan_ || clock_.Now() < away_until_) return;
  subscribed_ = true;
  subscription_ = server_.Subscribe(channel_, [this](std::string_view message) {
    if (clock_.Now() < messages_lost_until_) return;
    At(clock_.Now() + MessageDelay(), [this, message = std::string(message)]() mutable {
      if (orphan_) return;
      process_.Post([this, message = std::move(message)] { on_message_(message); });
    });
  });
}

void StoreLink::At(Instant time, core::Task task) {
  world_.Later(std::chrono::ceil<Micros>(time - clock_.Now()), std::move(task));
}

}  // namespace lockkeeper::simulation
