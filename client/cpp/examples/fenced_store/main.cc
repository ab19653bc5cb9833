// SPDX-License-Identifier: Apache-2.0
//
// fenced_store ADDRESS: the story of the late holder. Alice reads a counter under the lock and is
// then held up until her lease has ended. Bob gets the lock and counts. Alice wakes up and writes
// what she had worked out: the store refuses, because it has seen Bob's higher token. Ends with 0
// if so.
#include <lockkeeper/client.h>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>

#include "fenced_store.h"

namespace {

using namespace std::chrono_literals;

constexpr char kLock[] = "examples/fenced_store";

void Wait(std::chrono::milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable never;
  never.wait_for(lock, time, [] { return false; });
}

// Tries until the lock is granted, but not for ever.
std::optional<lockkeeper::Lease> AcquireInTime(lockkeeper::Client& client, const char* owner) {
  for (int i = 0; i < 200; ++i) {
    lockkeeper::AcquireResult result = client.Acquire(kLock, {.ttl = 1s, .owner = owner});
    if (result) return std::move(result).TakeLease();
    if (!result.contention()) {
      std::cerr << result.status().message() << "\n";
      return std::nullopt;
    }
    Wait(50ms);
  }
  std::cerr << "the lock did not become free\n";
  return std::nullopt;
}

int Tell(lockkeeper::Client& client) {
  FencedStore counter;
  std::optional<lockkeeper::Lease> alice = AcquireInTime(client, "alice");
  if (!alice) return 1;
  const int64_t alices_token = alice->fencing_token();
  const int alices_count = counter.Read(alices_token).value_or(0) + 1;
  // A pause of her whole process would stop the renewal as well; here it is only the renewal.
  std::move(*alice).Detach();
  std::cout << "alice read the counter under token " << alices_token << " and fell asleep\n";

  std::optional<lockkeeper::Lease> bob = AcquireInTime(client, "bob");
  if (!bob) return 1;
  const int64_t bobs_token = bob->fencing_token();
  const int bobs_count = counter.Read(bobs_token).value_or(0) + 1;
  const bool bob_wrote = counter.Write(bobs_token, bobs_count);
  std::cout << "bob counted to " << bobs_count << " under token " << bobs_token << "\n";

  const bool alice_wrote = counter.Write(alices_token, alices_count);
  std::cout << "alice woke up and wrote under token " << alices_token << ": "
            << (alice_wrote ? "ACCEPTED" : "refused") << "\n";
  return bob_wrote && !alice_wrote && bobs_token > alices_token ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fenced_store ADDRESS\n";
    return 64;
  }
  absl::StatusOr<lockkeeper::Client> client = lockkeeper::Client::Create({.addresses = {argv[1]}});
  if (!client.ok()) {
    std::cerr << client.status().message() << "\n";
    return 1;
  }
  return Tell(*client);
}
