// SPDX-License-Identifier: Apache-2.0
//
// The operations of one session: numbers them, sends what has gathered while a write was under way
// together, and brings the answers back. An operation that comes alone goes out at once.
//
// State    | until                      | operations
// opening  | the server says `opened`   | gather
// open     | the daemon drains          | go out
// retiring | all operations are answered | go out; then the stream is closed
// ended    |                            | are refused
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
#include "transport/operation.h"
#include "transport/session_policy.h"
#include "transport/session_stream.h"

namespace lockkeeper::client {

// The server takes 1,024 operations and 64 KiB a message; a whole message of it has a few bytes
// more than its operations.
inline constexpr int kSessionBatchMax = 1'024;
inline constexpr size_t kSessionBatchBytesMax = 60 * 1024;

// Longest wait for the opening: some proxies keep a stream to themselves until it has ended.
inline constexpr Duration kSessionOpenTimeout = std::chrono::seconds(2);

class SessionLink;

// Thread-safety: called on any thread, with no mutex of the link held.
class SessionLinkOwner {
 public:
  virtual ~SessionLinkOwner() = default;

  virtual void OnOpened(SessionLink& link) = 0;
  virtual void OnDraining(SessionLink& link) = 0;
  // `unsent` were never sent and are left to the owner. Those that were sent are answered
  // UNAVAILABLE after this, since nobody knows what became of them.
  virtual void OnBroken(SessionLink& link, SessionPolicy::End end,
                        std::vector<OperationPtr> unsent) = 0;
  // All operations are answered and the stream is gone. The last call.
  virtual void OnGone(SessionLink& link) = 0;
};

// Thread-safety: thread-safe. Lifetime: borrows all arguments until OnGone.
class SessionLink final : public SessionEvents, public std::enable_shared_from_this<SessionLink> {
 public:
  SessionLink(const Clock& clock, Scheduler& scheduler, SessionLinkOwner& owner);

  // Whether a session can carry it: one that is too long, or is not UTF-8, would break the stream
  // for all others.
  static bool CanCarry(const v1::SessionOperation& request);

  // `client_owner`: names the client for people. Called once.
  void Open(std::shared_ptr<SessionStream> stream, std::string client_owner);

  // False: it takes no more, or none now. Requires: CanCarry.
  bool Run(const OperationPtr& operation);

  // Answers it CANCELLED. False if it is not here.
  bool Cancel(const Operation& operation);

  // Closes the stream in good order, which takes a word from the daemon. False if it cannot be
  // done: it is not open, or something is under way.
  bool Retire();

  // Ends the stream at once.
  void Break();

  void OnMessage(v1::SessionResponse& message) override;
  void OnWritten(bool ok) override;
  void OnUnreadable() override;
  void OnEnded(absl::Status status) override;

 private:
  struct Entry {
    OperationPtr operation;  // Null: nobody waits for the answer any more.
    bool waits = false;      // An acquire that may stand in line.
    bool sent = false;
    Instant sent_at;
  };
  using Entries = std::unordered_map<uint64_t, Entry>;
  struct Answered {
    OperationPtr operation;
    OperationAnswer answer;
  };
  // What comes next on the stream. It is done without the mutex.
  enum class Step { kNothing, kWrite, kCloseWrites, kLetGo };

  // Requires of these: mutex_ held.
  Step NextStep();
  bool TakeCancel();
  bool TakeBatch();
  OperationPtr Take(uint64_t id);
  OperationPtr GiveUp(uint64_t id);
  void TakeResults(v1::SessionResults& results, std::vector<Answered>& answered);
  void TakeOffer(v1::SessionOffer& offer, std::vector<Answered>& answered);
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
  v1::SessionRequest
      message_;  // Its writer's while writing_; else guarded by mutex_, as all below.
  enum class State { kOpening, kOpen, kRetiring, kEnded } state_ = State::kOpening;
  bool was_open_ = false;
  bool writing_ = false;
  bool writes_closed_ = false;
  bool unwritable_ = false;
  bool unreadable_ = false;
  bool let_go_ = false;
  bool broken_ = false;  // By us.
  uint64_t last_id_ = 0;
  Entries entries_;
  std::deque<uint64_t> queue_;    // Not sent. May name what has been given up.
  std::deque<uint64_t> cancels_;  // To be sent.
  size_t sent_ = 0;               // Entries that are.
  size_t waiting_ = 0;            // Entries that may stand in line.
  size_t sent_max_ = 0;
  std::set<std::pair<Instant, uint64_t>> deadlines_;  // 0: of the opening.
  Scheduler::TimerId timer_ = Scheduler::kNoTimer;
  Instant timer_at_;
  Instant heard_at_;
  // Something is late, and nothing was heard since it was sent: until something is, others are not
  // given to this connection. If it is gone, gRPC's pings will find out.
  bool suspect_ = false;
};

}  // namespace lockkeeper::client
