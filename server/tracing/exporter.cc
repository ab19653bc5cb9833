// SPDX-License-Identifier: Apache-2.0
#include "tracing/exporter.h"

#include <algorithm>
#include <utility>

#include "telemetry/log_fields.h"

namespace lockkeeper::tracing {
namespace {

namespace field = telemetry::field;

constexpr core::Millis kTellInterval{60'000};

}  // namespace

SpanExporter::SpanExporter(std::unique_ptr<SpanSender> sender, ExporterOptions options,
                           telemetry::Logger logger, telemetry::Metrics& metrics)
    : sender_(std::move(sender)),
      options_(options),
      logger_(logger),
      exported_total_(metrics.traces_exported()),
      dropped_total_(metrics.traces_dropped()),
      drop_limit_(kTellInterval),
      failure_limit_(kTellInterval),
      reject_limit_(kTellInterval),
      thread_([this] { Run(); }) {}

SpanExporter::~SpanExporter() {
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    wake_.notify_one();
    ended_.wait_for(lock, options_.end_patience, [this] { return done_; });
  }
  sender_->Cancel();
  thread_.join();
}

void SpanExporter::Put(Span span) {
  bool fits = false;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    fits = waiting_ < options_.queue_max && !stop_;
    if (fits) {
      ++waiting_;
      queue_.push_back(std::move(span));
      wakes = queue_.size() == 1 || queue_.size() == options_.batch_max;
    }
  }
  if (wakes) wake_.notify_one();
  if (fits) return;
  dropped_total_.Increment();
  logger_.WriteLimited(drop_limit_, telemetry::LogLevel::kWarn, "traces.dropped",
                       "Spans are dropped, because too many wait to be exported");
}

void SpanExporter::Run() {
  std::vector<Span> taken;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !queue_.empty() || stop_; });
    wake_.wait_for(lock, options_.gather,
                   [this] { return queue_.size() >= options_.batch_max || stop_; });
    if (queue_.empty()) break;
    taken.swap(queue_);
    lock.unlock();
    ExportAll(taken);
    taken.clear();
    lock.lock();
  }
  done_ = true;
  ended_.notify_one();
}

void SpanExporter::ExportAll(const std::vector<Span>& spans) {
  absl::Span<const Span> rest(spans);
  while (!rest.empty()) {
    const absl::Span<const Span> batch = rest.first(std::min(rest.size(), options_.batch_max));
    rest.remove_prefix(batch.size());
    bool gives_up = false;
    {
      const std::lock_guard lock(mutex_);
      waiting_ -= batch.size();
      gives_up = stop_ && failing_;
    }
    gives_up ? Drop(batch.size()) : Export(batch);
  }
}

void SpanExporter::Export(absl::Span<const Span> batch) {
  core::Millis pause = options_.retry_after;
  for (int tries = 1;; ++tries, pause *= 2) {
    const Sent sent = sender_->Send(batch, options_.send_limit);
    if (sent.kind == Sent::Kind::kTaken) return OnTaken(batch, sent);
    OnFailed(sent.problem);
    const bool may_try = sent.kind == Sent::Kind::kTryAgain && tries < options_.tries_max;
    if (!may_try || !WaitForRetry(pause)) return Drop(batch.size());
  }
}

void SpanExporter::Drop(size_t spans) { dropped_total_.Add(static_cast<double>(spans)); }

void SpanExporter::OnTaken(absl::Span<const Span> batch, const Sent& sent) {
  const auto all = static_cast<int64_t>(batch.size());
  const int64_t rejected = std::clamp<int64_t>(sent.rejected, 0, all);
  exported_total_.Add(static_cast<double>(all - rejected));
  if (rejected > 0) {
    Drop(static_cast<size_t>(rejected));
    logger_.WriteLimited(reject_limit_, telemetry::LogLevel::kWarn, "traces.rejected",
                         "The collector has rejected some spans; they are dropped",
                         {field::Problem(sent.problem)});
  }
  if (!std::exchange(failing_, false)) return;
  logger_.Info("traces.exported_again", "Spans can be exported again");
}

void SpanExporter::OnFailed(const std::string& problem) {
  failing_ = true;
  logger_.WriteLimited(failure_limit_, telemetry::LogLevel::kWarn, "traces.export_failed",
                       "Spans cannot be exported: they wait, and are dropped when too many wait",
                       {field::Problem(problem)});
}

bool SpanExporter::WaitForRetry(core::Millis pause) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return stop_; });
}

}  // namespace lockkeeper::tracing
