// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_command.h"

#include <google/protobuf/util/time_util.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/admin_connection.h"
#include "cli/lines.h"
#include "cli/printable.h"
#include "cli/signals/wake_up.h"
#include "cli/standard_streams.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::LockEvent;
using google::protobuf::util::TimeUtil;

constexpr int kFirstPauseMs = 100;
constexpr int kPauseMaxMs = 2'000;

// Of a gap that this program makes, because its connection broke.
constexpr char kConnectionLost[] = "connection_lost";

std::string KindOf(const LockEvent& event) {
  return EnumWord(admin::v1::LockEventKind_Name(event.kind()), "LOCK_EVENT_KIND_");
}

std::string GapReasonOf(const LockEvent& event) {
  const std::string reason = EnumWord(admin::v1::GapReason_Name(event.gap_reason()), "GAP_REASON_");
  return reason.empty() ? kConnectionLost : reason;
}

// "2026-01-02T03:04:05.678Z  granted  orders/1  token 7  owner web-1:4  for 30s".
std::string LineOf(const LockEvent& event) {
  std::string line = TimeUtil::ToString(event.time()) + "  " + KindOf(event);
  if (!event.name().empty()) absl::StrAppend(&line, "  ", event.name());
  if (event.fencing_token() != 0) absl::StrAppend(&line, "  token ", event.fencing_token());
  if (!event.owner().empty()) absl::StrAppend(&line, "  owner ", event.owner());
  if (!event.principal().empty()) absl::StrAppend(&line, "  principal ", event.principal());
  if (event.has_remaining()) {
    absl::StrAppend(&line, "  for ", text::FormatDuration(Millis(event.remaining())));
  }
  if (event.has_waited()) {
    absl::StrAppend(&line, "  waited ", text::FormatDuration(Millis(event.waited())));
  }
  if (event.position() > 0) absl::StrAppend(&line, "  place ", event.position());
  if (event.previous_lease_expired()) absl::StrAppend(&line, "  after an expired lease");
  if (event.kind() == admin::v1::LOCK_EVENT_KIND_GAP) {
    absl::StrAppend(&line, "  ", GapReasonOf(event));
    if (event.missed() > 0) absl::StrAppend(&line, "  ", event.missed(), " events missing");
  }
  return line;
}

std::string JsonOf(const LockEvent& event) {
  JsonObject json;
  json.Set("time", TimeUtil::ToString(event.time())).Set("event", KindOf(event));
  if (!event.name().empty()) json.Set("name", event.name());
  if (event.fencing_token() != 0) json.Set("fencing_token", event.fencing_token());
  if (!event.owner().empty()) json.Set("owner", event.owner());
  if (!event.principal().empty()) json.Set("principal", event.principal());
  if (event.has_remaining()) json.Set("remaining_ms", Millis(event.remaining()).count());
  if (event.has_waited()) json.Set("waited_ms", Millis(event.waited()).count());
  if (event.position() > 0) json.Set("position", event.position());
  if (event.previous_lease_expired()) json.Set("previous_lease_expired", true);
  if (event.kind() == admin::v1::LOCK_EVENT_KIND_GAP) {
    json.Set("gap_reason", GapReasonOf(event));
    if (event.missed() > 0) json.Set("missed", event.missed());
  }
  return json.ToString();
}

// Reads and prints on a thread of its own, so that signals are answered meanwhile.
class Watcher {
 public:
  Watcher(const Service& service, const WatchCommand& command, OutputFormat format)
      : service_(service), command_(command), format_(format), left_(command.count) {}

  // Returns when it was stopped, when there were enough events, or with the error that ends it.
  absl::Status Run() {
    auto connection = AdminConnection::Connect(service_);
    absl::Status status = connection.ok() ? Read(*connection) : connection.status();
    // Before the first event the watch has not begun, and whoever asked for it wants to know.
    while (has_begun_ && absl::IsUnavailable(status) && !Pause()) {
      connection = AdminConnection::Connect(service_);
      status = connection.ok() ? Read(*connection) : connection.status();
    }
    if (absl::IsDataLoss(status)) return status;  // Of Print: an event is missing.
    return IsStopped() || IsEnough() ? absl::OkStatus() : status;
  }

  // Thread-safe.
  void Stop() {
    stop_.Notify();
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    if (connection_ != nullptr) connection_->Cancel();
  }

 private:
  bool IsStopped() {
    const std::lock_guard lock(mutex_);
    return is_stopped_;
  }
  bool IsEnough() const { return left_ && *left_ == 0; }

  void Use(AdminConnection* connection) {
    const std::lock_guard lock(mutex_);
    connection_ = connection;
    if (connection != nullptr && is_stopped_) connection->Cancel();
  }

  // UNAVAILABLE if trying again may help.
  absl::Status Read(AdminConnection& connection) {
    Use(&connection);
    const auto stub = admin::v1::AdminService::NewStub(connection.channel());
    admin::v1::WatchLocksRequest request;
    request.set_name(command_.name);
    request.set_prefix(command_.prefix);
    absl::Status printed;
    const absl::Status status = connection.CallWithoutEnd([&](grpc::ClientContext& context) {
      const auto reader = stub->WatchLocks(&context, request);
      admin::v1::WatchLocksResponse response;
      while (printed.ok() && !IsEnough() && reader->Read(&response)) printed = Print(response);
      if (!printed.ok() || IsEnough()) context.TryCancel();
      return reader->Finish();
    });
    Use(nullptr);
    if (!printed.ok() || IsEnough() || IsStopped()) return printed;
    // A daemon that goes away may end the stream in any way but a refusal.
    const bool is_away = status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status);
    return is_away ? absl::UnavailableError(status.ok() ? "the stream has ended" : status.message())
                   : status;
  }

  absl::Status Print(const admin::v1::WatchLocksResponse& response) {
    if (std::exchange(has_gap_, false)) {
      LockEvent gap;
      gap.set_kind(admin::v1::LOCK_EVENT_KIND_GAP);
      *gap.mutable_time() = TimeUtil::GetCurrentTime();
      if (auto status = Print(gap); !status.ok()) return status;
    }
    for (const LockEvent& event : response.events()) {
      has_begun_ = true;
      if (auto status = Print(event); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Print(const LockEvent& event) {
    const auto& kinds = command_.kinds;
    const bool is_wanted =
        kinds.empty() || std::find(kinds.begin(), kinds.end(), KindOf(event)) != kinds.end();
    if (!is_wanted || IsEnough()) return absl::OkStatus();
    if (left_) --*left_;
    pause_ms_ = kFirstPauseMs;
    return WriteLine(stdout,
                     format_ == OutputFormat::kJson ? JsonOf(event) : Printable(LineOf(event)));
  }

  // True if it was stopped meanwhile.
  bool Pause() {
    has_gap_ = true;
    pollfd stopped{stop_.descriptor(), POLLIN, 0};
    poll(&stopped, 1, pause_ms_);
    pause_ms_ = std::min(pause_ms_ * 2, kPauseMaxMs);
    return IsStopped();
  }

  const Service& service_;
  const WatchCommand& command_;
  const OutputFormat format_;
  std::optional<int64_t> left_;
  bool has_begun_ = false;
  bool has_gap_ = false;
  int pause_ms_ = kFirstPauseMs;
  const WakeUp stop_;
  std::mutex mutex_;  // Guards the next two.
  AdminConnection* connection_ = nullptr;
  bool is_stopped_ = false;
};

// The signal that ends the watch. Nothing if it ended by itself.
std::optional<int> WaitForEnd(const WakeUp& done, SignalQueue& signals) {
  std::array<pollfd, 2> waits{{{done.descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
  while (true) {
    if (poll(waits.data(), waits.size(), -1) <= 0) continue;
    if (waits[0].revents != 0) return std::nullopt;
    if (const std::optional<int> signal = signals.Take()) return signal;
  }
}

}  // namespace

Report Watch(const Service& service, const WatchCommand& command, OutputFormat format,
             SignalQueue& signals) {
  Watcher watcher(service, command, format);
  const WakeUp done;
  auto run = std::async(std::launch::async, [&] {
    absl::Status status = watcher.Run();
    done.Notify();
    return status;
  });
  const std::optional<int> signal = WaitForEnd(done, signals);
  if (signal) watcher.Stop();
  const absl::Status status = run.get();
  if (absl::IsDataLoss(status)) {
    Report report("ended", ExitCode::kNotPrinted, NotWritten(status));
    report.is_error = true;
    return report;
  }
  if (!status.ok()) return ErrorReport(status, command.name);
  Report report("ended", ExitCode::kDone, "");
  if (signal && *signal != SIGINT) report.exit_code = 128 + *signal;
  return report;
}

}  // namespace lockkeeper::cli
