// SPDX-License-Identifier: Apache-2.0
//
// The audit trail: lines that wait, and a thread that writes them. Nobody waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "audit/record.h"
#include "audit/sink.h"
#include "core/limits.h"
#include "core/types.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::audit {

struct TrailOptions {
  bool required = false;  // Refuse grants rather than lose their records.
  size_t queue_max = core::limits::kAuditQueueDefault;
  core::Millis retry_after{500};     // After a write that failed.
  core::Millis end_patience{2'000};  // Time for what is left when the trail ends.
  telemetry::LogClock clock = telemetry::SystemLogTime;  // Of `end_patience`.
  // Of the records. For each of them, to read one clock is cheaper than both.
  std::function<std::chrono::system_clock::time_point()> wall_clock = telemetry::SystemWallTime;
};

// What happens to a record while too many wait.
enum class Room {
  kHalf,      // Of a refusal: strangers cause as many as they like. It gets half of the queue.
  kOrdinary,  // It is dropped.
  kGrant,     // With `required` it is kept all the same: its acquire was admitted before. So beyond
              // the queue no more wait than there were acquires under way or in line.
};

// Hears why records cannot be written, and what that means, in one line; nothing when they can
// again. Thread-safety: called on the writer's thread.
using TrailListener = std::function<void(const std::string& problem)>;

// Thread-safety: thread-safe. Lifetime: borrows the logger's log and `metrics`.
class Trail {
 public:
  Trail(std::unique_ptr<Sink> sink, TrailOptions options, telemetry::Logger logger,
        telemetry::Metrics& metrics, TrailListener listener = {});
  // Writes what waits, for at most `end_patience`, and logs how many records are lost.
  ~Trail();
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  // Puts the line of a record, with the time of now, behind those that wait. A record that is
  // dropped is counted; a record in the trail says how many were.
  void Put(Record&& record, Room room = Room::kOrdinary);

  // Whether acquires have to be refused now: records are required, and the queue is full or the
  // last write failed. Failed writes are repeated until they succeed.
  bool RefusesGrants() const {
    return options_.required && (failing_.load(std::memory_order_relaxed) ||
                                 waiting_.load(std::memory_order_relaxed) >= options_.queue_max);
  }

  // Opens the file again before the next record is written.
  void Reopen();

 private:
  size_t LimitFor(Room room) const;
  void Run();
  // The following are the writer's.
  // Writes `lines`, however often that fails.
  void Write(std::string_view lines);
  void NoteWritten(std::string_view lines);
  enum class Reopening { kNotAsked, kDone, kFailed };
  Reopening ReopenSink();
  // With nothing to write that would show whether the file can be used.
  void AfterReopening(Reopening reopening);
  void OnWritten();
  void OnFailed(const std::string& problem);
  // Tells the listener, if that is news.
  void Tell(const std::string& problem);
  // What it means that records cannot be written.
  std::string Consequence() const;
  // Waits until a failed write is worth repeating.
  void WaitForRetry();
  bool IsOutOfTime();

  const std::unique_ptr<Sink> sink_;
  const TrailOptions options_;
  const telemetry::Logger logger_;
  const TrailListener listener_;
  const telemetry::Counter dropped_total_;
  const telemetry::Counter write_failures_;
  telemetry::LogLimit drop_limit_;
  telemetry::LogLimit failure_limit_;

  std::atomic<size_t> waiting_{
      0};  // Records that are not written yet. Changed with the mutex held.
  std::atomic<bool> failing_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  RecordWriter writer_;  // Guarded by the mutex, as the next six.
  std::string lines_;    // Of the records that the writer has not taken yet.
  size_t gathered_ = 0;  // How many they are.
  int64_t dropped_ = 0;  // That the trail does not tell of yet.
  bool reopen_ = false;
  bool stop_ = false;
  core::Instant stop_by_;

  int64_t lost_ = 0;    // Of the writer, as the next one.
  std::string told_;    // To the listener.
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace lockkeeper::audit
