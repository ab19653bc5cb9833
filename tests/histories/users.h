// SPDX-License-Identifier: Apache-2.0
//
// Programs that use locks as our users do, with the C++ client: through sessions and through unary
// calls, with locks of their own and with one lock for all. No error may reach them, whatever the
// client has to try for that.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lockkeeper/client.h"
#include "support/random.h"

namespace lockkeeper::histories {

struct UsersReport {
  int64_t locks = 0;  // That were acquired and released again.
  // The longest that a call took for a lock that nobody else wants, retries included.
  std::chrono::milliseconds slowest_call{};
  // Errors that the client has retried by itself, by code and reason.
  std::map<std::string, int> hidden;
  // What must not be; at most some of them.
  std::vector<std::string> problems;
};

struct UsersOptions {
  std::vector<std::string> daemons;
  // Leases with hold_at_least and min_assurance too, of which older daemons do not know.
  bool newest_features = true;
  uint64_t seed = 0;
};

// Thread-safety: not thread-safe.
class Users {
 public:
  // They begin at once.
  explicit Users(const UsersOptions& options);
  ~Users();
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

  // Whether each user but those who hold a lease all the time has acquired and released a lock
  // since it was true last, or since they began.
  bool AllWorked();

  // Ends them.
  UsersReport Stop();

 private:
  struct User {
    explicit User(uint64_t seed) : random(seed) {}

    std::string name;
    bool holds = false;  // One lease all the time.
    std::unique_ptr<Client> client;
    support::Random random;
    std::atomic<int64_t> locks = 0;
    int64_t locks_before = 0;
    std::thread thread;
  };

  std::unique_ptr<Client> NewClient(const UsersOptions& options, bool sessions, size_t first);
  void Start(const UsersOptions& options, void (Users::*work)(User&));

  // Locks that nobody else wants, one after the other.
  void WorkAlone(User& user);
  // One lock that several want.
  void WorkInLine(User& user);
  // One lease for all the time, which the client renews.
  void Hold(User& user);

  AcquireOptions DrawOptions(User& user) const;
  void CheckAlone(User& user, const std::string& lock, Lease& lease);
  void NoteHidden(const absl::Status& why);
  void NoteCall(std::chrono::steady_clock::time_point sent, const std::string& what,
                const absl::Status& status);
  void NoteProblem(const std::string& problem);

  const bool newest_features_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> inside_ = 0;  // Those who have the lock for all.
  std::atomic<int64_t> last_token_ = 0;
  std::mutex mutex_;
  UsersReport report_;  // Guarded by mutex_.
  std::vector<std::unique_ptr<User>> users_;
};

// What a client's retry hides: the code and reason of an error, as in UsersReport::hidden.
bool IsHidden(const std::string& code_and_reason);

}  // namespace lockkeeper::histories
