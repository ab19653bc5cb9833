// SPDX-License-Identifier: Apache-2.0
//
// Random requests whose fields are legal or broken, each for itself. Goal: what is broken is
// refused with the name of a broken field, what is legal works, and afterwards nothing is left of
// either: no key, no descriptor, no memory. LOCKKEEPER_BROKEN_REQUESTS sets how many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/process/daemon_process.h"
#include "support/process/process_memory.h"
#include "support/process/redis_server.h"
#include "support/random.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::support {
namespace {

using google::protobuf::Duration;
using std::chrono::seconds;

constexpr int64_t kRequestsByDefault = 20'000;

// Redis forgets a record this long after its lease has ended (store.record_retention).
constexpr seconds kRetention{1};
// Longest lease, delay and hold that the requests ask for: so that all is over soon.
constexpr int64_t kLongestLeaseMillis = 200;

template <typename T>
struct Choice {
  T value;
  bool legal = true;
};

std::string Long(size_t bytes) { return std::string(bytes, 'x'); }

// Names with what Lua, Redis' patterns and its hash tags read in their own way.
std::vector<Choice<std::string>> Names() {
  return {
      {"orders/42"},
      {"a b"},
      {"*"},
      {"[a-z]?"},
      {"%d%%s"},
      {"\\n\"'"},
      {"]] .. redis.call('FLUSHALL') --"},
      {"lk:"},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\x92"},
      {Long(512)},
      {"", false},
      {Long(513), false},
      {Long(20'000), false},
      {"{tag}", false},
      {"a}", false},
      {"line\nfeed", false},
      {std::string("nul\0in", 6), false},
      {"\x7F", false},
      {"\xC2\x85", false},  // A control character of the second kind.
  };
}

std::vector<Choice<std::string>> LeaseIds() {
  return {
      {"0123456789abcdef0123456789abcdef"},         {"01234567-89ab-cdef-0123-456789abcdef"},
      {"FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"},         {"0123456789abcdef0123456789abcde", false},
      {"0123456789abcdef0123456789abcdeg", false},  {"01234567-89ab-cdef-0123-456789abcde-", false},
      {"%00000000000000000000000000000000", false}, {Long(9'000), false},
  };
}

std::vector<Choice<std::string>> Texts(size_t bytes_max) {
  return {{""},
          {"web-3 (pid 17)"},
          {"{}*?[]%s"},
          {Long(bytes_max)},
          {Long(bytes_max + 1), false},
          {"tab\there", false},
          {Long(9'000), false}};
}

// Durations in milliseconds, and those that no clock shows.
struct Length {
  int64_t seconds = 0;
  int32_t nanos = 0;
};

Length Millis(int64_t millis) {
  return {millis / 1'000, static_cast<int32_t>(millis % 1'000 * 1'000'000)};
}

std::vector<Choice<Length>> BrokenLengths() {
  return {{{-1, 0}, false},
          {{0, -1}, false},
          {{86'401, 0}, false},
          {{0, 2'000'000'000}, false},
          {{INT64_MAX, 0}, false},
          {{INT64_MIN, INT32_MIN}, false},
          {{400'000'000'000, 0}, false}};
}

std::vector<Choice<Length>> Lengths(std::vector<int64_t> legal_millis) {
  std::vector<Choice<Length>> lengths = BrokenLengths();
  for (const int64_t millis : legal_millis) lengths.push_back({Millis(millis)});
  return lengths;
}

// One request in the making: draws its fields and remembers which of them are broken.
class Draft {
 public:
  explicit Draft(Random& random) : random_(random) {}

  // Two of three fields are legal, so that requests with one broken field are the most frequent.
  template <typename T>
  T Field(const std::string& name, const std::vector<Choice<T>>& choices) {
    const bool wants_legal = !random_.OneIn(6);
    while (true) {
      const Choice<T>& choice = random_.Pick(choices);
      if (choice.legal != wants_legal) continue;
      if (!choice.legal) broken_.insert(name);
      return choice.value;
    }
  }

  void SetLength(const std::string& name, const std::vector<int64_t>& legal_millis, Duration& to) {
    const auto length = Field(name, Lengths(legal_millis));
    to.set_seconds(length.seconds);
    to.set_nanos(length.nanos);
  }

  bool Flip() { return random_.OneIn(2); }
  Random& random() { return random_; }
  const std::set<std::string>& broken() const { return broken_; }

 private:
  Random& random_;
  std::set<std::string> broken_;
};

const std::vector<Choice<int64_t>>& Tokens() {
  static const std::vector<Choice<int64_t>> tokens = {{1},
                                                      {1'790'000'000'000'000},
                                                      {(int64_t{1} << 53) - 1},
                                                      {-1, false},
                                                      {int64_t{1} << 53, false},
                                                      {INT64_MAX, false},
                                                      {INT64_MIN, false}};
  return tokens;
}

v1::AcquireRequest DraftAcquire(Draft& draft) {
  static const std::vector<Choice<int32_t>> kAttempts = {
      {0}, {1}, {999'999}, {-1, false}, {1'000'000, false}, {INT32_MIN, false}};
  static const std::vector<Choice<int>> kAssurances = {
      {v1::ASSURANCE_UNSPECIFIED}, {v1::ASSURANCE_MEMORY}, {-1, false}, {99, false}};
  v1::AcquireRequest request;
  request.set_name(draft.Field("name", Names()));
  if (draft.Flip()) request.set_lease_id(draft.Field("lease_id", LeaseIds()));
  request.set_attempt(draft.Field("attempt", kAttempts));
  draft.SetLength("ttl", {100, kLongestLeaseMillis}, *request.mutable_ttl());
  if (draft.Flip()) draft.SetLength("wait_timeout", {0}, *request.mutable_wait_timeout());
  if (draft.Flip()) draft.SetLength("lock_delay", {0, 1, 100}, *request.mutable_lock_delay());
  if (draft.Flip()) {
    draft.SetLength("max_hold", {0, 100, 86'400'000}, *request.mutable_max_hold());
  }
  if (draft.Flip()) draft.SetLength("hold_at_least", {0, 1}, *request.mutable_hold_at_least());
  request.set_owner(draft.Field("owner", Texts(256)));
  if (draft.random().OneIn(20)) {
    const auto labels = draft.Field<int>("labels", {{8}, {9, false}, {100, false}});
    for (int i = 0; i < labels; ++i) (*request.mutable_labels())[std::to_string(i)] = "v";
  } else if (draft.Flip()) {
    static const std::vector<Choice<std::string>> kKeys = {
        {"a"}, {Long(64)}, {"", false}, {"a=b", false}, {Long(65), false}, {"a\nb", false}};
    const std::string key = draft.Field("labels", kKeys);
    (*request.mutable_labels())[key] = draft.Field("labels", Texts(256));
  }
  request.set_confirm(draft.Flip());
  request.set_min_assurance(static_cast<v1::Assurance>(draft.Field("min_assurance", kAssurances)));
  return request;
}

v1::ExtendRequest DraftExtend(Draft& draft) {
  v1::ExtendRequest request;
  request.set_name(draft.Field("name", Names()));
  request.set_lease_id(draft.Field("lease_id", LeaseIds()));
  if (draft.Flip()) draft.SetLength("ttl", {100, kLongestLeaseMillis}, *request.mutable_ttl());
  if (draft.Flip()) request.set_fencing_token(draft.Field("fencing_token", Tokens()));
  if (draft.Flip()) request.set_reassertion(draft.Field("reassertion", Texts(1'024)));
  return request;
}

v1::ReleaseRequest DraftRelease(Draft& draft) {
  v1::ReleaseRequest request;
  request.set_name(draft.Field("name", Names()));
  request.set_lease_id(draft.Field("lease_id", LeaseIds()));
  return request;
}

v1::FenceRequest DraftFence(Draft& draft) {
  v1::FenceRequest request;
  request.set_name(draft.Field("name", Names()));
  request.set_fencing_token(draft.Field("fencing_token", Tokens()));
  request.set_require_live_lease(draft.Flip());
  return request;
}

admin::v1::ListLocksRequest DraftList(Draft& draft) {
  static const std::vector<Choice<int32_t>> kSizes = {
      {0}, {1}, {1'000}, {-1, false}, {1'001, false}, {INT32_MIN, false}};
  static const std::vector<Choice<std::string>> kPageTokens = {
      {""}, {"no page token", false}, {Long(65), false}, {"\n", false}};
  static const std::vector<Choice<std::string>> kPrefixes = {
      {""}, {"*"}, {"[a"}, {"\\"}, {Long(512)}, {Long(513), false}, {"\x01", false}};
  admin::v1::ListLocksRequest request;
  request.set_prefix(draft.Field("prefix", kPrefixes));
  request.set_page_size(draft.Field("page_size", kSizes));
  request.set_page_token(draft.Field("page_token", kPageTokens));
  request.set_include_ended(draft.Flip());
  return request;
}

// What a legal request may be answered with, besides OK.
bool IsNoFault(const std::string& reason) {
  return reason == "LEASE_LOST" || reason == "LEASE_ENDED";
}

template <typename Response>
void Check(const Answer<Response>& answer, const std::set<std::string>& broken,
           const std::string& request) {
  if (broken.empty()) {
    EXPECT_TRUE(answer.ok() || IsNoFault(answer.reason))
        << answer.reason << ": " << answer.status.error_message() << "\n"
        << request;
    return;
  }
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << answer.status.error_message() << "\n"
      << request;
  EXPECT_EQ(answer.reason, "INVALID_FIELD") << request;
  EXPECT_TRUE(broken.contains(answer.field)) << "'" << answer.field << "' is legal in\n" << request;
}

class BrokenRequestsTest : public testing::Test {
 protected:
  BrokenRequestsTest()
      : daemon_({.program = LOCKKEEPERD_PROGRAM,
                 .arguments = {"--redis", redis_.unix_url(), "--listen", "127.0.0.1:0",
                               "--http-listen", "127.0.0.1:0"},
                 .environment = {{"LOCKKEEPERD_STORE_RECORD_RETENTION", "1s"},
                                 {"LOCKKEEPERD_LOG_LEVEL", "error"}}}) {
    daemon_.WaitUntilReady();
  }

  void Send(LockClient& caller, Random& random) {
    Draft draft(random);
    switch (random.Below(5)) {
      case 0:
        return Try(draft, DraftFence(draft), [&](auto& r) { return caller.Fence(r); });
      case 1:
        return Try(draft, DraftExtend(draft), [&](auto& r) { return caller.Extend(r); });
      case 2:
        return Try(draft, DraftRelease(draft), [&](auto& r) { return caller.Release(r); });
      case 3:
        if (random.OneIn(10)) {
          return Try(draft, DraftList(draft), [&](auto& r) { return caller.ListLocks(r); });
        }
        [[fallthrough]];
      default:
        return Try(draft, DraftAcquire(draft), [&](auto& r) { return caller.Acquire(r); });
    }
  }

  void SendMany(int64_t requests) {
    constexpr int kCallers = 4;
    std::vector<std::thread> threads;
    for (int i = 0; i < kCallers; ++i) {
      threads.emplace_back([this, requests, random = random_.Fork()]() mutable {
        LockClient caller(daemon_.GrpcAddress());
        for (int64_t sent = 0; sent < requests / kCallers && !HasFailure(); ++sent) {
          Send(caller, random);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Waits until Redis has collected every record, so that only the marker of the store is left;
  // true if it does in time.
  bool StoreEmpties() {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (redis_.Run({"DBSIZE"}).integer > 1) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  size_t Descriptors() const {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(daemon_.pid()) + "/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  bool DescriptorsFallTo(size_t number) {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (Descriptors() > number) {
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }

  SeededRandom random_;
  RedisServer redis_;
  DaemonProcess daemon_;

 private:
  template <typename Request, typename Call>
  static void Try(const Draft& draft, const Request& request, Call call) {
    Check(call(request), draft.broken(), request.ShortDebugString().substr(0, 2'000));
  }
};

TEST_F(BrokenRequestsTest, AreRefusedByFieldAndLeaveNothingBehind) {
  const int64_t requests = RepeatsFrom("LOCKKEEPER_BROKEN_REQUESTS", kRequestsByDefault);
  SendMany(requests / 4);  // What is allocated once is allocated now.
  ASSERT_TRUE(StoreEmpties());
  const double memory_before = ResidentBytes(daemon_.pid());
  const size_t descriptors_before = Descriptors();

  SendMany(requests);

  EXPECT_TRUE(StoreEmpties()) << "keys left: " << redis_.Run({"DBSIZE"}).integer;
  EXPECT_TRUE(DescriptorsFallTo(descriptors_before))
      << Descriptors() << " descriptors, were " << descriptors_before;
  const double grown_kib = (ResidentBytes(daemon_.pid()) - memory_before) / 1024;
  RecordProperty("memory_grown_kib", static_cast<int>(grown_kib));
  RecordProperty("descriptors", static_cast<int>(Descriptors()));
#ifndef __SANITIZE_ADDRESS__  // A sanitizer keeps what was freed.
  EXPECT_LT(grown_kib, 5 * 1024) << "KiB more than before";
#endif
}

// Beyond these gRPC answers by itself, before the service sees anything.
TEST_F(BrokenRequestsTest, BeyondOneMessageGrpcRefuses) {
  LockClient caller(daemon_.GrpcAddress());

  const auto answer = caller.Release(ReleaseOf(Long(70'000), NewLeaseId()));

  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(caller.Release(ReleaseOf("a", NewLeaseId())).ok()) << "the connection serves on";
}

}  // namespace
}  // namespace lockkeeper::support
