// SPDX-License-Identifier: Apache-2.0
//
// The operations of one session: numbers them, sends them and matches the answers. Operations that
// arrive while a write is in flight go together in the next one; a single operation goes out at
// once. But extends of leases that this session keeps wait for each other, and one heartbeat
// carries them all; and an extend of a lease of an earlier session adopts it.
//
// State    | until                      | operations
// opening  | the server says `opened`   | are queued
// open     | the daemon drains          | are sent
// retiring | all operations are answered | are sent; then the stream is closed
// ended    |                            | are rejected
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "renewal/scheduler.h"
#include "transport/heartbeats.h"
#include "transport/operation.h"
#include "transport/session_policy.h"
#include "transport/session_stream.h"

namespace lockkeeper::client {

// The server accepts 1,024 operations and 64 KiB in a message. A message is a few bytes longer than
// its operations.
inline constexpr int kSessionBatchMax = 1'024;
inline constexpr size_t kSessionBatchBytesMax = 60 * 1024;

// Longest wait for the opening: some proxies forward nothing of a stream until it has ended.
inline constexpr Duration kSessionOpenTimeout = std::chrono::seconds(2);

class SessionLink;

// Thread-safety: called on any thread, with no mutex of the link held.
class SessionLinkOwner {
 public:
  virtual ~SessionLinkOwner() = default;

  virtual void OnOpened(SessionLink& link) = 0;
  virtual void OnDraining(SessionLink& link) = 0;
  // The daemon says that this lease has ended, perhaps before the answer that grants it is read.
  virtual void OnLeaseEnded(SessionLink& link, const std::string& name,
                            const std::string& lease_id) = 0;
  // The stream has ended. `unsent` were never sent; the owner runs them elsewhere. Operations that
  // were sent are answered UNAVAILABLE after this, since their outcome is unknown.
  virtual void OnBroken(SessionLink& link, SessionPolicy::End end,
                        std::vector<PendingOperationPtr> unsent) = 0;
  // All operations are answered and the stream is gone. This is the last call.
  virtual void OnGone(SessionLink& link) = 0;
};

// Thread-safety: thread-safe. Lifetime: borrows all arguments until OnGone.
class SessionLink final : public SessionEvents, public std::enable_shared_from_this<SessionLink> {
 public:
  SessionLink(const Clock& clock, Scheduler& scheduler, SessionLinkOwner& owner);

  // Whether a session can carry this operation. One that is too long, or is not UTF-8, would break
  // the stream for all others.
  static bool CanCarry(const v1::SessionOperation& request);

  // `client_owner`: names the client for people. Called once.
  void Open(std::shared_ptr<SessionStream> stream, std::string client_owner);

  // Sends the operation. False if this session takes no more, or none at the moment. Requires:
  // CanCarry.
  bool Run(const PendingOperationPtr& operation);

  // The client has given the lease up without a release: no heartbeat keeps it any more.
  void Forget(const std::string& name, const std::string& lease_id);

  // Answers the operation with CANCELLED. False if this session does not have it.
  bool Cancel(const PendingOperation& operation);

  // Closes the stream cleanly, which needs an answer of the daemon. False if that is not possible:
  // the session is not open, or operations are in flight.
  bool Retire();

  // Closes the stream cleanly as soon as all operations are answered. Takes no new ones.
  void RetireWhenAnswered();

  // Ends the stream at once.
  void Break();

  void OnMessage(v1::SessionResponse& message) override;
  void OnWritten(bool ok) override;
  void OnUnreadable() override;
  void OnEnded(absl::Status status) override;

 private:
  struct Entry {
    PendingOperationPtr operation;  // Null if nobody waits for the answer any more.
    bool waits = false;             // An acquire that may stand in line.
    std::string acquires = {};      // The lease id, if it is an acquire.
    // How it goes to the daemon: in a batch, in a message of its own, or with a heartbeat.
    enum class Way { kBatch, kAdopt, kHeartbeat } way = Way::kBatch;
    bool sent = false;
    Instant sent_at;
  };
  using Entries = std::unordered_map<uint64_t, Entry>;
  struct Answered {
    PendingOperationPtr operation;
    OperationAnswer answer;
  };
  struct LeaseName {
    std::string name;
    std::string lease_id;
  };
  // The next thing to do on the stream, without the mutex.
  enum class Step { kNothing, kWrite, kCloseWrites, kLetGo };

  // Requires of these: mutex_ held.
  Step NextStep();
  void Queue(uint64_t id, const v1::SessionOperation& request);
  void ExtendOnly(const std::string& lease_id);
  bool TakeCancel();
  bool TakeForget();
  bool TakeHeartbeat();
  bool TakeAdopt();
  bool TakeBatch();
  PendingOperationPtr Take(uint64_t id);
  PendingOperationPtr GiveUp(uint64_t id);
  void ForgetUnclaimed(const v1::Lease& lease);
  void TakeResults(v1::SessionResults& results, std::vector<Answered>& answered);
  void TakeOffer(v1::SessionOffer& offer, std::vector<Answered>& answered);
  void TakeAdoptResult(v1::SessionAdoptResult& adopted, std::vector<Answered>& answered);
  void TakeHeartbeatResult(const v1::SessionHeartbeatResult& beaten,
                           std::vector<Answered>& answered);
  void TakeLost(const v1::SessionLeaseLost& lost, std::vector<LeaseName>& ended);
  void Erase(Entries::iterator entry);
  void ArmTimer();
  SessionPolicy::End EndOf(const absl::Status& status) const;

  // Without it.
  void Do(Step step);
  void OnTimer();

  const Clock& clock_;
  Scheduler& scheduler_;
  SessionLinkOwner& owner_;
  std::shared_ptr<SessionStream> stream_;  // Set by Open.

  std::mutex mutex_;
  v1::SessionRequest message_;  // Used by the write in flight if writing_; else guarded by
                                // mutex_, as all below.
  enum class State { kOpening, kOpen, kRetiring, kEnded } state_ = State::kOpening;
  bool was_open_ = false;
  bool writing_ = false;
  bool writes_closed_ = false;
  bool unwritable_ = false;
  bool unreadable_ = false;
  bool let_go_ = false;
  bool broken_ = false;    // By us.
  bool outdated_ = false;  // Another session takes its place.
  uint64_t last_id_ = 0;
  Entries entries_;
  std::deque<uint64_t> queue_;    // Not sent yet. May have ids of operations that were cancelled.
  std::deque<uint64_t> adopts_;   // The same, of those that adopt.
  std::deque<uint64_t> cancels_;  // Still to be sent.
  std::deque<LeaseName> forgets_;
  Heartbeats heartbeats_;
  std::unordered_map<std::string, uint64_t> adopting_;  // Sent, by lease id.
  std::set<std::string> to_forget_;                     // Once they are adopted.
  bool is_turn_of_adopts_ = false;
  size_t sent_ = 0;     // Entries that were sent.
  size_t waiting_ = 0;  // Entries that may stand in line.
  size_t sent_max_ = 0;
  std::set<std::pair<Instant, uint64_t>> deadlines_;  // 0: of the opening.
  Scheduler::TimerId timer_ = Scheduler::kNoTimer;
  Instant timer_at_;
  Instant heard_at_;
  // An answer is late, and nothing was received since its operation was sent. Until something is
  // received, this connection gets no new operations. If the connection is gone, gRPC's pings will
  // notice.
  bool suspect_ = false;
};

}  // namespace lockkeeper::client
