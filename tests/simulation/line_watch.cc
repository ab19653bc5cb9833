// SPDX-License-Identifier: Apache-2.0
#include "simulation/line_watch.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "redis/format/marker_columns.h"
#include "redis/format/record_columns.h"

namespace lockkeeper::simulation {
namespace {

using core::Micros;

// As redis/scripts/frame.lua.
constexpr size_t kCommonArguments = 9;
constexpr size_t kKeysPerLockArgument = 3;
constexpr size_t kStampArgument = 5;
constexpr size_t kLatestArgument = 8;
constexpr size_t kBeatsLength = 16;
// As redis/scripts/marker.lua: in the words of a call.
constexpr size_t kReplacementWord = 5;
constexpr size_t kBeatsWord = 6;
constexpr size_t kLatestWord = 8;
// As redis/guard/loss_judge.cc, in us.
constexpr int64_t kTokensUnseen = 100'000'000;
constexpr int64_t kFloorsAhead = 1'100'000;

namespace column = redis::column;

// The request of acquire.lua begins at the column of the lease id.
constexpr redis::Column InRequest(redis::Column of_record) {
  constexpr size_t kBefore = column::kLeaseId.first - 1;
  return {of_record.first - kBefore, of_record.last - kBefore};
}

int64_t Number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// What a record of format 3 says in the last line of its text.
Micros HoldAtLeast(std::string_view record) {
  if (!record.starts_with("3 ")) return Micros(0);
  const auto text_bytes = static_cast<size_t>(Number(column::kTextBytes.Of(record)));
  const std::string_view text = record.substr(column::kClaim.last + 1, text_bytes);
  return core::Millis(Number(text.substr(text.rfind('\n', text.size() - 2) + 1)));
}

// By digest.
const std::unordered_map<std::string_view, KnownScript>& KnownScripts() {
  static const auto* const kScripts = [] {
    auto* const scripts = new std::unordered_map<std::string_view, KnownScript>;
    const auto know = [scripts](const redis::ScriptSource& source, KnownScript known) {
      for (const size_t keys : {size_t{1}, size_t{2}}) {
        (*scripts)[source.ForKeys(keys).sha1] = known;
      }
    };
    know(redis::kAcquireScript, {Script::kAcquire, "acquire", 3, 4});
    know(redis::kExtendScript, {Script::kExtend, "extend", 4, 4});
    know(redis::kFenceScript, {Script::kFence, "fence", 2, 2});
    know(redis::kPollScript, {Script::kPoll, "poll", 4, 4});
    know(redis::kReassertScript, {Script::kReassert, "reassert", 10, 4});
    know(redis::kReleaseScript, {Script::kRelease, "release", 2, 4});
    know(redis::kWithdrawScript, {Script::kWithdraw, "withdraw", 5, 4});
    return scripts;
  }();
  return *kScripts;
}

// What the words call. Null if it is no operation on locks, or was not carried out.
const KnownScript* OperationsOf(const std::vector<std::string_view>& words,
                                const redis::Reply& reply) {
  if (words[0] != "EVALSHA" || reply.type != redis::Reply::Type::kArray) return nullptr;
  const auto known = KnownScripts().find(words[1]);
  return known == KnownScripts().end() ? nullptr : &known->second;
}

// By the marker of the store.
bool IsRefused(const redis::Reply& reply) {
  return reply.items.size() == 2 && (reply.items[1].integer == redis::kOutcomeGuard ||
                                     reply.items[1].integer == redis::kOutcomeOlder);
}

// Whether a lease runs after this outcome. An acquire answers 6 to 9 for something else.
bool Gives(Script script, int64_t outcome) {
  const bool asked = script == Script::kExtend && outcome >= 6 && outcome <= 11;
  return outcome == 1 || outcome == 2 || asked;
}

}  // namespace

std::optional<Expected> ExpectedByCall(const std::vector<std::string_view>& words) {
  if (words[0] != "EVALSHA") return std::nullopt;
  if (words[1] == redis::kMarkerScript.sha1) {
    if (words[kReplacementWord].empty()) return std::nullopt;
    return Expected{.beats = Number(words[kBeatsWord]), .latest = {Number(words[kLatestWord])}};
  }
  const size_t common_at = 3 + static_cast<size_t>(Number(words[2]));
  if (common_at + kCommonArguments > words.size()) return std::nullopt;
  const std::string_view stamp = words[common_at + kStampArgument];
  if (stamp.size() < kBeatsLength) return std::nullopt;
  return Expected{.beats = Number(stamp.substr(stamp.size() - kBeatsLength)),
                  .latest = {Number(words[common_at + kLatestArgument])}};
}

Confirmed ConfirmedBy(const std::vector<std::string_view>& words, const redis::Reply& reply) {
  const KnownScript* const known = OperationsOf(words, reply);
  if (known == nullptr || IsRefused(reply)) return Confirmed::kNothing;
  const bool may_give = known->script == Script::kAcquire || known->script == Script::kExtend ||
                        known->script == Script::kReassert;
  Confirmed last = Confirmed::kNothing;
  for (size_t at = 1; may_give && at < reply.items.size(); at += known->replies) {
    if (!Gives(known->script, reply.items[at].integer)) continue;
    const redis::Reply& terms = reply.items[at + 3];
    const bool numbers = terms.type == redis::Reply::Type::kInteger;
    const core::Millis ttl(numbers ? terms.integer : Number(terms.text));
    const bool anew = Micros(reply.items[at + 2].integer) == Micros(ttl);
    last = anew ? Confirmed::kLease : Confirmed::kLeaseAgain;
  }
  return last;
}

struct LineWatch::Operation {
  const std::string& daemon;
  const std::string& lock;
  const std::string_view* arguments;
  const redis::Reply* replies;
  Instant now;
  int64_t node_now;  // By the node's clock.

  int64_t outcome() const { return replies[0].integer; }
  std::string lease_id() const {
    return std::string(arguments[0].substr(0, column::kLeaseId.width()));
  }
};

LineWatch::LineWatch(support::RedisModel& server, const core::Clock& clock, Judge& judge)
    : StoreWatch(clock, judge),
      servers_{{.model = server, .deeds = &judge}},
      at_(&servers_.back()) {}

void LineWatch::Promoted(support::RedisModel& server) {
  Server next = {.model = server,
                 .deeds = &judge_,
                 .tokens = servers_.back().tokens,
                 .stamp = servers_.back().stamp,
                 .epoch = servers_.back().epoch,
                 .quarantine_end = servers_.back().quarantine_end,
                 .floor = servers_.back().floor};
  servers_.back().deeds = &judge_.server_before();
  servers_.push_back(std::move(next));
  StoreChanged();
}

void LineWatch::Executed(const support::RedisModel& server, const std::string& daemon,
                         const std::vector<std::string_view>& words, const redis::Reply& reply) {
  ++executed_;
  at_ =
      &*std::ranges::find_if(servers_, [&server](const Server& s) { return &s.model == &server; });
  if (words[0] != "EVALSHA" || reply.type != redis::Reply::Type::kArray) return;
  if (words[1] == redis::kMarkerScript.sha1) {
    const char* const does =
        words[kReplacementWord].empty() ? " looks at marker: " : " writes marker: ";
    Trace(Who(daemon) + does + reply.items[1].text);
    return OnMarker(reply);
  }
  const KnownScript* const known = OperationsOf(words, reply);
  if (known == nullptr) return;
  const auto& [script, name, arguments, replies] = *known;
  const auto keys = static_cast<size_t>(Number(words[2]));
  const size_t common_at = 3 + keys;
  if (IsRefused(reply)) {
    return Trace(Who(daemon) + " " + std::string(name) + ": refused by the guard");
  }
  const auto keys_per_lock = static_cast<size_t>(Number(words[common_at + kKeysPerLockArgument]));
  const size_t locks = (keys - 1) / keys_per_lock;  // The last one is the marker's.
  const auto lock_of = [&](size_t i) { return *keys_.LockName(words[3 + i * keys_per_lock]); };
  // Records show only what the last operation left: they are looked at last, except that whoever
  // got a lock got it before those who came to it in the same call.
  const auto got_the_lock = [&](int64_t outcome) {
    return script == Script::kAcquire &&
           (outcome == 1 || outcome == 2 || outcome == 6 || outcome == 7);  // An offer.
  };
  for (size_t i = 0; i < locks; ++i) {
    const std::string lock = lock_of(i);
    const Operation operation{daemon,
                              lock,
                              &words[common_at + kCommonArguments + i * arguments],
                              &reply.items[1 + i * replies],
                              clock_.Now(),
                              reply.items[0].integer};
    if (traces()) TraceOperation(daemon, name, operation, *known);
    OnOperation(script, operation);
    constexpr int64_t kOutcomes = 100;
    coverage_.Operation(
        lock, static_cast<int>(static_cast<int64_t>(script) * kOutcomes + operation.outcome()),
        daemon, clock_.Now());
    if (got_the_lock(operation.outcome())) {
      LookAtRecord(daemon, lock, reply.items[0].integer, AttemptOf(operation));
    }
  }
  if (script == Script::kFence || script == Script::kExtend) return;
  for (size_t i = 0; i < locks; ++i) {
    const int64_t outcome = reply.items[1 + i * replies].integer;
    if (outcome == redis::kOutcomeLine || got_the_lock(outcome)) continue;
    LookAtRecord(daemon, lock_of(i), reply.items[0].integer);
  }
}

// By two digits of its number.
std::string LineWatch::Who(const std::string& daemon) const {
  const char* const where = at_ == &servers_.back() ? "" : " at the server before";
  return "daemon " + daemon.substr(daemon.size() - 2) + where;
}

void LineWatch::TraceOperation(const std::string& daemon, std::string_view script,
                               const Operation& operation, const KnownScript& known) {
  std::ostringstream line;
  line << Who(daemon) << " " << script << " " << operation.lock << ":";
  for (size_t i = 0; i < known.arguments; ++i) {
    std::string text(operation.arguments[i].substr(0, 72));
    std::replace(text.begin(), text.end(), '\n', '|');
    line << " " << text;
  }
  line << " ->";
  for (size_t i = 0; i < known.replies; ++i) {
    const redis::Reply& reply = operation.replies[i];
    line << " ";
    if (reply.type == redis::Reply::Type::kText) {
      line << "'" << reply.text << "'";
    } else {
      line << reply.integer;
    }
  }
  Trace(line.str());
}

void LineWatch::OnOperation(Script script, const Operation& operation) {
  const int64_t outcome = operation.outcome();
  switch (script) {
    case Script::kAcquire:
      return OnAcquire(operation);
    case Script::kExtend:
      if (Gives(script, outcome)) {
        const Instant end = operation.now + Micros(operation.replies[2].integer);
        coverage_.Record(operation.lock, 'H', end);
        coverage_.Ends(Edge::kLease, end);
        coverage_.Ends(Edge::kConfirmed, operation.now);
        at_->deeds->Extended(operation.lock, operation.lease_id(), end, operation.now);
        if (!operation.arguments[3].empty()) {
          at_->deeds->Adopted(
              {operation.lock, operation.lease_id(), std::string(operation.arguments[3])});
        }
      }
      return;
    case Script::kFence:
      at_->deeds->Fenced(operation.lock, Number(operation.arguments[0]), outcome == 1);
      return;
    case Script::kPoll:
      if (outcome == 1 && operation.arguments[1] == "W") {
        at_->deeds->InPlace(std::string(operation.arguments[0]), operation.lock, operation.now);
      }
      return;
    case Script::kReassert:
      if (outcome == 1) OnReassert(operation);
      return;
    case Script::kRelease:
      if (outcome == 2 || outcome == 4) {
        at_->deeds->ReleaseDenied(operation.lock, operation.lease_id(), operation.now);
      }
      if (outcome == 3) {
        at_->deeds->ReleaseDoubted(operation.lock, operation.lease_id(), operation.now);
      }
      if (outcome >= 1 && outcome <= 4) {
        at_->deeds->Released(operation.lock, operation.lease_id(), operation.now);
      }
      return;
    case Script::kWithdraw:
      return OnWithdraw(operation);
  }
}

// Of an acquire.
int32_t LineWatch::AttemptOf(const Operation& operation) {
  return static_cast<int32_t>(Number(InRequest(column::kAttempt).Of(operation.arguments[0])));
}

void LineWatch::OnAcquire(const Operation& operation) {
  const std::string_view request = operation.arguments[0];
  const Try what{operation.lock, operation.lease_id(),
                 std::string(InRequest(column::kKeeper).Of(request))};
  const int32_t attempt = AttemptOf(operation);
  switch (operation.outcome()) {
    case 1:
    case 2:
    case 6:
    case 7:
      return at_->deeds->Repeated(what, attempt, operation.now);
    case 3:
    case 10:
      return at_->deeds->LeftLine(what.lock, what.lease_id, operation.now);
    case 4:
      return at_->deeds->FoundVoid(what.lock, what.lease_id, operation.now);
    case 5:
      if (attempt < 2) at_->deeds->FirstAttemptStands(what);
      return at_->deeds->Joined(what, operation.replies[1].integer, operation.now);
    default:
      return;
  }
}

void LineWatch::OnWithdraw(const Operation& operation) {
  const Try what{operation.lock, operation.lease_id(), std::string(operation.arguments[2])};
  const std::string_view scope = operation.arguments[3];
  const int64_t outcome = operation.outcome();
  if (scope == "S" || scope == "R" || scope == "B" || scope == "C" || scope == "P" ||
      scope == "T") {
    if (outcome == 1 && scope == "P") at_->deeds->PassedOver(what, operation.now);
    if (outcome == 1 && scope == "B") at_->deeds->PutBack(what, operation.now);
    if (outcome == 1 && scope == "C") at_->deeds->ClaimWithdrawn(what, operation.now);
    if (outcome == 1 && scope == "S") at_->deeds->SetAside(what, operation.now);
    if (outcome == 1 && scope == "R") at_->deeds->ReleasedByEnd(what, operation.now);
    return;
  }
  if (outcome == 1 || outcome == 2) {
    at_->deeds->Withdrawn(what, operation.now);
    if (outcome == 1 && scope == "U") at_->deeds->Declined(what);
  }
  if (outcome == 3) at_->deeds->WithdrawalKept(what, operation.now);
}

void LineWatch::OnReassert(const Operation& operation) {
  Turn turn;
  turn.to = {operation.lock, operation.lease_id(), std::string(operation.arguments[8])};
  turn.token = operation.replies[1].integer;
  turn.end = operation.now + Micros(operation.replies[2].integer);
  turn.lock_delay = core::Millis(Number(operation.arguments[3]));
  turn.max_hold = Number(operation.arguments[4]) > 0;
  // Not from the record: another lease of the same call may be there by now.
  const std::string& terms = operation.replies[3].text;
  const int64_t hold_end = Number(std::string_view(terms).substr(terms.rfind(' ') + 1));
  turn.hold_at_least = std::max(Micros(hold_end - operation.node_now), Micros(0));
  turn.given_by = operation.daemon;
  at_->tokens[operation.lock] = turn.token;
  if (StandsInLine(operation.lock, turn.to.lease_id)) {
    judge_.Violation(turn.to.lease_id.substr(0, 8) + " was given " + operation.lock +
                     " back, but still stands in line");
  }
  if (const std::string_view left = operation.arguments[9]; !left.empty()) {
    return at_->deeds->Restored(std::move(turn), Number(left) > 0, operation.now);
  }
  at_->deeds->Reasserted(std::move(turn), operation.now);
}

// Epochs of one store rise, of another one they begin again.
void LineWatch::OnMarker(const redis::Reply& reply) {
  const std::string& text = reply.items[1].text;
  const bool is_known = !at_->stamp.empty() && text.starts_with(at_->stamp);
  if (is_known && Number(redis::marker_column::kTokenFloor.Of(text)) == at_->floor) return;
  const std::optional<redis::SeenMarker> seen = redis::ParseMarker(text);
  if (!seen) return;
  const Instant now = clock_.Now();
  const int64_t node_now = reply.items[0].integer;
  coverage_.Ends(Edge::kBeat, now);
  const int64_t left = seen->marker.quarantine_end.micros - node_now;
  const bool begins = !at_->stamp.empty() && seen->marker.epoch > at_->epoch;
  const core::NodeTime before = std::exchange(at_->quarantine_end, seen->marker.quarantine_end);
  const bool by_operator = to_be_ended_.contains(seen->marker.epoch);
  const bool by_daemons = restores_ && seen->marker.epoch == at_->epoch;
  const bool ended = !begins && (by_operator || by_daemons) && at_->quarantine_end < before;
  // One that knows less than the others may begin an epoch with the number of theirs.
  const int64_t floor = std::exchange(at_->floor, seen->marker.token_floor.value);
  const bool newest = !at_->stamp.empty() && seen->marker.epoch >= at_->epoch;
  if (newest && floor != at_->floor) {
    LookAtFloor(seen->marker, ended ? at_->quarantine_end.micros : node_now, floor);
  }
  at_->stamp = seen->marker.Stamp();
  at_->epoch = std::max(at_->epoch, seen->marker.epoch);
  coverage_.Ends(Edge::kQuarantine, now + Micros(left));
  if (begins) return at_->deeds->EpochBegan(now + Micros(left));
  if (ended && !by_operator) return at_->deeds->QuarantineEndedEarly(now);
  ended ? at_->deeds->QuarantineEnded(now) : at_->deeds->QuarantineLasts(now + Micros(left));
}

// A daemon that has learned the clock from a slow answer takes it for kFloorsAhead further ahead,
// at most, than it is. If the clock may not have come that far when the quarantine ends, or is
// behind the tokens, a loss raises them.
void LineWatch::LookAtFloor(const redis::StoreMarker& marker, int64_t node_now,
                            int64_t floor_before) {
  const int64_t before = marker.token_floor.value - kTokensUnseen;
  if (before < node_now - kFloorsAhead) return;
  tokens_raised_ += Micros(kTokensUnseen);
  if (marker.token_floor.value - floor_before < kTokensUnseen) return;  // It had been before.
  // A server that was replaced may grant for so long as the quarantine is longer for that.
  const int64_t isolation = Micros(at_->model.life().isolation).count();
  if (before > marker.quarantine_end.micros - isolation - kFloorsAhead) return;
  judge_.Violation("a loss raised the tokens " + std::to_string(kTokensUnseen) +
                   " us beyond a clock that was not behind them");
}

void LineWatch::StoreChanged() {
  at_ = &servers_.back();
  for (auto& [lock, token] : at_->tokens) {
    const std::string record = RecordOf(lock);
    token = record.empty() ? 0 : Number(column::kToken.Of(record));
  }
}

bool LineWatch::StandsInLine(const std::string& lock, const std::string& lease_id) {
  const std::string key = redis::KeyLayout::LineKeyOf(keys_.RecordKey(lock));
  const std::string member = "i" + lease_id;
  const std::vector<std::string_view> place = {"ZSCORE", key, member};
  return at_->model.Execute(place).type != redis::Reply::Type::kNil;
}

// Empty if there is none.
std::string LineWatch::RecordOf(const std::string& lock) {
  const std::string key = keys_.RecordKey(lock);
  const std::vector<std::string_view> get = {"GET", key};
  redis::Reply reply = at_->model.Execute(get);
  if (reply.type != redis::Reply::Type::kText || reply.text.size() < column::kClaim.last) return "";
  return std::move(reply.text);
}

void LineWatch::LookAtRecord(const std::string& daemon, const std::string& lock, int64_t node_now,
                             std::optional<int32_t> attempt) {
  const std::string text = RecordOf(lock);
  if (text.empty()) return;
  const std::string_view record = text;
  const char state = column::kState.Of(record).front();
  const Instant end = clock_.Now() + Micros(Number(column::kLeaseEnd.Of(record)) - node_now);
  coverage_.Record(lock, state, end);
  if (state != 'H' && state != 'O') return;
  const int64_t token = Number(column::kToken.Of(record));
  if (std::exchange(at_->tokens[lock], token) == token) return;
  Turn turn;
  turn.to = {lock, std::string(column::kLeaseId.Of(record)),
             std::string(column::kKeeper.Of(record))};
  turn.attempt = attempt.value_or(static_cast<int32_t>(Number(column::kAttempt.Of(record))));
  turn.token = token;
  turn.offered = state == 'O';
  const std::string_view claim = column::kClaim.Of(record);
  turn.daemon_claims = turn.offered && (claim == "D" || claim == "d");
  turn.end = end;
  turn.lock_delay = core::Millis(Number(column::kLockDelay.Of(record)));
  coverage_.Ends(turn.offered ? Edge::kOffer : Edge::kLease, end);
  if (!turn.offered) coverage_.Ends(Edge::kConfirmed, clock_.Now());
  if (turn.lock_delay > Micros(0)) coverage_.Ends(Edge::kLockDelay, end + turn.lock_delay);
  turn.max_hold = Number(column::kMaxHold.Of(record)) > 0;
  turn.hold_at_least = HoldAtLeast(record);
  if (!turn.offered && turn.hold_at_least > Micros(0)) {
    coverage_.Ends(Edge::kHold, clock_.Now() + turn.hold_at_least);
  }
  turn.given_by = daemon;
  at_->deeds->TurnGiven(std::move(turn), clock_.Now());
}

Life LineWatch::LifeInStore() {
  at_ = &servers_.back();
  const std::string marker = keys_.MarkerKey();
  const std::vector<std::string_view> get = {"GET", marker};
  const auto seen = redis::ParseMarker(at_->model.Execute(get).text);
  if (!seen) return {};
  return {.epoch = seen->marker.epoch,
          .beats = seen->beat.count,
          .longest_lease = seen->marker.ttl_ceiling};
}

int64_t LineWatch::KeysInStore() {
  at_ = &servers_.back();
  const std::string marker = keys_.MarkerKey();
  const std::vector<std::string_view> size = {"DBSIZE"};
  const std::string roll = keys_.RollKey();
  const std::vector<std::string_view> exists = {"EXISTS", marker, roll};
  return at_->model.Execute(size).integer - at_->model.Execute(exists).integer;
}

}  // namespace lockkeeper::simulation
