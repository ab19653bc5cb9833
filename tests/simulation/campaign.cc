// SPDX-License-Identifier: Apache-2.0
#include "simulation/campaign.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "redis/scripts.h"
#include "simulation/even_schedule.h"
#include "simulation/search.h"
#include "simulation/small_scope.h"

namespace lockkeeper::simulation {
namespace {

// A long campaign that is stopped before its end has told how far it came.
constexpr uint64_t kSchedulesPerLine = 100'000;

// Which store the schedules of a campaign have, but those that are given.
enum class Store { kRedis, kMemory };

struct Totals {
  uint64_t schedules = 0;
  core::Micros virtual_time{};
  uint64_t executed = 0;
  uint64_t grants = 0;
  uint64_t faults = 0;
  uint64_t failovers = 0;
  uint64_t failed = 0;

  void Add(const Totals& other) {
    schedules += other.schedules;
    virtual_time += other.virtual_time;
    executed += other.executed;
    grants += other.grants;
    faults += other.faults;
    failovers += other.failovers;
    failed += other.failed;
  }
};

bool Fails(const Schedule& schedule, support::LuaScripts& lua) {
  return !Run(schedule, lua).violations.empty();
}

// `drawn` says how it can be drawn again.
std::string Report(const Schedule& schedule, const std::string& drawn, support::LuaScripts& lua,
                   bool trace) {
  const Schedule small = Shrink(schedule, lua);
  std::ostringstream out;
  const Outcome outcome = Run(small, lua, trace ? &out : nullptr);
  out << "FAILED: ./dev sim " << drawn << "\n";
  out << "  shrunk to " << small.clients << " of " << schedule.clients << " clients, "
      << small.daemons << " daemons, " << small.locks << " locks, " << small.faults.size() << " of "
      << schedule.faults.size() << " faults\n";
  for (const Fault& fault : small.faults) out << "  " << Describe(fault) << "\n";
  for (const std::string& violation : outcome.violations)
    out << "  violation: " << violation << "\n";
  out << "  whole: ./dev sim --schedule '" << WriteSchedule(schedule) << "'\n";
  out << "  shrunk: ./dev sim --schedule '" << WriteSchedule(small) << "'\n";
  return out.str();
}

// The threads of one campaign: each takes the next piece of work until there is none left.
class Campaign {
 public:
  Campaign(const CampaignOptions& options, Store store, std::ostream& out)
      : options_(options), store_(store), out_(out) {
    if (options.drawing == Drawing::kEven) {
      DrawEvenSeeds();
      pieces_ = options.first.size() + seeds_.size();
    } else {
      const uint64_t length = PieceLength();
      pieces_ = options.first.size() + (options.schedules + length - 1) / length;
    }
  }

  Totals RunAll() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.jobs; ++i) threads.emplace_back([this] { TakePieces(); });
    TakePieces();
    for (std::thread& thread : threads) thread.join();
    return totals_;
  }

 private:
  void DrawEvenSeeds() {
    for (uint64_t seed = options_.seed; seeds_.size() < options_.schedules; ++seed) {
      if (!options_.only_guarded || DrawEven(seed).guarded) seeds_.push_back(seed);
    }
  }

  // How many schedules belong to one seed.
  uint64_t PieceLength() const {
    return options_.drawing == Drawing::kSteered ? kSearchLength : OrdersOf(options_.depth);
  }

  // How many of them are to be run of piece `number`.
  uint64_t LengthOf(uint64_t number) const {
    return std::min(PieceLength(), options_.schedules - number * PieceLength());
  }

  void TakePieces() {
    CompiledScripts lua;
    while (!enough_failed_) {
      const size_t piece = next_++;
      if (piece >= pieces_) return;
      if (piece < options_.first.size()) {
        Try(options_.first[piece], "(a schedule that was given, or once failed)", lua);
      } else if (options_.drawing == Drawing::kEven) {
        const uint64_t seed = seeds_[piece - options_.first.size()];
        Try(OnStore(DrawEvenWithAll(seed)),
            Drawn("--even --no-regression --schedules 1 --seed " + std::to_string(seed)), lua);
      } else if (options_.drawing == Drawing::kSteered) {
        RunSearch(piece - options_.first.size(), lua);
      } else {
        RunSmallScope(piece - options_.first.size(), lua);
      }
    }
  }

  Schedule OnStore(Schedule schedule) const {
    if (store_ == Store::kMemory) PutInMemory(schedule);
    return schedule;
  }

  // How a schedule can be drawn again.
  std::string Drawn(const std::string& arguments) const {
    return (store_ == Store::kMemory ? "--store memory " : "") + arguments;
  }

  void RunSearch(uint64_t number, support::LuaScripts& lua) {
    const uint64_t seed = options_.seed + number;
    Search search(seed);
    const uint64_t length = LengthOf(number);
    for (uint64_t i = 1; i <= length && !enough_failed_; ++i) {
      const Schedule schedule = OnStore(search.Next());
      const std::string drawn = Drawn("--no-regression --seed " + std::to_string(seed) +
                                      " --schedules " + std::to_string(i));
      const Outcome outcome = Try(schedule, drawn, lua);
      if (outcome.violations.empty()) search.Learn(schedule, outcome.coverage);
    }
  }

  void RunSmallScope(uint64_t number, support::LuaScripts& lua) {
    const uint64_t seed = options_.seed + number;
    const uint64_t length = LengthOf(number);
    for (uint64_t order = 0; order < length && !enough_failed_; ++order) {
      const std::string drawn =
          Drawn("--orders " + std::to_string(options_.depth) + " --no-regression --seed " +
                std::to_string(seed) + " --schedules " + std::to_string(order + 1));
      Try(OnStore(DrawSmallScope(seed, options_.depth, order)), drawn, lua);
    }
  }

  Outcome Try(const Schedule& schedule, const std::string& drawn, support::LuaScripts& lua) {
    Outcome outcome = Run(schedule, lua);
    const bool failed = !outcome.violations.empty();
    Count(outcome, failed ? Report(schedule, drawn, lua, options_.trace) : "");
    return outcome;
  }

  void Count(const Outcome& outcome, const std::string& report) {
    const std::lock_guard guard(mutex_);
    ++totals_.schedules;
    totals_.virtual_time += outcome.virtual_time;
    totals_.executed += outcome.executed;
    totals_.grants += outcome.grants;
    totals_.faults += outcome.faults;
    totals_.failovers += outcome.failovers;
    if (totals_.schedules % kSchedulesPerLine == 0) {
      out_ << totals_.schedules << " schedules so far, " << totals_.failed << " violations\n"
           << std::flush;
    }
    if (report.empty()) return;
    out_ << report << std::flush;
    if (++totals_.failed >= options_.failures_max) enough_failed_ = true;
  }

  const CampaignOptions& options_;
  const Store store_;
  std::ostream& out_;
  std::vector<uint64_t> seeds_;  // Of even drawing.
  size_t pieces_ = 0;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> enough_failed_ = false;
  std::mutex mutex_;
  Totals totals_;
};

std::string OneDigit(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", number);
  return text.data();
}

}  // namespace

CompiledScripts::CompiledScripts() {
  for (const redis::ScriptSource& script : redis::AllScripts()) Compile(script.text);
  ExpectNoMore();
}

Schedule Shrink(const Schedule& failing, support::LuaScripts& lua) {
  Schedule small = failing;
  for (size_t i = small.faults.size(); i-- > 0;) {
    Schedule without = small;
    without.faults.erase(without.faults.begin() + static_cast<ptrdiff_t>(i));
    if (Fails(without, lua)) small = without;
  }
  while (small.clients > 1) {
    Schedule fewer = small;
    --fewer.clients;
    if (!Fails(fewer, lua)) break;
    small = fewer;
  }
  return small;
}

uint64_t RunAll(const CampaignOptions& options, std::ostream& out) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  Totals totals = Campaign(options, Store::kRedis, out).RunAll();
  if (options.in_memory > 0 && totals.failed < options.failures_max) {
    CampaignOptions in_memory = options;
    in_memory.first.clear();
    in_memory.schedules = options.in_memory;
    in_memory.failures_max -= totals.failed;
    totals.Add(Campaign(in_memory, Store::kMemory, out).RunAll());
  }
  const auto cpu_time = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;

  const auto schedules = static_cast<double>(totals.schedules);
  const auto each = [&](auto total) { return OneDigit(static_cast<double>(total) / schedules); };
  const std::chrono::duration<double> virtual_seconds = totals.virtual_time;
  out << "in each schedule: " << each(virtual_seconds.count()) << " s of virtual time, "
      << each(totals.executed) << " events, " << each(totals.grants) << " grants, "
      << each(totals.faults) << " faults; " << static_cast<uint64_t>(schedules / cpu_time)
      << " schedules in a second of processor time, " << OneDigit(time.count()) << " s\n";
  out << totals.schedules << " schedules, " << static_cast<uint64_t>(virtual_seconds.count())
      << " s of virtual time, " << totals.executed << " events, " << totals.grants << " grants, "
      << totals.faults << " faults, " << totals.failovers << " failovers, " << totals.failed
      << " violations\n";
  return totals.failed;
}

}  // namespace lockkeeper::simulation
