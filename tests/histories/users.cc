// SPDX-License-Identifier: Apache-2.0
#include "histories/users.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client_core.h"
#include "lockkeeper/error.h"
#include "transport/channels.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kAlone = 4;
constexpr int kInLine = 4;
// Not so short that a busy machine alone costs a lease.
constexpr milliseconds kTtl{6'000};
constexpr milliseconds kWait{30'000};
constexpr milliseconds kCallTimeout{10'000};
// Within this time a retry has succeeded.
constexpr milliseconds kHiddenWithin{8'000};
constexpr milliseconds kWork{4};
constexpr milliseconds kBetween{8};
constexpr size_t kProblemsMax = 10;
constexpr const char* kLockForAll = "wanted by all users";
// What client/README.md says that a client retries. UNAVAILABLE without a reason: the connection
// was lost, or there is nobody. CANCELLED and DEADLINE_EXCEEDED: an attempt without an answer.
// STORE_QUARANTINED is not among them: no daemon that comes or goes is a loss.
constexpr const char* kHidden[] = {
    "14 ", "14 SERVER_DRAINING", "14 OUTCOME_UNKNOWN", "14 STORE_UNAVAILABLE", "8 RATE_LIMIT", "1 ",
    "4 "};

std::string CodeAndReason(const absl::Status& status) {
  return std::to_string(static_cast<int>(status.code())) + " " + ReasonNameOf(status);
}

}  // namespace

bool IsHidden(const std::string& code_and_reason) {
  return std::ranges::find(kHidden, code_and_reason) != std::end(kHidden);
}

Users::Users(const UsersOptions& options) : newest_features_(options.newest_features) {
  for (int i = 0; i < kAlone; ++i) Start(options, &Users::WorkAlone);
  for (int i = 0; i < kInLine; ++i) Start(options, &Users::WorkInLine);
  for (int i = 0; i < 2; ++i) Start(options, &Users::Hold);
}

Users::~Users() { Stop(); }

std::unique_ptr<Client> Users::NewClient(const UsersOptions& options, bool sessions, size_t first) {
  // The client uses the first address that answers. So each begins with another one.
  std::vector<std::string> addresses = options.daemons;
  std::rotate(addresses.begin(),
              addresses.begin() + static_cast<std::ptrdiff_t>(first % addresses.size()),
              addresses.end());
  return std::make_unique<Client>(std::make_shared<client::ClientCore>(
      ClientOptions{.addresses = addresses,
                    .owner = "a user",
                    .call_timeout = kCallTimeout,
                    .release_timeout = kCallTimeout,
                    .on_unserved = [this](const absl::Status& why) { NoteHidden(why); }},
      client::Channels::Open(addresses, sessions ? client::Channels::Sessions::kUsed
                                                 : client::Channels::Sessions::kNotUsed)));
}

void Users::Start(const UsersOptions& options, void (Users::*work)(User&)) {
  const size_t number = users_.size();
  User& user = *users_.emplace_back(std::make_unique<User>(options.seed + number));
  user.name = "user" + std::to_string(number);
  user.holds = work == &Users::Hold;
  user.client = NewClient(options, number % 2 == 0, number / 2);
  user.thread = std::thread([this, work, &user] {
    while (!stopping_) (this->*work)(user);
  });
}

UsersReport Users::Stop() {
  stopping_ = true;
  for (const auto& user : users_) {
    if (user->thread.joinable()) user->thread.join();
    user->client.reset();
  }
  const std::lock_guard lock(mutex_);
  report_.locks = 0;
  for (const auto& user : users_) report_.locks += user->locks;
  return report_;
}

bool Users::AllWorked() {
  for (const auto& user : users_) {
    if (!user->holds && user->locks == user->locks_before) return false;
  }
  for (const auto& user : users_) user->locks_before = user->locks;
  return true;
}

void Users::NoteHidden(const absl::Status& why) {
  const std::string what = CodeAndReason(why);
  if (!IsHidden(what)) NoteProblem("a client retries what it should not meet: " + what);
  const std::lock_guard lock(mutex_);
  ++report_.hidden[what];
}

void Users::NoteProblem(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (report_.problems.size() < kProblemsMax) report_.problems.push_back(problem);
}

void Users::NoteCall(Clock::time_point sent, const std::string& what, const absl::Status& status) {
  const auto elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - sent);
  if (!status.ok()) {
    NoteProblem(what + ": " + CodeAndReason(status) + ": " + std::string(status.message()));
  } else if (elapsed > kHiddenWithin) {
    NoteProblem(what + " took " + std::to_string(elapsed.count()) + " ms");
  }
  const std::lock_guard lock(mutex_);
  report_.slowest_call = std::max(report_.slowest_call, elapsed);
}

AcquireOptions Users::DrawOptions(User& user) const {
  AcquireOptions options{.ttl = kTtl};
  switch (user.random.Below(newest_features_ ? 6 : 4)) {
    case 0:
      options.labels = {{"team", "storage"}, {"job", "nightly"}};
      options.owner = user.name + std::string(200, '.');
      break;
    case 1:
      options.lock_delay = milliseconds(100);
      break;
    case 2:
      options.max_hold = milliseconds(20'000);
      break;
    case 4:
      options.hold_at_least = milliseconds(50);
      break;
    case 5:
      options.min_assurance = Assurance::kDisk;
      break;
    default:
      break;
  }
  return options;
}

void Users::CheckAlone(User& user, const std::string& lock, Lease& lease) {
  auto sent = Clock::now();
  const auto fenced = user.client->Fence(lock, lease.fencing_token(), {.require_live_lease = true});
  NoteCall(sent, "fence", fenced.status());
  if (fenced.ok() && !fenced->admitted()) NoteProblem("the token of a live lease is not admitted");
  sent = Clock::now();
  const auto released = lease.Release();
  NoteCall(sent, "release", released.status());
  if (released.ok() && *released != ReleaseOutcome::kReleased) {
    NoteProblem("a lease was over when it was released");
  }
  if (lease.lost()) NoteProblem("a lease was lost");
}

void Users::WorkAlone(User& user) {
  // Some names come again, so that their records have a past; with hold_at_least they stay closed.
  const AcquireOptions options = DrawOptions(user);
  const bool again = options.hold_at_least == milliseconds(0) && user.random.OneIn(2);
  const std::string lock =
      user.name + " alone " +
      (again ? std::to_string(user.random.Below(8)) : "once " + std::to_string(user.random.Bits()));
  const auto sent = Clock::now();
  AcquireResult result = user.client->Acquire(lock, options);
  NoteCall(sent, "acquire", result.status());
  if (result) {
    CheckAlone(user, lock, *result);
    ++user.locks;
  }
  std::this_thread::sleep_for(kBetween);
}

void Users::WorkInLine(User& user) {
  AcquireOptions options = DrawOptions(user);
  options.wait_timeout = kWait;
  AcquireResult result = user.client->Acquire(kLockForAll, options);
  if (!result) {
    return NoteProblem("a waiter: " + CodeAndReason(result.status()) + ": " +
                       std::string(result.status().message()));
  }
  if (++inside_ != 1) NoteProblem("two have the same lock");
  const int64_t token = result->fencing_token();
  if (last_token_.exchange(token) >= token) NoteProblem("a token did not rise");
  std::this_thread::sleep_for(kWork);
  if (result->lost()) NoteProblem("a lease was lost");
  --inside_;
  const auto sent = Clock::now();
  const auto released = result->Release();
  NoteCall(sent, "release", released.status());
  if (released.ok() && *released != ReleaseOutcome::kReleased) {
    NoteProblem("a lease was over when it was released");
  }
  ++user.locks;
}

void Users::Hold(User& user) {
  const std::string lock = "held by " + user.name;
  AcquireResult result = user.client->Acquire(lock, {.ttl = kTtl});
  if (!result) {
    return NoteProblem("a holder: " + CodeAndReason(result.status()) + ": " +
                       std::string(result.status().message()));
  }
  while (!stopping_ && !result->lost()) std::this_thread::sleep_for(kBetween);
  if (result->lost()) {
    NoteProblem("the lease of a holder was lost: " + std::string(result->loss().error.message()));
  }
  CheckAlone(user, lock, *result);
}

}  // namespace lockkeeper::histories
