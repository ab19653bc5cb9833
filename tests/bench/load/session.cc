// SPDX-License-Identifier: Apache-2.0
//
// Sessions in closed loops: acquire and release in turn, each loop its own lock, many loops on one
// stream. An operation that becomes due while a message is on its way goes into the next one.
#include "bench/load/session.h"

#include <algorithm>
#include <random>
#include <vector>

#include "bench/load/load.h"
#include "core/types.h"

namespace lockkeeper::bench {

using google::protobuf::Arena;

SessionStream::SessionStream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

void SessionStream::Start() {
  started_ = true;
  stub_.async()->Session(&context_, this);
  AddHold();  // Until nobody writes any more: others than gRPC's threads do.
  Read();
  writing_ = true;
  StartCall();
  WriteNext();
}

void SessionStream::Wake() {
  {
    const std::lock_guard lock(mutex_);
    if (no_more_) return;
    woken_ = true;
    if (writing_) return;
    writing_ = true;
  }
  WriteNext();
}

void SessionStream::Cut() {
  if (!started_) return;
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_; });
}

void SessionStream::Read() {
  response_arena_.Reset();
  response_ = Arena::CreateMessage<v1::SessionResponse>(&response_arena_);
  StartRead(response_);
}

void SessionStream::OnReadDone(bool ok) {
  if (ok && problem_.empty()) {
    problem_ = Take(*response_);
    if (!problem_.empty()) context_.TryCancel();
  }
  if (ok) return Read();
  {
    const std::lock_guard lock(mutex_);
    no_more_ = true;
    if (writing_) return;
  }
  RemoveHold();
}

std::string SessionStream::Take(const v1::SessionResponse& response) {
  if (response.has_opened()) {
    const std::string problem = Handle(response);
    if (problem.empty()) Wake();
    return problem;
  }
  closed_ = response.has_closed();
  return Handle(response);
}

void SessionStream::OnWriteDone(bool) { WriteNext(); }

void SessionStream::WriteNext() {
  request_arena_.Reset();
  auto* request = Arena::CreateMessage<v1::SessionRequest>(&request_arena_);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      woken_ = false;
      if (no_more_) {
        writing_ = false;
        break;
      }
    }
    bool something = true;
    if (!said_open_) {
      said_open_ = true;
      request->mutable_open()->set_owner("bench");
    } else {
      something = Fill(*request);
    }
    if (something) return StartWrite(request);
    const std::lock_guard lock(mutex_);
    if (woken_) continue;
    writing_ = false;
    if (!no_more_) return;
    break;
  }
  RemoveHold();
}

void SessionStream::OnDone(const grpc::Status& status) {
  if (problem_.empty() && !closed_) {
    problem_ = status.ok() ? "the server ended the session" : status.error_message();
  }
  Ended(problem_);
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

namespace {

using Phase = LoadControl::Phase;

constexpr size_t kBatchMax = 1024;

class SessionLoops final : public SessionStream {
 public:
  // The loops have the numbers from `first` on.
  SessionLoops(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t first,
               size_t count)
      : SessionStream(channel), control_(control), loops_(count) {
    for (size_t i = 0; i < count; ++i) {
      loops_[i].name = "bench/lock/" + std::to_string(1000 + first + i);
    }
  }
  ~SessionLoops() override { Cut(); }
  SessionLoops(const SessionLoops&) = delete;
  SessionLoops& operator=(const SessionLoops&) = delete;

  void AddTo(LatenciesByCall& latencies) const {
    latencies["acquire"].Merge(acquires_);
    latencies["release"].Merge(releases_);
  }

  uint64_t answers() const { return answers_; }

 private:
  struct Loop {
    std::string name;
    core::LeaseId lease_id;
    bool holds = false;
    uint64_t operation_id = 0;  // Of its operation that is under way.
    SteadyClock::time_point due;
  };

  bool Fill(v1::SessionRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      if (due_.empty()) return FillClose(request);
      const auto end = due_.begin() + static_cast<std::ptrdiff_t>(std::min(due_.size(), kBatchMax));
      sending_.assign(due_.begin(), end);
      due_.erase(due_.begin(), end);
    }
    for (const size_t index : sending_) AddOperation(index, *request.mutable_batch());
    return true;
  }

  // Once all loops have ended.
  bool FillClose(v1::SessionRequest& request) {
    if (!close_) return false;
    close_ = false;
    request.mutable_close();
    return true;
  }

  void AddOperation(size_t index, v1::SessionBatch& batch) {
    Loop& loop = loops_[index];
    v1::SessionOperation& operation = *batch.add_operations();
    // Tells the loop, and rises.
    loop.operation_id = ++sent_ * loops_.size() + index;
    operation.set_id(loop.operation_id);
    if (loop.holds) {
      operation.mutable_release()->set_name(loop.name);
      operation.mutable_release()->set_lease_id(std::string(loop.lease_id.digits()));
      return;
    }
    loop.lease_id = core::LeaseId::FromBits(random_(), random_());
    operation.mutable_acquire()->set_name(loop.name);
    operation.mutable_acquire()->set_lease_id(std::string(loop.lease_id.digits()));
  }

  std::string Handle(const v1::SessionResponse& response) override {
    switch (response.message_case()) {
      case v1::SessionResponse::kOpened:
        return Begin(response.opened());
      case v1::SessionResponse::kResults:
        return HandleResults(response.results());
      case v1::SessionResponse::kClosed:
        return "";
      default:
        return "an unexpected message came: " + response.ShortDebugString();
    }
  }

  std::string Begin(const v1::SessionOpened& opened) {
    if (static_cast<size_t>(opened.max_outstanding_operations()) < loops_.size()) {
      return "a session takes at most " + std::to_string(opened.max_outstanding_operations()) +
             " operations at a time";
    }
    const auto now = SteadyClock::now();
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < loops_.size(); ++i) {
      loops_[i].due = now;
      due_.push_back(i);
    }
    return "";
  }

  std::string HandleResults(const v1::SessionResults& results) {
    const auto now = SteadyClock::now();
    const Phase phase = control_.phase();
    answered_.clear();
    for (const v1::SessionResult& result : results.results()) {
      Loop& loop = loops_[result.operation_id() % loops_.size()];
      std::string problem = Check(loop, result);
      if (!problem.empty()) return problem;
      if (phase == Phase::kCount) (loop.holds ? releases_ : acquires_).Add(now - loop.due);
      ++answers_;
      loop.holds = !loop.holds;
      loop.due = now;
      if (phase == Phase::kStop && !loop.holds) {
        ++ended_;
      } else {
        answered_.push_back(result.operation_id() % loops_.size());
      }
    }
    {
      const std::lock_guard lock(mutex_);
      due_.insert(due_.end(), answered_.begin(), answered_.end());
      close_ = ended_ == loops_.size();
    }
    Wake();
    return "";
  }

  static std::string Check(const Loop& loop, const v1::SessionResult& result) {
    if (result.operation_id() != loop.operation_id) return "an operation was answered twice";
    if (result.has_error()) return result.error().message();
    if (loop.holds) return result.release().released() ? "" : "a lock was not released";
    return result.acquire().has_lease() ? "" : "a lock was not granted";
  }

  void Ended(const std::string& problem) override { control_.Ended(problem); }

  LoadControl& control_;
  std::vector<Loop> loops_;  // One is nobody's or the writer's until its operation is answered.

  // Of the thread that writes.
  std::mt19937_64 random_{std::random_device()()};
  std::vector<size_t> sending_;
  uint64_t sent_ = 0;

  // Of the thread that reads.
  std::vector<size_t> answered_;
  Latencies acquires_, releases_;
  uint64_t answers_ = 0;
  size_t ended_ = 0;

  std::mutex mutex_;         // Guards the rest.
  std::vector<size_t> due_;  // Loops whose next operation has to be sent.
  bool close_ = false;
};

void Run(const LoadOptions& options) {
  LoadControl control;
  std::vector<std::unique_ptr<SessionLoops>> streams;
  streams.reserve(options.connections);
  for (size_t i = 0; i < options.connections; ++i) {
    streams.push_back(std::make_unique<SessionLoops>(control,
                                                     ConnectAlone(options.address, options.tls),
                                                     i * options.outstanding, options.outstanding));
  }
  for (const auto& stream : streams) stream->Start();
  const Counted counted = CountLoad(control, options.seconds, streams.size());
  LatenciesByCall latencies;
  uint64_t answers = 0;
  for (const auto& stream : streams) {
    stream->AddTo(latencies);
    answers += stream->answers();
  }
  PrintLoad(counted, latencies, answers);
}

}  // namespace

void AddSession(CLI::App& app) { AddLoad(app, "session", "Sessions, one on each connection", Run); }

}  // namespace lockkeeper::bench
