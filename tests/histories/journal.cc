// SPDX-License-Identifier: Apache-2.0
#include "histories/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "support/clock/boot_nanos.h"

namespace lockkeeper::histories {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int Open(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) Fail(path);
  return file;
}

// One JSON object on a line. Texts need no escapes: they are ids, names and reasons.
class Line {
 public:
  Line& Add(const char* name, const std::string& value) {
    if (!value.empty()) Name(name).append("\"").append(value).append("\"");
    return *this;
  }
  Line& Add(const char* name, int64_t value) {
    if (value != 0) Name(name).append(std::to_string(value));
    return *this;
  }
  Line& Add(const char* name, bool value) {
    if (value) Name(name).append("true");
    return *this;
  }
  std::string Text() const { return text_ + "}\n"; }

 private:
  std::string& Name(const char* name) {
    return text_.append(text_.size() > 1 ? ",\"" : "\"").append(name).append("\":");
  }

  std::string text_ = "{";
};

}  // namespace

Journal::Journal(const std::string& path) : file_(Open(path)) {}

Journal::~Journal() { close(file_); }

int Journal::Begin(const std::string& client, const Asked& asked) {
  const std::lock_guard lock(mutex_);
  ++operations_;
  Write(Line()
            .Add("client", client)
            .Add("op", int64_t{operations_})
            .Add("kind", asked.kind)
            .Add("lock", asked.lock)
            .Add("lease", asked.lease)
            .Add("attempt", int64_t{asked.attempt})
            .Add("token", asked.token)
            .Add("live", asked.live)
            .Add("session", asked.session)
            .Add("begin", support::BootNanos())
            .Text());
  return operations_;
}

void Journal::End(const std::string& client, int operation, const Answered& answered) {
  const int64_t now = support::BootNanos();
  Write(Line()
            .Add("client", client)
            .Add("op", int64_t{operation})
            .Add("end", now)
            .Add("outcome", answered.outcome)
            .Add("reason", answered.reason)
            .Add("token", answered.token)
            .Add("left_us", answered.left_us)
            .Add("holder", answered.holder)
            .Add("offered", answered.offered)
            .Text());
}

void Journal::Fault(const std::string& text, bool forgets) {
  Write(
      Line().Add("fault", text).Add("forgets", forgets).Add("begin", support::BootNanos()).Text());
}

void Journal::Write(const std::string& line) {
  // One call for each line: those of all threads stay whole.
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) Fail("history");
}

}  // namespace lockkeeper::histories
