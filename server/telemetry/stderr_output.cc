// SPDX-License-Identifier: Apache-2.0
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "telemetry/log.h"

namespace lockkeeper::telemetry {
namespace {

// The most queued lines; each takes about half a KiB.
constexpr size_t kQueueLines = 4096;
constexpr size_t kThreads = 1;  // One, so that lines keep their order.

class StderrOutput : public LogOutput {
 public:
  StderrOutput()
      : pool_(std::make_shared<spdlog::details::thread_pool>(kQueueLines, kThreads)),
        logger_(std::make_shared<spdlog::async_logger>(
            "stderr", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_pattern("%v");  // The line is finished; see log_format.h.
    logger_->set_level(spdlog::level::trace);
  }

  StderrOutput(const StderrOutput&) = delete;
  StderrOutput& operator=(const StderrOutput&) = delete;

  // Ends the pool first, which writes the queued lines: its thread uses the logger until then.
  ~StderrOutput() override { pool_.reset(); }

  void Write(std::string_view line) override {
    logger_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  }

  int64_t lost() const override { return static_cast<int64_t>(pool_->overrun_counter()); }

 private:
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  const std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace

std::unique_ptr<LogOutput> MakeStderrOutput() { return std::make_unique<StderrOutput>(); }

}  // namespace lockkeeper::telemetry
