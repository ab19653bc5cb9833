// SPDX-License-Identifier: Apache-2.0
#include "transport/session_link.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "status_payloads.h"
#include "text/utf8.h"
#include "transport/status_details.h"

namespace lockkeeper::client {
namespace {

// Tag and length of an operation in its batch.
constexpr size_t kOperationHeadBytes = 8;

// The server's limit.
constexpr size_t kOwnerBytesMax = 256;

// The limit that is assumed if the server does not tell one.
constexpr int32_t kOutstandingDefault = 1'024;

bool IsText(const v1::AcquireRequest& request) {
  return text::IsUtf8(request.name()) && text::IsUtf8(request.lease_id()) &&
         text::IsUtf8(request.owner()) &&
         std::all_of(request.labels().begin(), request.labels().end(), [](const auto& label) {
           return text::IsUtf8(label.first) && text::IsUtf8(label.second);
         });
}

bool IsText(const v1::SessionOperation& request) {
  using Request = v1::SessionOperation;
  switch (request.operation_case()) {
    case Request::kAcquire:
      return IsText(request.acquire());
    case Request::kExtend:
      return text::IsUtf8(request.extend().name()) && text::IsUtf8(request.extend().lease_id());
    case Request::kRelease:
      return text::IsUtf8(request.release().name()) && text::IsUtf8(request.release().lease_id());
    case Request::kFence:
      return text::IsUtf8(request.fence().name());
    case Request::OPERATION_NOT_SET:
      break;
  }
  return false;
}

bool MayWait(const v1::SessionOperation& request) {
  return request.has_acquire() && request.acquire().has_wait_timeout();
}

// The lease id as the daemon writes it. An acquire may spell it as a UUID.
std::string PlainId(std::string_view lease_id) {
  std::string plain;
  plain.reserve(lease_id.size());
  for (const char each : lease_id) {
    if (each != '-') plain.push_back(absl::ascii_tolower(static_cast<unsigned char>(each)));
  }
  return plain;
}

absl::Status Unknown() {
  return ErrorWithReason(absl::StatusCode::kUnavailable, ErrorReason::kOutcomeUnknown,
                         "the session broke before the answer came");
}

absl::Status Late() { return absl::DeadlineExceededError("no answer came in time"); }

}  // namespace

SessionLink::SessionLink(const Clock& clock, Scheduler& scheduler, SessionLinkOwner& owner)
    : clock_(clock), scheduler_(scheduler), owner_(owner) {}

bool SessionLink::CanCarry(const v1::SessionOperation& request) {
  return request.ByteSizeLong() <= kSessionBatchBytesMax / 4 && IsText(request);
}

void SessionLink::Open(std::shared_ptr<SessionStream> stream, std::string client_owner) {
  {
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
    v1::SessionOpen& open = *message_.mutable_open();
    // The owner is only for the server's logs, but a malformed one would make the server reject the
    // session.
    if (client_owner.size() <= kOwnerBytesMax && text::IsUtf8(client_owner)) {
      open.set_owner(std::move(client_owner));
    }
    writing_ = true;
    deadlines_.emplace(clock_.Now() + kSessionOpenTimeout, 0);
    ArmTimer();
  }
  stream_->Begin(message_);
}

bool SessionLink::Run(const PendingOperationPtr& operation) {
  const bool waits = MayWait(operation->request);
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    const bool is_ending = state_ == State::kEnded || unreadable_ || unwritable_ || broken_;
    if (is_ending || writes_closed_ || suspect_ || outdated_) return false;
    // Waiting acquires must not take all the places, because renewals need some.
    if (waits && sent_max_ > 0 && waiting_ >= sent_max_ / 2) return false;
    operation->id = ++last_id_;
    Entry& entry = entries_.emplace(operation->id, Entry{.operation = operation, .waits = waits})
                       .first->second;
    if (operation->request.has_acquire()) {
      entry.acquires = PlainId(operation->request.acquire().lease_id());
    }
    if (waits) ++waiting_;
    Queue(operation->id, operation->request);
    deadlines_.emplace(operation->deadline, operation->id);
    ArmTimer();
    step = NextStep();
  }
  Do(step);
  return true;
}

void SessionLink::Queue(uint64_t id, const v1::SessionOperation& request) {
  using Way = Entry::Way;
  Way& way = entries_.at(id).way;
  if (request.has_release()) heartbeats_.Drop(request.release().lease_id());
  if (request.has_extend()) {
    const v1::ExtendRequest& extend = request.extend();
    if (heartbeats_.Carries(extend)) {
      way = Way::kHeartbeat;
      heartbeats_.Add(id, extend.lease_id(), clock_.Now());
      return;
    }
    // An adoption extends by the ttl as granted, and checks the token.
    if (!extend.has_ttl() && extend.fencing_token() > 0 && !heartbeats_.Knows(extend.lease_id())) {
      way = Way::kAdopt;
      adopts_.push_back(id);
      return;
    }
  }
  way = Way::kBatch;
  queue_.push_back(id);
}

void SessionLink::Forget(const std::string& name, const std::string& lease_id) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    ExtendOnly(lease_id);
    if (adopting_.contains(lease_id)) to_forget_.insert(lease_id);
    if (heartbeats_.Knows(lease_id)) {
      heartbeats_.Drop(lease_id);
      forgets_.push_back({name, lease_id});
    }
    step = NextStep();
  }
  Do(step);
}

// Adoptions of this lease that are not sent yet become extends, which the session does not keep.
void SessionLink::ExtendOnly(const std::string& lease_id) {
  std::erase_if(adopts_, [&](uint64_t id) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return true;  // It was too late.
    Entry& entry = found->second;
    if (entry.operation->request.extend().lease_id() != lease_id) return false;
    entry.way = Entry::Way::kBatch;
    queue_.push_back(id);
    return true;
  });
}

bool SessionLink::Cancel(const PendingOperation& operation) {
  PendingOperationPtr ended;
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(operation.id);
    if (found == entries_.end() || found->second.operation.get() != &operation) return false;
    ended = GiveUp(operation.id);
    step = NextStep();
  }
  std::move(ended->done)(absl::CancelledError("cancelled by the caller"));
  Do(step);
  return true;
}

bool SessionLink::Retire() {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kOpening || !entries_.empty() || unreadable_ || unwritable_) return false;
    state_ = State::kRetiring;
    step = NextStep();
  }
  Do(step);
  return true;
}

void SessionLink::RetireWhenAnswered() {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kEnded) return;
    if (state_ == State::kOpen) state_ = State::kRetiring;
    outdated_ = true;
    step = NextStep();
  }
  Do(step);
}

void SessionLink::Break() {
  std::shared_ptr<SessionStream> stream;
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    stream = stream_;
  }
  if (stream) stream->Cancel();
}

SessionLink::Step SessionLink::NextStep() {
  if (unreadable_) {
    if (writing_ || let_go_) return Step::kNothing;
    let_go_ = true;
    return Step::kLetGo;
  }
  if (writing_ || writes_closed_ || unwritable_ || state_ == State::kOpening) return Step::kNothing;
  // Adoptions have a message each: in turn with the others, so that neither waits for all of them.
  is_turn_of_adopts_ = !is_turn_of_adopts_;
  if (TakeCancel() || TakeForget() || TakeHeartbeat() || (is_turn_of_adopts_ && TakeAdopt()) ||
      TakeBatch() || TakeAdopt()) {
    writing_ = true;
    return Step::kWrite;
  }
  if (state_ == State::kRetiring && entries_.empty()) {
    writing_ = writes_closed_ = true;
    return Step::kCloseWrites;
  }
  return Step::kNothing;
}

void SessionLink::Do(Step step) {
  switch (step) {
    case Step::kNothing:
      return;
    case Step::kWrite:
      return stream_->Write(message_);
    case Step::kCloseWrites:
      return stream_->CloseWrites();
    case Step::kLetGo:
      return stream_->LetGo();
  }
}

bool SessionLink::TakeCancel() {
  while (!cancels_.empty()) {
    const uint64_t id = cancels_.front();
    cancels_.pop_front();
    if (!entries_.contains(id)) continue;  // It was answered meanwhile.
    message_.mutable_cancel()->set_operation_id(id);
    return true;
  }
  return false;
}

bool SessionLink::TakeForget() {
  if (forgets_.empty()) return false;
  v1::SessionForget& forget = *message_.mutable_forget();
  forget.set_name(std::move(forgets_.front().name));
  forget.set_lease_id(std::move(forgets_.front().lease_id));
  forgets_.pop_front();
  return true;
}

bool SessionLink::TakeHeartbeat() {
  const Instant now = clock_.Now();
  if (!heartbeats_.due() || *heartbeats_.due() > now) return false;
  for (const Heartbeats::Carried& each : heartbeats_.Send(*message_.mutable_heartbeat())) {
    const auto found = entries_.find(each.operation);
    if (found == entries_.end()) continue;  // It was too late.
    found->second.sent = true;
    found->second.sent_at = now;
  }
  return true;
}

bool SessionLink::TakeAdopt() {
  while (!adopts_.empty() && sent_ < sent_max_) {
    const uint64_t id = adopts_.front();
    adopts_.pop_front();
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    const v1::ExtendRequest& extend = entry.operation->request.extend();
    if (!adopting_.emplace(extend.lease_id(), id).second) {
      // Its answer could not be told from that of the one before.
      entry.way = Entry::Way::kBatch;
      queue_.push_back(id);
      continue;
    }
    v1::SessionAdopt& adopt = *message_.mutable_adopt();
    adopt.set_name(extend.name());
    adopt.set_lease_id(extend.lease_id());
    adopt.set_fencing_token(extend.fencing_token());
    adopt.set_reassertion(extend.reassertion());
    entry.sent = true;
    ++sent_;
    entry.sent_at = clock_.Now();
    return true;
  }
  return false;
}

bool SessionLink::TakeBatch() {
  message_.Clear();
  v1::SessionBatch& batch = *message_.mutable_batch();
  size_t bytes = 0;
  while (!queue_.empty() && sent_ < sent_max_ && batch.operations_size() < kSessionBatchMax) {
    const auto found = entries_.find(queue_.front());
    if (found == entries_.end()) {  // It was cancelled.
      queue_.pop_front();
      continue;
    }
    Entry& entry = found->second;
    v1::SessionOperation& request = entry.operation->request;
    request.set_id(found->first);
    bytes += request.ByteSizeLong() + kOperationHeadBytes;
    if (bytes > kSessionBatchBytesMax) break;
    batch.add_operations()->Swap(&request);
    entry.sent = true;
    ++sent_;
    entry.sent_at = clock_.Now();
    queue_.pop_front();
  }
  return batch.operations_size() > 0;
}

void SessionLink::Erase(Entries::iterator entry) {
  if (entry->second.waits) --waiting_;
  // A heartbeat takes no place.
  if (entry->second.sent && entry->second.way != Entry::Way::kHeartbeat) --sent_;
  entries_.erase(entry);
}

// Removes the answered operation and returns it. Null if nobody waits for it any more.
PendingOperationPtr SessionLink::Take(uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  PendingOperationPtr operation = std::move(found->second.operation);
  if (operation != nullptr) deadlines_.erase({operation->deadline, id});
  Erase(found);
  return operation;
}

// Detaches the operation, to be answered without the daemon. If it was sent, its place stays taken
// until the daemon has answered.
PendingOperationPtr SessionLink::GiveUp(uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.operation == nullptr) return nullptr;
  Entry& entry = found->second;
  PendingOperationPtr operation = std::move(entry.operation);
  entry.operation = nullptr;
  deadlines_.erase({operation->deadline, id});
  if (!entry.sent) {
    Erase(found);
  } else if (entry.waits) {
    cancels_.push_back(id);
  } else if (entry.way == Entry::Way::kHeartbeat) {
    heartbeats_.Unanswered();
  }
  return operation;
}

// Nobody waits for the answer that grants this lease.
void SessionLink::ForgetUnclaimed(const v1::Lease& lease) {
  // An adoption that is on its way would be forgotten, too.
  if (heartbeats_.Knows(lease.lease_id()) || adopting_.contains(lease.lease_id())) return;
  // Who chose the lease id may have asked for it again. That acquire's answer decides.
  const bool is_asked_for = std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.second.acquires == lease.lease_id();
  });
  if (!is_asked_for) forgets_.push_back({lease.name(), lease.lease_id()});
}

void SessionLink::TakeResults(v1::SessionResults& results, std::vector<Answered>& answered) {
  answered.reserve(static_cast<size_t>(results.results_size()));
  for (v1::SessionResult& result : *results.mutable_results()) {
    PendingOperationPtr operation = Take(result.operation_id());
    if (result.has_acquire() && result.acquire().has_lease()) {
      const v1::Lease& lease = result.acquire().lease();
      if (operation == nullptr) {
        ForgetUnclaimed(lease);
      } else if (!lease.offered()) {
        heartbeats_.Granted(lease);
      }
    }
    if (operation == nullptr) {
      if (result.has_extend()) ForgetUnclaimed(result.extend().lease());  // A claim.
      continue;
    }
    if (result.has_extend()) heartbeats_.Extended(result.extend().lease());
    if (result.has_error()) {
      answered.push_back({std::move(operation), StatusFromOperation(result.error())});
    } else {
      answered.push_back({std::move(operation), std::move(result)});
    }
  }
}

void SessionLink::TakeOffer(v1::SessionOffer& offer, std::vector<Answered>& answered) {
  PendingOperationPtr operation = Take(offer.operation_id());
  if (operation == nullptr) return;  // An offer lapses soon.
  heartbeats_.Offered(offer.lease().lease_id());
  v1::SessionResult result;
  *result.mutable_acquire()->mutable_lease() = std::move(*offer.mutable_lease());
  result.mutable_acquire()->mutable_lease()->set_offered(true);
  answered.push_back({std::move(operation), std::move(result)});
}

void SessionLink::TakeAdoptResult(v1::SessionAdoptResult& adopted,
                                  std::vector<Answered>& answered) {
  const auto adopting = adopting_.extract(adopted.lease_id());
  if (adopting.empty()) return;
  PendingOperationPtr operation = Take(adopting.mapped());
  if (to_forget_.erase(adopted.lease_id()) > 0) {
    forgets_.push_back({adopted.name(), adopted.lease_id()});
  } else if (adopted.has_lease()) {
    heartbeats_.Granted(adopted.lease());
  }
  if (operation == nullptr) return;
  if (adopted.has_error()) {
    answered.push_back({std::move(operation), StatusFromOperation(adopted.error())});
    return;
  }
  v1::SessionResult result;
  *result.mutable_extend()->mutable_lease() = std::move(*adopted.mutable_lease());
  answered.push_back({std::move(operation), std::move(result)});
}

void SessionLink::TakeHeartbeatResult(const v1::SessionHeartbeatResult& beaten,
                                      std::vector<Answered>& answered) {
  for (Heartbeats::Carried& each : heartbeats_.Answered(beaten)) {
    const auto found = entries_.find(each.operation);
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    if (entry.operation == nullptr) {
      Erase(found);
    } else if (each.lease) {
      v1::SessionResult result;
      *result.mutable_extend()->mutable_lease() = *std::move(each.lease);
      answered.push_back({Take(each.operation), std::move(result)});
    } else {  // What became of this one, its own extend tells.
      entry.sent = false;
      entry.way = Entry::Way::kBatch;
      queue_.push_back(each.operation);
    }
  }
}

void SessionLink::TakeLost(const v1::SessionLeaseLost& lost, std::vector<LeaseName>& ended) {
  if (lost.reason() != v1::ERROR_REASON_LEASE_LOST) return;  // Its next extend tells.
  heartbeats_.Drop(lost.lease_id());
  ended.push_back({lost.name(), lost.lease_id()});
}

void SessionLink::OnMessage(v1::SessionResponse& message) {
  using Message = v1::SessionResponse;
  std::vector<Answered> answered;
  std::vector<LeaseName> ended;
  Step step = Step::kNothing;
  const Message::MessageCase kind = message.message_case();
  {
    const std::lock_guard lock(mutex_);
    switch (kind) {
      case Message::kOpened: {
        const int32_t allowed = message.opened().max_outstanding_operations();
        // Not all of them: the server frees a place only after its answer has been written.
        sent_max_ = static_cast<size_t>(allowed > 0 ? allowed - allowed / 4 : kOutstandingDefault);
        was_open_ = true;
        if (state_ == State::kOpening) state_ = outdated_ ? State::kRetiring : State::kOpen;
        std::erase_if(deadlines_, [](const auto& deadline) { return deadline.second == 0; });
        break;
      }
      case Message::kResults:
        TakeResults(*message.mutable_results(), answered);
        break;
      case Message::kOffer:
        TakeOffer(*message.mutable_offer(), answered);
        break;
      case Message::kAdoptResult:
        TakeAdoptResult(*message.mutable_adopt_result(), answered);
        break;
      case Message::kHeartbeatResult:
        for (const auto& lost : message.heartbeat_result().not_extended()) TakeLost(lost, ended);
        TakeHeartbeatResult(message.heartbeat_result(), answered);
        break;
      case Message::kLeaseLost:
        TakeLost(message.lease_lost(), ended);
        break;
      case Message::kDraining:
        if (state_ == State::kOpen) state_ = State::kRetiring;
        break;
      default:
        break;
    }
    heard_at_ = clock_.Now();
    suspect_ = false;
  }
  if (kind == Message::kOpened) owner_.OnOpened(*this);
  if (kind == Message::kDraining) owner_.OnDraining(*this);
  for (Answered& each : answered) std::move(each.operation->done)(std::move(each.answer));
  for (const LeaseName& each : ended) owner_.OnLeaseEnded(*this, each.name, each.lease_id);
  {
    const std::lock_guard lock(mutex_);
    step = NextStep();
  }
  Do(step);
}

void SessionLink::OnWritten(bool ok) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) unwritable_ = true;
    step = NextStep();
  }
  Do(step);
}

void SessionLink::OnUnreadable() {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    unreadable_ = true;
    step = NextStep();
  }
  Do(step);
}

SessionPolicy::End SessionLink::EndOf(const absl::Status& status) const {
  using End = SessionPolicy::End;
  if (absl::IsUnimplemented(status)) return End::kUnsupported;
  if (!was_open_) return End::kNotOpened;
  return state_ == State::kRetiring || broken_ ? End::kRetired : End::kCut;
}

void SessionLink::OnEnded(absl::Status status) {
  const std::shared_ptr<SessionLink> self = shared_from_this();
  std::vector<PendingOperationPtr> unsent;
  Entries sent;
  SessionPolicy::End end{};
  {
    const std::lock_guard lock(mutex_);
    end = EndOf(status);
    state_ = State::kEnded;
    scheduler_.Cancel(std::exchange(timer_, Scheduler::kNoTimer));
    deadlines_.clear();
    queue_.insert(queue_.end(), adopts_.begin(), adopts_.end());
    for (const Heartbeats::Carried& each : heartbeats_.TakeWaiting()) {
      queue_.push_back(each.operation);
    }
    for (const uint64_t id : queue_) {
      const auto found = entries_.find(id);
      if (found == entries_.end()) continue;
      unsent.push_back(std::move(found->second.operation));
      entries_.erase(found);
    }
    queue_.clear();
    adopts_.clear();
    sent.swap(entries_);
  }
  owner_.OnBroken(*this, end, std::move(unsent));
  for (auto& [id, entry] : sent) {
    if (entry.operation != nullptr) std::move(entry.operation->done)(Unknown());
  }
  sent.clear();
  owner_.OnGone(*this);
}

void SessionLink::ArmTimer() {
  if (deadlines_.empty()) return;
  Instant at = deadlines_.begin()->first;
  // One that is due already goes out with the next write.
  if (const auto due = heartbeats_.due(); due && *due > clock_.Now()) at = std::min(at, *due);
  // A timer that fires too early is harmless, and is cheaper than moving the timer with each
  // operation.
  if (timer_ != Scheduler::kNoTimer && timer_at_ <= at) return;
  scheduler_.Cancel(timer_);
  timer_at_ = at;
  timer_ = scheduler_.RunAt(at, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

void SessionLink::OnTimer() {
  std::vector<PendingOperationPtr> late;
  Step step = Step::kNothing;
  bool hopeless = false;
  {
    const std::lock_guard lock(mutex_);
    timer_ = Scheduler::kNoTimer;
    if (state_ == State::kEnded) return;
    const Instant now = clock_.Now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const uint64_t id = deadlines_.begin()->second;
      deadlines_.erase(deadlines_.begin());
      if (id == 0) hopeless = true;
      const auto found = entries_.find(id);
      if (found == entries_.end()) continue;
      const Entry& entry = found->second;
      suspect_ = suspect_ || (entry.sent && !entry.waits && heard_at_ < entry.sent_at);
      if (PendingOperationPtr operation = GiveUp(id)) late.push_back(std::move(operation));
    }
    ArmTimer();
    step = NextStep();
  }
  for (PendingOperationPtr& operation : late) std::move(operation->done)(Late());
  Do(step);
  if (hopeless) Break();
}

}  // namespace lockkeeper::client
