// SPDX-License-Identifier: Apache-2.0
//
// What a session costs that only holds: leases that one heartbeat keeps alive, and acquires that
// wait. In the daemon's memory, and in processor time.
#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "bench/load/session.h"
#include "bench/load/watch.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::minutes kPatience{1};
constexpr int kBatchMax = 1024;
// Acquires under way, of those that do not wait: a place is free again a while after its answer is
// here, so who uses the last one is refused now and then.
constexpr size_t kUnderWayMax = 8192;

v1::AcquireRequest AcquireOf(const std::string& name) {
  v1::AcquireRequest request;
  request.set_name(name);
  return request;
}

// A session for who waits for its answers.
//
// Errors: throws std::runtime_error if something is not as it should be: an error, a lock that is
// not granted, a lease that is not kept, or no answer within a minute.
// Thread-safety: one thread at a time.
class SessionCaller : public SessionStream {
 public:
  // Opens the session.
  explicit SessionCaller(const std::shared_ptr<grpc::Channel>& channel);
  ~SessionCaller() override { Cut(); }
  SessionCaller(const SessionCaller&) = delete;
  SessionCaller& operator=(const SessionCaller&) = delete;

  // Acquires all of them and waits until all are granted. The server makes the lease ids.
  void Acquire(const std::vector<std::string>& names, int ttl_seconds);

  // Sends acquires that wait and does not wait for them. At most as many as the session takes.
  void StartWaiting(const std::string& name, size_t count, int wait_seconds);

  // Keeps all leases alive; returns when it is answered.
  void Heartbeat();

 private:
  bool Fill(v1::SessionRequest& request) override;
  std::string Handle(const v1::SessionResponse& response) override;
  void Ended(const std::string& problem) override;

  template <typename Condition>
  void Await(std::unique_lock<std::mutex>& lock, const Condition& condition);

  std::mutex mutex_;  // Guards all.
  std::condition_variable changed_;
  size_t outstanding_max_ = 0;  // Zero until the session is open.
  size_t window_ = 0;           // Of what is due, how much may be under way.
  std::deque<v1::AcquireRequest> due_;
  size_t outstanding_ = 0;
  uint64_t last_id_ = 0;
  uint64_t heartbeat_wanted_ = 0;
  uint64_t heartbeat_sent_ = 0;
  uint64_t heartbeat_answered_ = 0;
  std::string problem_;
  bool ended_ = false;
};

SessionCaller::SessionCaller(const std::shared_ptr<grpc::Channel>& channel)
    : SessionStream(channel) {
  Start();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return outstanding_max_ != 0; });
}

template <typename Condition>
void SessionCaller::Await(std::unique_lock<std::mutex>& lock, const Condition& condition) {
  const bool over = changed_.wait_for(lock, kPatience,
                                      [&] { return ended_ || !problem_.empty() || condition(); });
  if (!over) throw std::runtime_error("a session is not answered");
  if (!problem_.empty()) throw std::runtime_error(problem_);
}

void SessionCaller::Acquire(const std::vector<std::string>& names, int ttl_seconds) {
  {
    const std::lock_guard lock(mutex_);
    window_ = std::min(outstanding_max_, kUnderWayMax);
    for (const std::string& name : names) {
      due_.push_back(AcquireOf(name));
      due_.back().mutable_ttl()->set_seconds(ttl_seconds);
    }
  }
  Wake();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return due_.empty() && outstanding_ == 0; });
}

void SessionCaller::StartWaiting(const std::string& name, size_t count, int wait_seconds) {
  {
    const std::lock_guard lock(mutex_);
    if (count > outstanding_max_) throw std::runtime_error("a session takes fewer waiters");
    window_ = outstanding_max_;
    for (size_t i = 0; i < count; ++i) {
      due_.push_back(AcquireOf(name));
      due_.back().mutable_wait_timeout()->set_seconds(wait_seconds);
    }
  }
  Wake();
}

void SessionCaller::Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ++heartbeat_wanted_;
  }
  Wake();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return heartbeat_answered_ == heartbeat_wanted_; });
}

bool SessionCaller::Fill(v1::SessionRequest& request) {
  const std::lock_guard lock(mutex_);
  if (heartbeat_sent_ != heartbeat_wanted_) {
    request.mutable_heartbeat()->set_number(heartbeat_sent_ = heartbeat_wanted_);
    return true;
  }
  v1::SessionBatch* batch = nullptr;
  for (int i = 0; i < kBatchMax && !due_.empty() && outstanding_ < window_; ++i) {
    if (batch == nullptr) batch = request.mutable_batch();
    v1::SessionOperation& operation = *batch->add_operations();
    operation.set_id(++last_id_);
    *operation.mutable_acquire() = std::move(due_.front());
    due_.pop_front();
    ++outstanding_;
  }
  return batch != nullptr;
}

std::string SessionCaller::Handle(const v1::SessionResponse& response) {
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (response.has_opened()) {
      outstanding_max_ = static_cast<size_t>(response.opened().max_outstanding_operations());
    } else if (response.has_heartbeat_result()) {
      heartbeat_answered_ = response.heartbeat_result().number();
      if (response.heartbeat_result().not_extended_size() != 0) problem = "a lease was not kept";
    } else if (response.has_results()) {
      for (const v1::SessionResult& result : response.results().results()) {
        --outstanding_;
        if (result.has_error()) problem = result.error().message();
        if (!result.acquire().has_lease()) problem.append(problem.empty() ? "not granted" : "");
      }
    } else {
      problem = "an unexpected message came: " + response.ShortDebugString();
    }
    problem_ = problem;
    changed_.notify_all();
  }
  if (problem.empty()) Wake();
  return problem;
}

void SessionCaller::Ended(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = problem;
  ended_ = true;
  changed_.notify_all();
}

using std::chrono::seconds;

constexpr int kTtlSeconds = 30;
constexpr int kWaitSeconds = 600;
constexpr seconds kBeatInterval{10};
constexpr size_t kWaitersAtOnce = 500;
constexpr size_t kWaitersOfSession = 10'000;

struct Options : Watched {
  size_t leases = 0;
  size_t waiters = 0;
  int beats = 4;
};

// 24 bytes.
std::string LockName(size_t number) {
  return "bench/held/lock/" + std::to_string(10'000'000 + number);
}

double PerPiece(double memory_before, pid_t daemon, size_t pieces) {
  return (ResidentBytes(daemon) - memory_before) / static_cast<double>(pieces);
}

// Heartbeats extend each lease at every second beat, when 10 s of its 30 s are left: an even number
// of them is what a client pays in the long run.
void KeepAlive(const Options& options, SessionCaller& session) {
  const Cores cores(options);
  const CommandCounts commands_before = CountCommands(options.socket);
  const auto begin = SteadyClock::now();
  Latencies answers;
  for (int i = 1; i <= options.beats; ++i) {
    LetPass(begin + i * kBeatInterval - SteadyClock::now());
    const auto sent = SteadyClock::now();
    session.Heartbeat();
    answers.Add(SteadyClock::now() - sent);
  }
  cores.Print("heartbeat");
  PrintFigure("script_calls", CountCommands(options.socket).sent - commands_before.sent);
  answers.Print("heartbeat");
}

void HoldLeases(const Options& options, SessionCaller& session) {
  std::vector<std::string> names;
  names.reserve(options.leases);
  for (size_t i = 0; i < options.leases; ++i) names.push_back(LockName(i));
  const double memory_before = ResidentBytes(options.daemon);
  session.Acquire(names, kTtlSeconds);
  PrintFigure("bytes_per_lease", PerPiece(memory_before, options.daemon, options.leases));
  KeepAlive(options, session);
}

// All for one lock, which another session holds.
void Wait(const Options& options, SessionCaller& holder) {
  const std::string name = LockName(options.leases);
  holder.Acquire({name}, kWaitSeconds);
  std::vector<std::unique_ptr<SessionCaller>> sessions;
  for (size_t i = 0; i < options.waiters; i += kWaitersOfSession) {
    sessions.push_back(std::make_unique<SessionCaller>(ConnectAlone(options.address)));
  }
  const double memory_before = ResidentBytes(options.daemon);
  // Some at a time: what is asked for is the memory of waiting, not that of thousands who come in
  // one moment, which the allocator keeps.
  size_t standing = 0;
  for (const auto& session : sessions) {
    const size_t end = std::min(standing + kWaitersOfSession, options.waiters);
    while (standing < end) {
      const size_t count = std::min(end - standing, kWaitersAtOnce);
      session->StartWaiting(name, count, kWaitSeconds);
      standing += count;
      AwaitWaiters(options.http, standing);
    }
  }
  PrintFigure("bytes_per_waiter", PerPiece(memory_before, options.daemon, options.waiters));
}

void Run(const Options& options) {
  SessionCaller session(ConnectAlone(options.address));
  if (options.leases > 0) HoldLeases(options, session);
  if (options.waiters > 0) Wait(options, session);
}

}  // namespace

void AddHeld(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("held", "Holds leases in a session, or waits in some");
  const auto options = std::make_shared<Options>();
  AddWatchedOptions(command, *options);
  command.add_option("--leases", options->leases)->check(CLI::Range(0, 1'000'000));
  command.add_option("--waiters", options->waiters)->check(CLI::Range(0, 20'000));
  command.add_option("--beats", options->beats, "Heartbeats, one each 10 s")
      ->check(CLI::Range(1, 60));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
