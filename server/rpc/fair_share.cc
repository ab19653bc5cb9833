// SPDX-License-Identifier: Apache-2.0
#include "rpc/fair_share.h"

#include <deque>

#include "absl/container/node_hash_map.h"

namespace lockkeeper::rpc {
namespace {

// Until the store is looked at again: it answers some dozens of operations in this time.
constexpr core::Micros kLookAgain{500};

// Beyond it they go to the domain, which rejects what is too much. A second's work would only wait
// for its deadline.
constexpr size_t kStepsMax = 65'536;

}  // namespace

// Those that wait. The timer refers to it, and is of the loop's thread: so is its end.
struct FairShare::Steps : std::enable_shared_from_this<FairShare::Steps> {
  using Queue = std::pair<const std::string, std::deque<core::Task>>;

  Steps(core::Executor& executor, const core::Clock& time, std::function<size_t()> operations)
      : loop(executor), clock(time), under_way(std::move(operations)) {}

  bool StoreIsBusy() const { return under_way() >= kOperationsUnderWayMax; }

  bool NextMayRun(core::Instant now) const {
    return !StoreIsBusy() || count > kStepsMax || now - had_room >= kStoreSilenceMax;
  }

  void RunNext(core::Instant now) {
    if (!StoreIsBusy()) had_room = now;
    Queue& queue = *turns.front();
    turns.pop_front();
    core::Task task = std::move(queue.second.front());
    queue.second.pop_front();
    --count;
    if (queue.second.empty()) {
      by_principal.erase(queue.first);
    } else {
      turns.push_back(&queue);
    }
    std::move(task)();
  }

  void RunAllThatMay() {
    const core::Instant now = clock.Now();
    while (!turns.empty() && NextMayRun(now)) RunNext(now);
    timer = nullptr;
    if (!turns.empty()) LookAgain();
  }

  void LookAgain() {
    timer = loop.After(kLookAgain, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->RunAllThatMay();
    });
  }

  core::Executor& loop;
  const core::Clock& clock;
  const std::function<size_t()> under_way;
  absl::node_hash_map<std::string, std::deque<core::Task>> by_principal;  // None is empty.
  std::deque<Queue*> turns;                                               // All of them.
  size_t count = 0;                                                       // Of steps.
  core::Instant had_room;  // The store, when it was last seen; or the first step began to wait.
  std::unique_ptr<core::Timer> timer;  // Runs if there are any.
};

FairShare::FairShare(core::Executor& loop, const core::Clock& clock,
                     std::function<size_t()> under_way)
    : loop_(loop), steps_(std::make_shared<Steps>(loop, clock, std::move(under_way))) {}

FairShare::~FairShare() {
  loop_.Post([steps = std::move(steps_)] {});
}

bool FairShare::MayRunNow() const { return steps_->turns.empty() && !steps_->StoreIsBusy(); }

void FairShare::Enter(const std::string& principal, core::Task step) {
  if (steps_->turns.empty()) steps_->had_room = steps_->clock.Now();
  const auto [queue, is_new] = steps_->by_principal.try_emplace(principal);
  queue->second.push_back(std::move(step));
  ++steps_->count;
  if (is_new) steps_->turns.push_back(&*queue);
  if (steps_->timer == nullptr) steps_->LookAgain();
}

}  // namespace lockkeeper::rpc
