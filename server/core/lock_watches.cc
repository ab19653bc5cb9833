// SPDX-License-Identifier: Apache-2.0
#include "core/lock_watches.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

constexpr Millis kBeat{1'000};
// A daemon that has not repeated its interest for so long has none any more.
constexpr Millis kInterestLife{3'500};
// A daemon from which nothing has come for so long is taken for gone: it answers each beat.
constexpr Millis kSenderLife{3'500};
// How long a new watch waits for the daemons that were told of it: they are told twice.
constexpr Millis kStartMax{2'000};
// Batches to one receiver that the store has not taken yet.
constexpr int kBatchesInFlightMax = 4;
constexpr size_t kBatchMax = 512;
constexpr Millis kReadTimeout{1'000};

absl::Status TooManyWatches(size_t most, std::string_view whose) {
  return Error(ErrorReason::kRateLimit, "at most " + std::to_string(most) + " calls of WatchLocks" +
                                            std::string(whose) + " may run at this daemon");
}

}  // namespace

LockWatches::LockWatches(std::string daemon_id, AdminStore& admin, WatchExchange* exchange,
                         const Clock& clock, Executor& executor)
    : daemon_id_(std::move(daemon_id)),
      admin_(admin),
      exchange_(exchange),
      clock_(clock),
      executor_(executor),
      leases_(admin, clock, executor, [this](const LockEvent& event) { Tell(event); }) {
  if (exchange_ != nullptr) exchange_->Listen(*this);
}

LockWatches::~LockWatches() { *alive_ = false; }

bool LockWatches::IsWatchedHere(std::string_view lock_name) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const Watch& watch) { return watch.filter.Matches(lock_name); });
}

bool LockWatches::IsWatched(std::string_view lock_name) const {
  if (IsWatchedHere(lock_name)) return true;
  for (const auto& [id, receiver] : receivers_) {
    if (Matches(receiver.filters, lock_name)) return true;
  }
  return false;
}

WatchFilters LockWatches::Filters() const {
  WatchFilters filters;
  for (const Watch& watch : watches_) {
    if (std::find(filters.begin(), filters.end(), watch.filter) == filters.end())
      filters.push_back(watch.filter);
  }
  return filters;
}

void LockWatches::OnEvent(LockEvent event) {
  Queue(event);
  if (IsWatchedHere(event.name)) leases_.Take(std::move(event));
}

void LockWatches::Tell(const LockEvent& event) {
  for (const Watch& watch : watches_) {
    if (watch.has_started && watch.filter.Matches(event.name)) watch.listener->OnEvent(event);
  }
}

void LockWatches::TellGap(GapReason reason, int64_t missed) {
  for (const Watch& watch : watches_) TellGap(watch, reason, missed);
}

void LockWatches::TellGap(const Watch& watch, GapReason reason, int64_t missed) {
  if (!watch.has_started) return;
  watch.listener->OnEvent({.kind = LockEventKind::kGap, .gap = reason, .missed = missed});
  ReadLease(watch);
}

void LockWatches::OnQuarantine(Micros left) {
  const LockEventKind kind =
      left > Micros(0) ? LockEventKind::kQuarantineBegan : LockEventKind::kQuarantineEnded;
  for (const Watch& watch : watches_) {
    if (watch.has_started) watch.listener->OnEvent({.kind = kind, .remaining = left});
  }
}

absl::Status LockWatches::Open(const WatchFilter& filter, std::string principal,
                               WatchListener& listener) {
  if (draining_) return Draining();
  if (watches_.size() >= limits::kWatchesMax) return TooManyWatches(limits::kWatchesMax, "");
  const auto of_principal = std::count_if(watches_.begin(), watches_.end(), [&](const Watch& one) {
    return one.principal == principal;
  });
  if (static_cast<size_t>(of_principal) >= limits::kWatchesPerPrincipalMax) {
    return TooManyWatches(limits::kWatchesPerPrincipalMax, " of one principal");
  }
  watches_.push_back({.filter = filter,
                      .principal = std::move(principal),
                      .listener = &listener,
                      .version = ++version_,
                      .opened = clock_.Now()});
  ReadLease(watches_.back());
  daemons_ = 0;
  if (watches_.size() == 1) told_ = clock_.Now();
  Beat();
  return absl::OkStatus();
}

void LockWatches::Close(WatchListener& listener) {
  const size_t closed =
      std::erase_if(watches_, [&](const Watch& watch) { return watch.listener == &listener; });
  if (closed == 0) return;
  leases_.KeepOnly(Filters());
  if (watches_.empty()) EndWatching();
}

void LockWatches::StartDraining() {
  draining_ = true;
  if (watches_.empty()) return;
  for (const Watch& watch : std::exchange(watches_, {})) watch.listener->OnEnd(Draining());
  leases_.KeepOnly({});
  EndWatching();
}

void LockWatches::EndWatching() {
  senders_.clear();
  unread_.clear();
  beat_.reset();
  Announce();
}

void LockWatches::Stop() {
  for (auto& [id, receiver] : receivers_) Flush(id, receiver, /*is_last=*/true);
  receivers_.clear();
}

// A lease of which no event has come: it began before the watch, or in a gap.
void LockWatches::ReadLease(const Watch& watch) {
  if (watch.filter.match == WatchFilter::Match::kName) ReadLease(watch.filter.text);
}

void LockWatches::ReadLease(const std::string& name) {
  unread_.insert(name);
  admin_.Get(name, clock_.Now() + kReadTimeout,
             [this, alive = alive_, name](absl::StatusOr<std::optional<LockInfo>> read) {
               if (!*alive || !read.ok()) return;  // The next beat asks again.
               unread_.erase(name);
               if (read->has_value() && IsWatchedHere(name)) leases_.Learn(**read);
             });
}

// --- what other daemons tell ------------------------------------------------------------------

void LockWatches::Beat() {
  const Instant now = clock_.Now();
  const bool any_gone = std::erase_if(senders_, [&](const auto& sender) {
                          return sender.second.heard + kSenderLife < now;
                        }) > 0;
  if (any_gone) TellGap(GapReason::kDaemonGone, 0);
  if (exchange_ != nullptr && told_ + kInterestLife < now) {
    told_ = now;
    TellGap(GapReason::kMessagesLost, 0);  // The others take the interest for over.
  }
  for (const std::string& name : std::exchange(unread_, {})) {
    if (IsWatchedHere(name)) ReadLease(name);
  }
  StartThoseThatCan();
  Announce();
  beat_ = executor_.After(kBeat, [this] { Beat(); });
}

void LockWatches::Announce() {
  if (exchange_ == nullptr) {
    executor_.Post([this, alive = alive_] {
      if (!*alive) return;
      daemons_ = 1;
      StartThoseThatCan();
    });
    return;
  }
  exchange_->TellInterest({daemon_id_, version_, Filters()},
                          [this, alive = alive_, version = version_](size_t daemons) {
                            if (!*alive) return;
                            if (daemons != 0) told_ = clock_.Now();
                            if (version != version_) return;
                            daemons_ = daemons;
                            StartThoseThatCan();
                          });
}

// A watch has started when every daemon has heard of it. One that does not say so in time may be
// dead, and if it says so later, that is a gap.
void LockWatches::StartThoseThatCan() {
  uint64_t heard = version_;
  for (const auto& [id, sender] : senders_) heard = std::min(heard, sender.version);
  const bool all_are_known = daemons_ != 0 && senders_.size() + 1 >= daemons_;
  for (Watch& watch : watches_) {
    const bool all_have_heard = all_are_known && watch.version <= heard;
    const bool has_waited = clock_.Now() - watch.opened >= kStartMax;
    if (watch.has_started || !(all_have_heard || has_waited)) continue;
    watch.has_started = true;
    watch.listener->OnEvent({.kind = LockEventKind::kStarted});
    ReadLease(watch);  // Again: a call may have been on its way to the store.
  }
}

void LockWatches::OnBatch(EventBatch batch) {
  if (watches_.empty() || batch.daemon_id == daemon_id_) return;
  const auto [found, is_new] = senders_.try_emplace(batch.daemon_id);
  Sender& sender = found->second;
  if (is_new || sender.stream != batch.stream) {
    TellGap(GapReason::kDaemonJoined, 0);
    sender = {.stream = batch.stream, .version = batch.version, .next = batch.first};
  }
  sender.heard = clock_.Now();
  for (const Watch& watch : watches_) {
    const bool is_news = watch.version > sender.version && watch.version <= batch.version;
    if (is_news) TellGap(watch, GapReason::kDaemonJoined, 0);  // If it has started without it.
  }
  sender.version = std::max(sender.version, batch.version);
  if (batch.first > sender.next) {
    TellGap(GapReason::kMessagesLost, static_cast<int64_t>(batch.first - sender.next));
    sender.next = batch.first;
  }
  // A Cluster brings each message once for each of its primaries.
  const size_t known = std::min<size_t>(sender.next - batch.first, batch.events.size());
  sender.next = std::max<uint64_t>(sender.next, batch.first + batch.events.size());
  for (size_t i = known; i < batch.events.size(); ++i) {
    if (IsWatchedHere(batch.events[i].name)) leases_.Take(std::move(batch.events[i]));
  }
  if (batch.last) senders_.erase(found);
  StartThoseThatCan();
}

// --- what other daemons are told --------------------------------------------------------------

void LockWatches::OnInterest(WatchInterest interest) {
  if (interest.daemon_id == daemon_id_) return;
  if (interest.filters.empty()) {
    receivers_.erase(interest.daemon_id);
    return;
  }
  const auto [found, is_new] = receivers_.try_emplace(interest.daemon_id);
  Receiver& receiver = found->second;
  if (is_new) receiver.stream = ++streams_;
  receiver.filters = std::move(interest.filters);
  receiver.version = interest.version;
  receiver.until = clock_.Now() + kInterestLife;
  Flush(found->first, receiver, /*is_last=*/false);  // Also if it is empty: so it hears of us.
}

void LockWatches::Queue(const LockEvent& event) {
  if (receivers_.empty()) return;
  const Instant now = clock_.Now();
  std::erase_if(receivers_, [&](const auto& receiver) { return receiver.second.until < now; });
  for (auto& [id, receiver] : receivers_) {
    if (!Matches(receiver.filters, event.name)) continue;
    // Its number goes up all the same, by which the receiver knows that it misses this one.
    if (receiver.pending.size() >= limits::kWatchUnreadMax) {
      receiver.next += receiver.pending.size() + 1;
      receiver.pending.clear();
      continue;
    }
    receiver.pending.push_back(event);
  }
  FlushAtEndOfTurn();
}

void LockWatches::FlushAtEndOfTurn() {
  if (std::exchange(flushing_, true)) return;
  executor_.AtEndOfTurn([this, alive = alive_] {
    if (!*alive) return;
    flushing_ = false;
    for (auto& [id, receiver] : receivers_) {
      if (!receiver.pending.empty()) Flush(id, receiver, /*is_last=*/false);
    }
  });
}

void LockWatches::Flush(const std::string& id, Receiver& receiver, bool is_last) {
  do {
    if (receiver.in_flight >= kBatchesInFlightMax && !is_last) return;
    const size_t count = std::min(receiver.pending.size(), kBatchMax);
    const auto end = receiver.pending.begin() + static_cast<std::ptrdiff_t>(count);
    EventBatch batch{.daemon_id = daemon_id_,
                     .version = receiver.version,
                     .stream = receiver.stream,
                     .first = receiver.next,
                     .last = is_last && count == receiver.pending.size(),
                     .events = {std::make_move_iterator(receiver.pending.begin()),
                                std::make_move_iterator(end)}};
    receiver.pending.erase(receiver.pending.begin(), end);
    receiver.next += count;
    ++receiver.in_flight;
    exchange_->Send(id, batch, [this, alive = alive_, id, stream = receiver.stream] {
      if (*alive) OnSent(id, stream);
    });
  } while (!receiver.pending.empty());
}

void LockWatches::OnSent(const std::string& id, uint64_t stream) {
  const auto found = receivers_.find(id);
  if (found == receivers_.end() || found->second.stream != stream) return;
  --found->second.in_flight;
  if (!found->second.pending.empty()) Flush(id, found->second, /*is_last=*/false);
}

}  // namespace lockkeeper::core
