// SPDX-License-Identifier: Apache-2.0
//
// The way of spans out of the daemon: a bounded queue, and a thread that sends them in batches.
// Nobody waits for it: what does not fit is dropped and counted.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "core/limits.h"
#include "core/types.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/span.h"
#include "tracing/span_sender.h"

namespace lockkeeper::tracing {

struct ExporterOptions {
  size_t queue_max = core::limits::kSpansQueuedMax;
  size_t batch_max = 512;
  core::Millis gather{1'000};       // For how long spans wait for others of their batch.
  core::Millis send_limit{10'000};  // For one try to send a batch.
  int tries_max = 5;                // Then the batch is dropped.
  core::Millis retry_after{
      1'000};  // After the first failure; twice as long after each further one.
  core::Millis end_patience{2'000};  // Time for what is left when the exporter ends.
};

// Thread-safety: thread-safe. Lifetime: borrows the logger's log and `metrics`.
class SpanExporter final : public SpanSink {
 public:
  SpanExporter(std::unique_ptr<SpanSender> sender, ExporterOptions options,
               telemetry::Logger logger, telemetry::Metrics& metrics);
  // Sends what waits, for at most `end_patience`, and not at all once a try has failed.
  ~SpanExporter() override;
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  void Put(Span span) override;

 private:
  void Run();
  // The following are the sending thread's.
  void ExportAll(const std::vector<Span>& spans);
  void Export(absl::Span<const Span> batch);
  void Drop(size_t spans);
  void OnTaken(absl::Span<const Span> batch, const Sent& sent);
  void OnFailed(const std::string& problem);
  // False if the exporter is to end.
  bool WaitForRetry(core::Millis pause);

  const std::unique_ptr<SpanSender> sender_;
  const ExporterOptions options_;
  const telemetry::Logger logger_;
  const telemetry::Counter exported_total_;
  const telemetry::Counter dropped_total_;
  telemetry::LogLimit drop_limit_;
  telemetry::LogLimit failure_limit_;
  telemetry::LogLimit reject_limit_;

  std::mutex mutex_;
  std::condition_variable wake_;   // The sending thread.
  std::condition_variable ended_;  // Who ends it.
  std::vector<Span> queue_;        // Guarded by the mutex, as the next three.
  size_t waiting_ = 0;             // Of the queue, and those that the thread has not begun to send.
  bool stop_ = false;
  bool done_ = false;

  bool failing_ = false;  // Of the sending thread.
  std::thread thread_;    // Last: it uses all of the above.
};

}  // namespace lockkeeper::tracing
