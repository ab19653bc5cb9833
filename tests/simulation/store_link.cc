// SPDX-License-Identifier: Apache-2.0
#include "simulation/store_link.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "redis/scripts.h"
#include "simulation/line_watch.h"
#include "text/stable_hash.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Micros;

namespace {

// Longer than a daemon remembers that it told of an offer.
constexpr Micros kMessageLateMax{7'000'000};
// As RedisNode.
constexpr Micros kConfirmMax{500'000};
// Longer than the Sentinels need to tell of another primary.
constexpr Micros kUntilMoved{60'000'000};
// How long new connections take, in microseconds.
constexpr int64_t kConnectMin = 1'000;
constexpr int64_t kConnectMax = 20'000;

}  // namespace

struct StoreLink::Sent final : Request {
  Sent(redis::Command of, const redis::ScriptSource* by, redis::ReplyDone then,
       support::RedisModel& to)
      : command(std::move(of)), script(by), done(std::move(then)), server(to), start(to.starts()) {}

  // Whether it would still be executed if it arrived now.
  bool IsForThisStart() const { return start == server.starts(); }

  // The node did not know its script: it is sent again, behind the script.
  bool HasToBeSentAgain() const {
    return script != nullptr && reply.type == redis::Reply::Type::kError &&
           reply.text.starts_with("NOSCRIPT");
  }

  redis::Command command;
  const redis::ScriptSource* script;  // Null: it is none.
  redis::ReplyDone done;
  support::RedisModel& server;  // To which it was sent,
  uint64_t start;               // and to which start of it.
  redis::Reply reply;
  Instant executed_at;
  Confirmed confirms = Confirmed::kNothing;
};

StoreLink::StoreLink(support::RedisModel& server, const core::Clock& clock,
                     support::ManualExecutor& world, Process& process, support::Random random,
                     ExecutionListener listener, const Replicas& replicas, MessageOrder* order)
    : Link(clock, world, process, random, order, kConnections),
      server_(&server),
      listener_(std::move(listener)),
      replicas_(replicas) {}

StoreLink::~StoreLink() { StopListening(); }

redis::Route StoreLink::RouteOf(std::string_view record_key) const {
  return {.connection = text::StableHash(record_key) % kConnections};
}

const std::string& StoreLink::setting_problem() const {
  static const std::string kNone;
  static const std::string kMissing = "has confirmed a write on no replica";
  return replicas_.must_confirm && replicas_missing_ ? kMissing : kNone;
}

const redis::NodeLife& StoreLink::life(redis::Route) const {
  static const redis::NodeLife kNobody;
  return away() ? kNobody : server_->life();
}

core::Assurance StoreLink::assurance() const {
  return away() ? core::Assurance::kNone : core::Assurance::kDisk;
}

bool StoreLink::MayConfirm(core::Assurance wanted) const {
  return away() || wanted <= core::Assurance::kDisk || !replicas_missing_;
}

// As WAIT on a connection of its own, which may break: it takes as long as a call, or as the daemon
// waits for the replicas. After a failure nobody is kept waiting until a probe finds them again.
void StoreLink::Confirm(redis::Route, core::Assurance wanted, Instant deadline,
                        redis::ConfirmDone done) {
  const auto answer = [this, waiting = std::make_shared<redis::ConfirmDone>(std::move(done))](
                          Instant at, core::Assurance confirmed) {
    At(at, [this, waiting, confirmed] {
      const bool is_down = clock_.Now() < confirmations_down_until_;
      const auto known = is_down ? std::min(confirmed, core::Assurance::kDisk) : confirmed;
      process_.Post([waiting, known] { std::move (*waiting)(known); });
    });
  };
  const Instant now = clock_.Now();
  if (wanted != core::Assurance::kReplicas || away() || replicas_missing_) {
    return answer(now, std::min(wanted, core::Assurance::kDisk));
  }
  const Instant executed = now + Delay();
  const bool found = replicas_.away_until <= executed + kConfirmMax;
  const Instant ended = found ? std::max(executed, replicas_.away_until) : executed + kConfirmMax;
  const Instant replied = ended + Delay();
  if (!found) {
    At(replied, [this] { MissReplicas(); });
  }
  const bool in_time = found && replied <= deadline;
  answer(std::min(replied, deadline),
         in_time ? core::Assurance::kReplicas : core::Assurance::kDisk);
}

void StoreLink::MissReplicas() {
  if (!std::exchange(replicas_missing_, true)) Probe();
}

void StoreLink::Probe() {
  replicas_.on_missed();
  At(clock_.Now() + kConfirmMax, [this] {
    const Instant now = clock_.Now();
    if (now < std::max(replicas_.away_until, confirmations_down_until_) || away()) return Probe();
    replicas_missing_ = false;
  });
}

// Messages come over a connection of their own, which need not be slow when the others are.
Micros StoreLink::MessageDelay() {
  const bool slow = clock_.Now() < slow_until_ && random_.OneIn(2);
  Micros delay = slow ? Delay() : Micros(random_.Between(kDelayMin, kDelayMax));
  if (clock_.Now() < messages_late_until_) {
    delay += Micros(random_.Between(0, kMessageLateMax.count()));
  }
  return slow || !order_ ? delay : order_->Next(delay);
}

void StoreLink::Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
                    redis::ReplyDone done) {
  Send(route.connection, std::move(command), &script, std::move(done));
}

void StoreLink::Send(redis::Route route, redis::Command command, redis::ReplyDone done) {
  Send(route.connection, std::move(command), nullptr, std::move(done));
}

void StoreLink::Send(size_t place, redis::Command command, const redis::ScriptSource* script,
                     redis::ReplyDone done) {
  Submit(place, std::make_shared<Sent>(std::move(command), script, std::move(done), *server_));
}

bool StoreLink::Execute(Request& request) {
  auto& call = static_cast<Sent&>(request);
  if (!call.IsForThisStart()) return false;
  const auto words = call.command.Words();
  call.reply = call.server.Execute(words);
  listener_(call.server, words, call.reply);
  call.executed_at = clock_.Now();
  call.confirms = ConfirmedBy(words, call.reply);
  return true;
}

void StoreLink::OnReply(size_t place, const RequestPtr& request) {
  auto& call = static_cast<Sent&>(*request);
  if (call.confirms != Confirmed::kNothing && call.executed_at >= last_confirmed_) {
    last_confirmed_ = call.executed_at;
    lease_confirmed_ = call.confirms == Confirmed::kLease ? call.executed_at : Instant::min();
  }
  if (!call.HasToBeSentAgain()) {
    // As Connection does: the server is no longer what it was when it was connected to.
    const bool is_replica =
        call.reply.type == redis::Reply::Type::kError && call.reply.text.starts_with("READONLY");
    Finish(request, std::move(call.reply));
    if (is_replica) MoveNowhere();
    return;
  }
  redis::Command load(3);
  load.Word("SCRIPT").Word("LOAD").Word(call.script->text);
  Send(place, std::move(load), nullptr, [](auto) {});
  Send(place, std::move(call.command), nullptr, std::move(call.done));
}

void StoreLink::Fail(const RequestPtr& request, const absl::Status& why) { Finish(request, why); }

void StoreLink::Finish(const RequestPtr& request, absl::StatusOr<redis::Reply> reply) {
  request->finished = true;
  process_.Post([request, reply = std::move(reply)]() mutable {
    // The link may remember the call for longer than what waits for it may live.
    redis::ReplyDone waiting = std::move(static_cast<Sent&>(*request).done);
    std::move(waiting)(std::move(reply));
  });
}

void StoreLink::Orphan() {
  StopListening();
  Link::Orphan();
}

void StoreLink::MoveTo(support::RedisModel& server) {
  StopListening();
  Micros connecting(random_.Between(kConnectMin, kConnectMax));
  if (server_ == &server) {  // It may be away itself.
    connecting = std::max(connecting, std::chrono::ceil<Micros>(cut_until_ - clock_.Now()));
  }
  server_ = &server;
  ComeBackAfter(connecting);
  At(clock_.Now() + connecting, [this] { Listen(); });
}

void StoreLink::MoveNowhere() {
  Link::Cut(kUntilMoved);
  DropSubscription(kUntilMoved);
}

void StoreLink::Cut(Micros duration) {
  cut_until_ = std::max<Instant>(cut_until_, clock_.Now() + duration);
  Link::Cut(duration);
  DropSubscription(duration);
}

void StoreLink::StopListening() {
  if (subscribed_) server_->Unsubscribe(subscription_);
  subscribed_ = false;
}

void StoreLink::DropSubscription(Micros duration) {
  StopListening();
  At(clock_.Now() + duration, [this] { Listen(); });
}

bool StoreLink::LoadsScript() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const Connection& at) {
    return std::any_of(at.open.begin(), at.open.end(), [](const RequestPtr& request) {
      const Sent& call = static_cast<const Sent&>(*request);
      return call.script == nullptr && call.command.Words()[0] == "EVALSHA";
    });
  });
}

bool StoreLink::HasUnderWay(int64_t beats) const {
  const auto is_believed = [&](const Sent& call) {
    const std::optional<Expected> expected = ExpectedByCall(call.command.Words());
    return expected && expected->beats <= beats && expected->latest >= call.server.clock().Now();
  };
  const auto may_arrive = [&](const RequestPtr& request) {
    const Sent& call = static_cast<const Sent&>(*request);
    const bool arrives = !call.lost && !call.executed && call.IsForThisStart();
    return arrives && is_believed(call);
  };
  const auto may_be_executed = [&](const RequestPtr& request) {
    const Sent& call = static_cast<const Sent&>(*request);
    return may_arrive(request) || (call.HasToBeSentAgain() && is_believed(call));
  };
  return std::any_of(broken_off_.begin(), broken_off_.end(), may_arrive) ||
         std::any_of(connections_.begin(), connections_.end(), [&](const Connection& at) {
           return std::any_of(at.open.begin(), at.open.end(), may_be_executed);
         });
}

void StoreLink::Strike(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kMessagesLost:
      messages_lost_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kMessagesLate:
      messages_late_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kConfirmationsDown:
      confirmations_down_until_ = clock_.Now() + fault.duration;
      return MissReplicas();
    case FaultKind::kSubscriptionDown:
      return DropSubscription(fault.duration);
    default:
      return Link::Strike(fault);
  }
}

void StoreLink::Subscribe(const std::string& channel, redis::MessageListener listener) {
  channel_ = channel;
  on_message_ = std::move(listener);
  Listen();
}

void StoreLink::Listen() {
  if (subscribed_ || orphan_ || away()) return;
  subscribed_ = true;
  subscription_ = server_->Subscribe(channel_, [this](std::string_view message) {
    if (clock_.Now() < messages_lost_until_) return;
    At(clock_.Now() + MessageDelay(), [this, message = std::string(message)]() mutable {
      if (orphan_) return;
      process_.Post([this, message = std::move(message)] { on_message_(message); });
    });
  });
}

}  // namespace lockkeeper::simulation
