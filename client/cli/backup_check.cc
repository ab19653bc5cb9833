// SPDX-License-Identifier: Apache-2.0
#include "cli/backup_check.h"

#include <fcntl.h>
#include <google/protobuf/util/time_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/doctor.h"
#include "cli/lines.h"
#include "cli/server_info.h"
#include "os/descriptor.h"
#include "os/read_file.h"
#include "text/duration.h"
#include "text/escape.h"
#include "text/problem.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::GetServerInfoResponse;
using admin::v1::Lock;
using admin::v1::StoreInfo;
using google::protobuf::util::TimeUtil;

// The file's first line. One of another form gets another number.
constexpr char kTitle[] = "lockkeeper backup-check 1";
// Some millions of locks.
constexpr size_t kFileBytesMax = size_t{1} << 30;
// Names in a message.
constexpr size_t kExamplesMax = 3;

std::string SettingOf(const StoreInfo& store, const std::string& key) {
  const auto found = store.settings().find(key);
  return found == store.settings().end() ? "" : found->second;
}

absl::Time StoreTime(const GetServerInfoResponse& info) {
  return absl::FromUnixMicros(TimeUtil::TimestampToMicroseconds(info.current_time()) +
                              TimeUtil::DurationToMicroseconds(info.store().clock_ahead()));
}

std::string InWords(absl::Duration duration) {
  return text::InWords(absl::ToChronoMilliseconds(duration));
}

void JudgeDurability(const StoreInfo& store, Chart& chart) {
  if (store.assurance() >= v1::ASSURANCE_DISK) {
    return chart.Ok("durable",
                    "each grant is on disk or on replicas before it is answered: for a restart "
                    "nothing has to be restored");
  }
  chart.Warn("durable",
             "grants are in the memory of the store only: a restart of it is a loss and costs a "
             "quarantine, and a backup does not change that; set appendonly yes and appendfsync "
             "always (docs/operating/redis.md)");
}

void JudgeLive(const Listing& listing, Chart& chart) {
  milliseconds last{0};
  int64_t held = 0;
  for (const Lock& lock : listing.locks) {
    if (lock.state() != admin::v1::LOCK_STATE_HELD) continue;
    ++held;
    last = std::max(last, Millis(lock.remaining_ttl()));
  }
  chart.Ok("leases", held == 0 ? "no lease is live: a backup of now has nothing to keep"
                               : absl::StrCat(held, held == 1 ? " lease is" : " leases are",
                                              " live: a backup of now keeps nothing that runs for "
                                              "longer than ",
                                              text::InWords(last)));
  if (listing.unreadable > 0) {
    chart.Fail("records", absl::StrCat(listing.unreadable, " records cannot be read"));
  }
}

// "3 locks, such as `a`, `b`"
std::string Examples(const std::vector<std::string>& names) {
  std::string text = absl::StrCat(names.size(), names.size() == 1 ? " lock" : " locks");
  for (size_t i = 0; i < std::min(names.size(), kExamplesMax); ++i) {
    absl::StrAppend(&text, i == 0 ? ", such as `" : ", `", names[i], "`");
  }
  return text;
}

// Whether the store has all that it had then, and whether the daemons know if it has not.
void JudgeRecords(const StoreNote& now, const StoreNote& since, absl::Duration retention,
                  Chart& chart) {
  std::vector<std::string> older;
  std::vector<std::string> missing;
  size_t collected = 0;
  for (const auto& [name, token] : since.tokens) {
    const auto found = now.tokens.find(name);
    if (found != now.tokens.end()) {
      if (found->second < token) older.push_back(name);
    } else if (now.time < since.time + retention) {
      missing.push_back(name);
    } else {
      ++collected;
    }
  }
  if (older.empty() && missing.empty()) {
    return chart.Ok("records",
                    absl::StrCat("nothing of the file is missing or older: ", since.tokens.size(),
                                 " records, of which ", collected, collected == 1 ? " is" : " are",
                                 " gone after their time"));
  }
  std::string text;
  if (!older.empty()) absl::StrAppend(&text, Examples(older), ": older than in the file");
  if (!missing.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", Examples(missing), ": gone before their time");
  }
  if (now.epoch > since.epoch) {
    return chart.Note("records",
                      text +
                          "; the daemons have noticed it, and grant nothing new until all "
                          "leases of before are over, see `quarantine`");
  }
  chart.Fail("records",
             text +
                 "; no daemon has noticed it, so locks may be granted whose holders still work: "
                 "delete the marker of the store, which begins a quarantine "
                 "(docs/operating/backup.md)");
}

void JudgeSince(const StoreNote& now, const StoreNote& since, const StoreInfo& store,
                absl::Duration retention, Chart& chart) {
  if (now.key_prefix != since.key_prefix) {
    return chart.Fail("file",
                      absl::StrCat("it tells of the locks with store.key_prefix ", since.key_prefix,
                                   ", and the daemon's is ", now.key_prefix));
  }
  chart.Ok("file", absl::StrCat("it tells of ", since.tokens.size(), " records, as of ",
                                now.time < since.time ? "a time to come"
                                                      : InWords(now.time - since.time) + " ago"));
  if (now.time < since.time) {
    chart.Fail("time", absl::StrCat("the store's clock is ", InWords(since.time - now.time),
                                    " behind what it was: leases end late; set it right, and look "
                                    "at `quarantine`"));
  } else {
    chart.Ok("time", "the store's clock has not gone back");
  }
  if (now.epoch < since.epoch) {
    chart.Fail("epoch", absl::StrCat("it was ", since.epoch, " and is ", now.epoch,
                                     ": the data is older than the file, and no daemon has noticed "
                                     "it, or it is another store; delete the marker of the store, "
                                     "which begins a quarantine (docs/operating/backup.md)"));
  } else if (now.epoch > since.epoch) {
    chart.Note("epoch",
               absl::StrCat("it was ", since.epoch, " and is ", now.epoch,
                            ": the daemons have noticed that the store may have forgotten leases",
                            store.last_loss().empty() ? "" : " (" + store.last_loss() + ")"));
  } else {
    chart.Ok("epoch", absl::StrCat("still ", now.epoch, ": no daemon has noticed a loss"));
  }
  JudgeRecords(now, since, retention, chart);
}

// In the place of an older one, whole or not at all.
text::Problem WriteNote(const StoreNote& note, const std::string& path) {
  const std::string text = ToText(note);
  const std::string fresh = path + ".new";
  const os::Descriptor file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  size_t written = 0;
  while (file.valid() && written < text.size()) {
    const ssize_t count = write(file.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += static_cast<size_t>(count);
  }
  if (file.valid() && written == text.size() && fsync(file.get()) == 0 &&
      std::rename(fresh.c_str(), path.c_str()) == 0) {
    return std::nullopt;
  }
  return "cannot write the file " + text::Quoted(path) + ": " + std::strerror(errno);
}

absl::StatusOr<StoreNote> ReadNote(const std::string& path) {
  std::string text;
  if (const text::Problem problem = os::ReadFile(path, kFileBytesMax, text)) {
    return absl::InvalidArgumentError(*problem);
  }
  return ParseNote(text);
}

}  // namespace

StoreNote NoteOf(const GetServerInfoResponse& info, const Listing& listing) {
  StoreNote note{.epoch = info.store().epoch(),
                 .time = StoreTime(info),
                 .key_prefix = SettingOf(info.store(), "store.key_prefix"),
                 .tokens = {}};
  for (const Lock& lock : listing.locks) {
    note.tokens[lock.name()] = lock.fencing_token();
  }
  return note;
}

// Names have no control characters, so a name is the rest of its line. The last line tells how many
// there are, so that a part of a file is no file.
std::string ToText(const StoreNote& note) {
  std::string text =
      absl::StrCat(kTitle, "\nepoch ", note.epoch, "\ntime ", absl::ToUnixMicros(note.time),
                   "\nprefix ", note.key_prefix, "\n");
  for (const auto& [name, token] : note.tokens) {
    absl::StrAppend(&text, "lock ", token, " ", name, "\n");
  }
  absl::StrAppend(&text, "locks ", note.tokens.size(), "\n");
  return text;
}

absl::StatusOr<StoreNote> ParseNote(const std::string& text) {
  const absl::Status broken = absl::InvalidArgumentError(
      "this is no file of `lockkeeper backup-check --save`, or only "
      "the beginning of one");
  std::istringstream lines(text);
  // The rest of the next line behind the word that it has to begin with.
  const auto next = [&lines](const std::string& word) -> std::optional<std::string> {
    std::string line;
    if (!std::getline(lines, line) || !line.starts_with(word)) return std::nullopt;
    return line.substr(word.size());
  };
  StoreNote note;
  int64_t micros = 0;
  const auto title = next(kTitle);
  const auto epoch = next("epoch ");
  const auto time = next("time ");
  const auto prefix = next("prefix ");
  if (!text.ends_with('\n') || !title || !title->empty() || !epoch ||
      !absl::SimpleAtoi(*epoch, &note.epoch) || !time || !absl::SimpleAtoi(*time, &micros) ||
      !prefix) {
    return broken;
  }
  note.time = absl::FromUnixMicros(micros);
  note.key_prefix = *prefix;
  size_t count = 0;
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("locks ")) {
    std::istringstream words(line);
    std::string word, name;
    int64_t token = 0;
    words >> word >> token;
    words.get();  // The space before the name.
    if (!std::getline(words, name) || word != "lock") return broken;
    note.tokens[name] = token;
  }
  if (!line.starts_with("locks ") || !absl::SimpleAtoi(line.substr(6), &count) ||
      count != note.tokens.size()) {
    return broken;
  }
  return note;
}

std::vector<Finding> JudgeBackup(const GetServerInfoResponse& info, const Listing& listing,
                                 const std::optional<StoreNote>& since, const std::string& server) {
  Chart chart(server);
  JudgeStore(info.store(), chart);
  JudgeStoreClock(info.store(), chart);
  JudgeDurability(info.store(), chart);
  JudgeLive(listing, chart);
  if (since) {
    JudgeSince(NoteOf(info, listing), *since, info.store(),
               absl::FromChrono(Millis(info.record_retention())), chart);
  }
  return std::move(chart).Take();
}

Report BackupCheck(AdminConnection& connection, const BackupCheckCommand& command) {
  std::optional<StoreNote> since;
  if (!command.since.empty()) {
    absl::StatusOr<StoreNote> note = ReadNote(command.since);
    if (!note.ok()) return UsageReport(absl::StrCat("--since: ", note.status().message()));
    since = *std::move(note);
  }
  const auto info = AskServerInfo(connection);
  if (!info.ok()) return ErrorReport(info.status(), "");
  if (!info->store().reachable()) {
    return ErrorReport(absl::UnavailableError("the store is away: " + StoreText(info->store())),
                       "");
  }
  if (!info->store().has_clock_ahead()) {
    return ErrorReport(absl::UnavailableError("the daemon has not looked at its store yet, which "
                                              "it does once a second; or the store does not tell "
                                              "its time"),
                       "");
  }
  admin::v1::ListLocksRequest request;
  request.set_include_ended(true);
  const auto listing = ListLocks(connection, std::move(request), std::nullopt);
  if (!listing.ok()) return ErrorReport(listing.status(), "");
  const StoreNote now = NoteOf(*info, *listing);
  Report report = ReportOf(JudgeBackup(*info, *listing, since, connection.address()));
  report.json.Set("store_epoch", now.epoch)
      .Set("store_time", absl::FormatTime(absl::RFC3339_full, now.time, absl::UTCTimeZone()))
      .Set("records", now.tokens.size());
  if (command.save.empty()) return report;
  if (const text::Problem problem = WriteNote(now, command.save)) {
    return UsageReport("--save: " + *problem);
  }
  return report;
}

}  // namespace lockkeeper::cli
