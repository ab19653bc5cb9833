// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_command.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/lock_listing.h"
#include "cli/lock_view.h"
#include "cli/signals/wake_up.h"
#include "cli/top/grant_rates.h"
#include "cli/top/lock_table.h"
#include "cli/top/screen.h"
#include "os/boot_clock.h"

namespace lockkeeper::cli {
namespace {

constexpr std::chrono::seconds kInterval{2};

// More locks than anybody looks through, though few enough to be read every two seconds.
constexpr int64_t kLocksMax = 10'000;

absl::StatusOr<Listing> Look(AdminConnection& connection, const TopCommand& command) {
  admin::v1::ListLocksRequest request;
  request.set_prefix(command.prefix);
  return ListLocks(connection, std::move(request), kLocksMax);
}

std::vector<TableRow> RowsOf(const Listing& listing,
                             const std::optional<GrantRates::Rates>& rates = std::nullopt) {
  std::vector<TableRow> rows;
  rows.reserve(listing.locks.size());
  for (const admin::v1::Lock& lock : listing.locks) {
    rows.push_back(RowOf(lock));
    if (!rates) continue;
    const auto found = rates->find(lock.name());
    rows.back().rate = found == rates->end() ? 0 : found->second;
  }
  return rows;
}

std::string ReservationsOf(const Listing& listing) {
  return std::string(absl::StripPrefix(listing.Reservations(), "\n"));
}

// Asks the service on another thread, so that keys and signals are answered meanwhile.
class Looker {
 public:
  Looker(AdminConnection& connection, const TopCommand& command)
      : connection_(connection), command_(command) {}
  // Ends a look that is under way.
  ~Looker() {
    if (!look_.valid()) return;
    connection_.Cancel();
    look_.wait();
  }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  // Readable when a look has ended.
  int descriptor() const { return done_.descriptor(); }
  bool IsUnderWay() const { return look_.valid(); }

  // Requires: none is under way.
  void Begin() {
    look_ = std::async(std::launch::async, [this] {
      auto listing = Look(connection_, command_);
      done_.Notify();
      return listing;
    });
  }

  // What the look has found. Requires: the descriptor is readable.
  absl::StatusOr<Listing> Take() {
    done_.Clear();
    return look_.get();  // It has notified, and returns at once.
  }

 private:
  AdminConnection& connection_;
  const TopCommand& command_;
  const WakeUp done_;
  std::future<absl::StatusOr<Listing>> look_;
};

// Reads what was typed. Nothing if nobody can type any more.
std::optional<std::string> ReadKeys() {
  std::array<char, 256> keys{};
  const ssize_t got = read(STDIN_FILENO, keys.data(), keys.size());
  if (got <= 0) return std::nullopt;
  return std::string(keys.data(), static_cast<size_t>(got));
}

Report Ended(ExitCode code) { return {"ended", code, ""}; }

// The live table: one wait for keys, signals and answers.
class Live {
 public:
  Live(AdminConnection& connection, const TopCommand& command, SignalQueue& signals)
      : title_("lockkeeper top  " + connection.address()),
        signals_(signals),
        rates_(connection.Another(), command.prefix),
        looker_(connection, command),
        table_(command.sort, command.filter) {
    table_.SetProblem("asking " + connection.address());
  }

  Report Run() {
    while (true) {
      if (!looker_.IsUnderWay() && os::BootTime() >= next_look_) {
        next_look_ = os::BootTime() + kInterval;
        looker_.Begin();
      }
      const Screen::Size size = Screen::SizeNow();
      const TableImage image = table_.Draw(title_, size.columns, size.rows);
      if (!screen_.Show(image.lines, image.selected)) {
        return Ended(ExitCode::kNotPrinted);
      }
      if (auto end = WaitAndTake()) return *std::move(end);
    }
  }

 private:
  std::optional<Report> WaitAndTake() {
    const auto left = std::chrono::ceil<milliseconds>(next_look_ - os::BootTime()).count();
    const int timeout = looker_.IsUnderWay() ? -1 : static_cast<int>(std::max<int64_t>(left, 0));
    std::array<pollfd, 3> waits{{{STDIN_FILENO, POLLIN, 0},
                                 {signals_.descriptor(), POLLIN, 0},
                                 {looker_.descriptor(), POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), timeout) <= 0) return std::nullopt;
    if (waits[2].revents != 0) TakeLook();
    if (waits[1].revents != 0) {
      if (auto end = TakeSignal()) return end;
    }
    return waits[0].revents != 0 ? TakeKeys() : std::nullopt;
  }

  void TakeLook() {
    const absl::StatusOr<Listing> listing = looker_.Take();
    if (listing.ok()) {
      table_.SetRows(RowsOf(*listing, rates_.Take()), ReservationsOf(*listing));
      table_.SetRateProblem(rates_.Problem());
    } else {
      table_.SetProblem(std::string(listing.status().message()));
    }
  }

  std::optional<Report> TakeSignal() {
    const std::optional<int> signal = signals_.Take();
    if (!signal || *signal == SIGWINCH) return std::nullopt;
    if (*signal == SIGTSTP) {
      screen_.Leave();
      raise(SIGSTOP);
      screen_.Enter();
      return std::nullopt;
    }
    if (*signal == SIGINT) return Ended(ExitCode::kDone);
    Report report = Ended(ExitCode::kDone);
    report.exit_code = 128 + *signal;
    return report;
  }

  std::optional<Report> TakeKeys() {
    const std::optional<std::string> keys = ReadKeys();
    if (!keys) return Ended(ExitCode::kDone);
    switch (table_.Type(*keys)) {
      case LockTable::Wish::kNothing:
        return std::nullopt;
      case LockTable::Wish::kRefresh:
        next_look_ = os::BootTime();
        return std::nullopt;
      case LockTable::Wish::kQuit:
        break;
    }
    return Ended(ExitCode::kDone);
  }

  const std::string title_;
  SignalQueue& signals_;
  GrantRates rates_;
  Looker looker_;
  LockTable table_;
  Screen screen_;  // Given back before a look that is under way is waited for.
  std::chrono::nanoseconds next_look_ = os::BootTime();
};

}  // namespace

Report TopOnce(AdminConnection& connection, const TopCommand& command) {
  const auto listing = Look(connection, command);
  if (!listing.ok()) return ErrorReport(listing.status(), "");
  LockTable table(command.sort, command.filter);
  table.SetRows(RowsOf(*listing), ReservationsOf(*listing));
  Report report("listed", ExitCode::kDone, table.Print());
  std::vector<JsonObject> locks;
  for (const size_t at : table.Shown()) {
    SetLock(listing->locks[at], locks.emplace_back());
    SetAge(listing->locks[at], locks.back());
  }
  report.json.Set("locks", locks);
  listing->SetReservations(report.json);
  return report;
}

Report TopLive(AdminConnection& connection, const TopCommand& command, SignalQueue& signals) {
  return Live(connection, command, signals).Run();
}

}  // namespace lockkeeper::cli
