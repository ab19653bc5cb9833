// SPDX-License-Identifier: Apache-2.0
#include "audit/sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "core/errors.h"
#include "os/descriptor.h"
#include "telemetry/log.h"

namespace lockkeeper::audit {
namespace {

constexpr int kPatienceMillis = 100;
constexpr mode_t kOwnerOnly = 0600;
constexpr char kSyslogSocket[] = "/dev/log";

std::string Reason(int error) { return std::strerror(error); }

// Whether `descriptor` takes bytes now, or does within kPatienceMillis.
bool IsWritable(int descriptor) {
  pollfd wanted{descriptor, POLLOUT, 0};
  return poll(&wanted, 1, kPatienceMillis) > 0;
}

bool IsRegular(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// Whether an earlier process ended in the middle of a line.
bool EndsInLine(const std::string& path) {
  const os::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || fstat(file.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return false;
  char last = '\n';
  return pread(file.get(), &last, 1, status.st_size - 1) == 1 && last != '\n';
}

// Writes what `descriptor` takes.
Written WriteTo(int descriptor, std::string_view text) {
  if (!IsWritable(descriptor)) return {};
  const ssize_t written = write(descriptor, text.data(), text.size());
  if (written >= 0) return {.bytes = static_cast<size_t>(written), .problem = {}};
  if (errno == EAGAIN || errno == EINTR) return {};
  return {.bytes = 0, .problem = Reason(errno)};
}

class FileSink final : public Sink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}

  // Not blocking: a pipe whose reader does not read must not keep the daemon from stopping.
  text::Problem Reopen() override {
    os::Descriptor file(open(path_.c_str(),
                             O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                             kOwnerOnly));
    if (!file.valid()) {
      const std::string why = errno == ENXIO ? "nobody reads this pipe" : Reason(errno);
      file_ = {};
      return path_ + " cannot be opened: " + why;
    }
    file_ = std::move(file);
    ends_in_line_ = EndsInLine(path_);
    return std::nullopt;
  }

  Written Write(std::string_view lines) override {
    if (!file_.valid()) {
      if (text::Problem problem = Reopen()) return {.bytes = 0, .problem = std::move(problem)};
    }
    if (ends_in_line_) {
      Written newline = WriteTo(file_.get(), "\n");
      if (newline.bytes == 0) return newline;
      ends_in_line_ = false;
    }
    return WriteTo(file_.get(), lines);
  }

 private:
  const std::string path_;
  os::Descriptor file_;
  bool ends_in_line_ = false;
};

// Others may share the open file, so it must not be made non-blocking. A pipe takes PIPE_BUF bytes
// without blocking when it takes any.
class StdoutSink final : public Sink {
 public:
  Written Write(std::string_view lines) override {
    return WriteTo(STDOUT_FILENO, is_regular_ ? lines : lines.substr(0, PIPE_BUF));
  }

 private:
  const bool is_regular_ = IsRegular(STDOUT_FILENO);
};

class SyslogSink final : public Sink {
 public:
  explicit SyslogSink(std::string path) : path_(std::move(path)) {}

  text::Problem Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) return path_ + " is too long for a socket";
    path_.copy(address.sun_path, path_.size());
    os::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() ||
        connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return "no syslog daemon at " + path_ + ": " + Reason(errno);
    }
    socket_ = std::move(socket);
    return std::nullopt;
  }

  Written Write(std::string_view lines) override {
    if (!socket_.valid()) {
      if (text::Problem problem = Connect()) return {.bytes = 0, .problem = std::move(problem)};
    }
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::string message = Header() + std::string(line);
    if (!IsWritable(socket_.get())) return {};
    if (send(socket_.get(), message.data(), message.size(), 0) >= 0) {
      return {.bytes = line.size() + 1, .problem = {}};
    }
    if (errno == EAGAIN || errno == EINTR) return {};
    Written failed{.bytes = 0, .problem = "syslog: " + Reason(errno)};
    socket_ = {};  // A syslog daemon that was restarted has a new socket.
    return failed;
  }

 private:
  // As syslog(3) writes it: "<86>Jan  2 03:04:05 lockkeeperd[17]: ".
  static std::string Header() {
    constexpr int kPriority = LOG_AUTHPRIV | LOG_INFO;
    return "<" + std::to_string(kPriority) + ">" +
           absl::FormatTime("%b %e %H:%M:%S", absl::FromChrono(telemetry::SystemWallTime()),
                            absl::LocalTimeZone()) +
           " lockkeeperd[" + std::to_string(getpid()) + "]: ";
  }

  const std::string path_;
  os::Descriptor socket_;
};

absl::Status Unusable(const std::string& problem) {
  return core::Error(core::ErrorReason::kAuditUnavailable, "audit.to: " + problem);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sink>> OpenSyslog(const std::string& path) {
  auto sink = std::make_unique<SyslogSink>(path);
  if (const text::Problem problem = sink->Connect()) return Unusable(*problem);
  return sink;
}

absl::StatusOr<std::unique_ptr<Sink>> OpenSink(const std::string& to) {
  if (to == "stdout") return std::make_unique<StdoutSink>();
  if (to == "syslog") return OpenSyslog(kSyslogSocket);
  auto sink = std::make_unique<FileSink>(to);
  if (const text::Problem problem = sink->Reopen()) return Unusable(*problem);
  return sink;
}

}  // namespace lockkeeper::audit
