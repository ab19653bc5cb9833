// SPDX-License-Identifier: Apache-2.0
#include "audit/trail.h"

#include <chrono>

#include "telemetry/log_fields.h"

namespace lockkeeper::audit {
namespace {

namespace field = telemetry::field;

// The writer lets records gather for so long. To wake it costs as much as hundreds of records
// (ADR 0025).
constexpr core::Millis kGather{50};
// Bytes that are written in one call, about.
constexpr size_t kChunkBytes = size_t{64} * 1024;
constexpr core::Millis kTellInterval{10'000};

// Where the line that holds the byte `at` begins.
size_t LineBeginAt(std::string_view lines, size_t at) {
  if (at == 0) return 0;
  const size_t newline = lines.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// By memchr: std::count looks at each byte, and the trail is megabytes a second.
size_t LinesIn(std::string_view lines) {
  size_t count = 0;
  for (size_t at = lines.find('\n'); at != std::string_view::npos; at = lines.find('\n', at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

Trail::Trail(std::unique_ptr<Sink> sink, TrailOptions options, telemetry::Logger logger,
             telemetry::Metrics& metrics, TrailListener listener)
    : sink_(std::move(sink)),
      options_(std::move(options)),
      logger_(logger),
      listener_(std::move(listener)),
      dropped_total_(metrics.audit_dropped()),
      write_failures_(metrics.audit_write_failures()),
      drop_limit_(kTellInterval),
      failure_limit_(kTellInterval),
      thread_([this] { Run(); }) {}

Trail::~Trail() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    stop_by_ = options_.clock().monotonic + options_.end_patience;
  }
  wake_.notify_one();
  thread_.join();
  if (lost_ == 0) return;
  dropped_total_.Add(static_cast<double>(lost_));
  logger_.Error("audit.lost", "The daemon ends with audit records that could not be written",
                {field::Records(lost_)});
}

size_t Trail::LimitFor(Room room) const {
  switch (room) {
    case Room::kHalf:
      return options_.queue_max / 2;
    case Room::kOrdinary:
      break;
    case Room::kGrant:
      if (options_.required) return SIZE_MAX;
      break;
  }
  return options_.queue_max;
}

// Lines take less time to be made than records to be handed to another thread.
void Trail::Put(Record&& record, Room room) {
  record.time = options_.wall_clock();
  bool fits = false;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    const size_t waiting = waiting_.load(std::memory_order_relaxed);
    fits = waiting < LimitFor(room);
    if (fits) {
      writer_.Append(record, lines_);
      ++gathered_;
      waiting_.store(waiting + 1, std::memory_order_relaxed);
      wakes = gathered_ == 1 || gathered_ == options_.queue_max / 2;
    } else {
      ++dropped_;  // The writer, who has so many to write, tells of it afterwards.
    }
  }
  if (wakes) wake_.notify_one();
  if (fits) return;
  dropped_total_.Increment();
  logger_.WriteLimited(drop_limit_, telemetry::LogLevel::kWarn, "audit.dropped",
                       "Audit records are dropped, because too many wait to be written");
}

void Trail::Reopen() {
  {
    const std::lock_guard lock(mutex_);
    reopen_ = true;
  }
  wake_.notify_one();
}

void Trail::Run() {
  std::string lines;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return gathered_ > 0 || dropped_ > 0 || reopen_ || stop_; });
    wake_.wait_for(lock, kGather,
                   [this] { return gathered_ >= options_.queue_max / 2 || reopen_ || stop_; });
    if (stop_ && gathered_ == 0 && dropped_ == 0) return;
    if (const int64_t dropped = std::exchange(dropped_, 0); dropped > 0) {
      writer_.Append(
          {.time = options_.wall_clock(), .verb = "drop", .details = {{"dropped", dropped}}},
          lines_);
      waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    lines.swap(lines_);
    gathered_ = 0;
    lock.unlock();
    const Reopening reopening = ReopenSink();
    if (lines.empty()) AfterReopening(reopening);
    Write(lines);
    lines.clear();
    lock.lock();
  }
}

void Trail::Write(std::string_view lines) {
  size_t at = 0;
  while (at < lines.size() && !IsOutOfTime()) {
    const Written written = sink_->Write(lines.substr(at, kChunkBytes));
    NoteWritten(lines.substr(at, written.bytes));
    at += written.bytes;
    if (written.problem) {
      OnFailed(*written.problem);
      WaitForRetry();
    } else if (written.bytes > 0) {
      OnWritten();
    } else if (waiting_.load(std::memory_order_relaxed) >= options_.queue_max) {
      Tell(Consequence() + ": whoever reads them does not, and audit.queue_max of them wait");
    }
    if (at < lines.size() && ReopenSink() != Reopening::kNotAsked) at = LineBeginAt(lines, at);
  }
  if (at == lines.size()) return;
  const std::string_view rest = lines.substr(LineBeginAt(lines, at));
  lost_ += static_cast<int64_t>(LinesIn(rest));
}

void Trail::NoteWritten(std::string_view lines) {
  const size_t records = LinesIn(lines);
  if (records == 0) return;
  const std::lock_guard lock(mutex_);
  waiting_.store(waiting_.load(std::memory_order_relaxed) - records, std::memory_order_relaxed);
}

Trail::Reopening Trail::ReopenSink() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(reopen_, false)) return Reopening::kNotAsked;
  }
  if (const text::Problem problem = sink_->Reopen()) {
    OnFailed(*problem);
    return Reopening::kFailed;
  }
  logger_.Info("audit.reopened", "The file of the audit trail was opened again");
  return Reopening::kDone;
}

void Trail::AfterReopening(Reopening reopening) {
  if (reopening == Reopening::kDone) OnWritten();
  if (reopening != Reopening::kFailed) return;
  WaitForRetry();
  const std::lock_guard lock(mutex_);
  reopen_ = true;
}

void Trail::OnWritten() {
  // Slowly read, they are still too many.
  if (waiting_.load(std::memory_order_relaxed) < options_.queue_max) Tell("");
  if (!failing_.load(std::memory_order_relaxed)) return;
  failing_.store(false, std::memory_order_relaxed);
  logger_.Info("audit.written_again",
               "Audit records can be written again; none that waited is lost");
}

void Trail::OnFailed(const std::string& problem) {
  write_failures_.Increment();
  failing_.store(true, std::memory_order_relaxed);
  Tell(Consequence() + ": " + problem);
  logger_.WriteLimited(failure_limit_, telemetry::LogLevel::kError, "audit.write_failed",
                       Consequence(), {field::Problem(problem)});
}

void Trail::Tell(const std::string& problem) {
  if (told_ == problem) return;
  told_ = problem;
  if (listener_) listener_(problem);
}

std::string Trail::Consequence() const {
  return options_.required ? "Audit records cannot be written: acquires are refused until they can"
                           : "Audit records cannot be written: they wait, and are dropped when too "
                             "many wait";
}

void Trail::WaitForRetry() {
  constexpr core::Millis kAtTheEnd{50};
  std::unique_lock lock(mutex_);
  const bool ends = stop_;
  wake_.wait_for(lock, ends ? kAtTheEnd : options_.retry_after,
                 [&] { return reopen_ || stop_ != ends; });
}

bool Trail::IsOutOfTime() {
  const std::lock_guard lock(mutex_);
  return stop_ && options_.clock().monotonic >= stop_by_;
}

}  // namespace lockkeeper::audit
