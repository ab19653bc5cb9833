// SPDX-License-Identifier: Apache-2.0
#include "histories/faults.h"

#include <csignal>
#include <thread>
#include <utility>

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetween{2'000};
constexpr milliseconds kStill{3'500};  // Longer than each lease.
constexpr milliseconds kAway{1'000};
constexpr milliseconds kLinkBroken{3'000};
constexpr milliseconds kLateness{600};
constexpr milliseconds kClockStep{20'000};
// Smaller steps are not noticed, see below; a forward one of up to store.request_timeout only by
// the answer of a call, which may have found a lease over.
constexpr milliseconds kLeastStepBack{100};
constexpr milliseconds kLeastStepForward{1'100};

// What docs/concepts/when_redis_forgets.md says is not seen. A daemon that starts within the
// second in which the others notice a loss takes what it finds for right; so does each one if none
// lives that knew the store. A snapshot that is restored within a second is not noticed.
constexpr milliseconds kUntilNoticed{4'000};
constexpr milliseconds kUntilKnown{4'000};
constexpr milliseconds kSnapshotAge{1'500};

std::string DaemonPart(size_t i) { return "daemon" + std::to_string(i); }
std::string RedisLinkPart(size_t i) { return "redis-link" + std::to_string(i); }
std::string ClientLinkPart(size_t i) { return "client-link" + std::to_string(i); }
std::string ClientPart(size_t i) { return "client" + std::to_string(i); }

}  // namespace

struct Faults::Fault {
  std::string name;
  bool forgets;
  void (*strike)(Faults&);
};

const std::vector<Faults::Fault>& Faults::All() {
  static const std::vector<Fault> all = {
      {"kill_daemon", false, [](Faults& f) { f.EndDaemon(false); }},
      {"drain_daemon", false, [](Faults& f) { f.EndDaemon(true); }},
      {"stop_daemon", false, [](Faults& f) { f.StopDaemon(); }},
      {"kill_client", false, [](Faults& f) { f.KillClient(); }},
      {"stop_client", false, [](Faults& f) { f.StopClient(); }},
      {"stop_redis", false, [](Faults& f) { f.StopRedis(); }},
      {"restart_redis", false, [](Faults& f) { f.RestartRedis(); }},
      {"client_link", false, [](Faults& f) { f.BreakLink(false); }},
      {"redis_link", false, [](Faults& f) { f.BreakLink(true); }},
      {"flush", true, [](Faults& f) { f.Flush(); }},
      {"restart_empty", true, [](Faults& f) { f.RestartEmpty(); }},
      {"older_restart", true, [](Faults& f) { f.KeepData(false); }},
      {"older_alive", true, [](Faults& f) { f.KeepData(true); }},
      {"clock_forward", true, [](Faults& f) { f.SetClock(1); }},
      {"clock_back", true, [](Faults& f) { f.SetClock(-1); }},
  };
  return all;
}

std::vector<std::string> Faults::Names() {
  std::vector<std::string> names;
  for (const Fault& fault : All()) names.push_back(fault.name);
  return names;
}

Faults::Faults(Scene& scene, Journal& journal, FaultOptions options, uint64_t seed)
    : scene_(scene), journal_(journal), options_(std::move(options)), random_(seed) {
  for (size_t i = 0; i < scene_.daemons(); ++i) healthy_since_[DaemonPart(i)] = Clock::now();
}

void Faults::Note(const std::string& text, bool forgets) {
  ++count_;
  journal_.Fault(text, forgets);
}

void Faults::Forgot(const std::string& text) {
  forgot_ = Clock::now();
  Note(text, true);
}

milliseconds Faults::Upto(milliseconds longest) {
  return milliseconds(random_.Between(1, longest.count()));
}

void Faults::RunUntil(Clock::time_point end) {
  auto next = Clock::now();
  while (next < end) {
    next += Upto(kBetween);
    while (!heals_.empty() && heals_.begin()->first < next) {
      std::this_thread::sleep_until(heals_.begin()->first);
      Heal(Clock::now());
    }
    std::this_thread::sleep_until(next);
    Strike();
  }
  Heal(Clock::time_point::max());
}

void Faults::Strike() {
  const Fault& fault = random_.Pick(All());
  if (options_.without.contains(fault.name)) return;
  if (fault.forgets && !(options_.forgetting && MayForget())) return;
  fault.strike(*this);
}

void Faults::Heal(Clock::time_point now) {
  while (!heals_.empty() && heals_.begin()->first <= now) {
    const auto heal = std::move(heals_.begin()->second);
    heals_.erase(heals_.begin());
    heal();
  }
}

void Faults::HealLater(const std::string& part, milliseconds longest, std::function<void()> heal) {
  struck_.insert(part);
  heals_.emplace(Clock::now() + Upto(longest), [this, part, heal = std::move(heal)] {
    heal();
    struck_.erase(part);
    healthy_since_[part] = Clock::now();
  });
}

// A daemon that has known the store for a while and is in order will notice. None starts meanwhile,
// see MayStartDaemons, and the loss before has been noticed.
bool Faults::MayForget() const {
  const auto now = Clock::now();
  if (now < forgot_ + kUntilNoticed || struck_.contains("redis")) return false;
  bool known = false;
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    if (!scene_.DaemonRuns(i)) return false;
    const auto since = healthy_since_.find(DaemonPart(i));
    if (since != healthy_since_.end() && now < since->second + kUntilKnown) return false;
    known = known || !(struck_.contains(DaemonPart(i)) || struck_.contains(RedisLinkPart(i)));
  }
  return known;
}

bool Faults::MayStartDaemons() const { return Clock::now() > forgot_ + kUntilNoticed; }

void Faults::EndDaemon(bool drain) {
  const size_t i = random_.Below(scene_.daemons());
  if (struck_.contains(DaemonPart(i)) || !MayStartDaemons()) return;
  Note((drain ? "drain " : "kill ") + DaemonPart(i));
  drain ? scene_.DrainDaemon(i) : scene_.KillDaemon(i);
  HealLater(DaemonPart(i), kAway, [this, i] { scene_.StartDaemon(i); });
}

void Faults::StopDaemon() {
  const size_t i = random_.Below(scene_.daemons());
  if (struck_.contains(DaemonPart(i))) return;
  Note("stop " + DaemonPart(i));
  scene_.daemon(i).Pause();
  HealLater(DaemonPart(i), kStill, [this, i] { scene_.daemon(i).Resume(); });
}

void Faults::KillClient() {
  const size_t i = random_.Below(scene_.clients());
  if (struck_.contains(ClientPart(i))) return;
  Note("kill " + ClientPart(i));
  scene_.ReplaceClient(i);
}

void Faults::StopClient() {
  const size_t i = random_.Below(scene_.clients());
  if (struck_.contains(ClientPart(i))) return;
  Note("stop " + ClientPart(i));
  scene_.client(i).Pause();
  HealLater(ClientPart(i), kStill, [this, i] { scene_.client(i).Resume(); });
}

void Faults::StopRedis() {
  if (struck_.contains("redis")) return;
  Note("stop redis");
  scene_.redis().Pause();
  HealLater("redis", kStill, [this] { scene_.redis().Resume(); });
}

void Faults::RestartRedis() {
  if (struck_.contains("redis")) return;
  Note("kill redis, restart with its data");
  scene_.redis().Kill();
  HealLater("redis", kAway, [this] { scene_.redis().Restart(support::Data::kKeep); });
}

void Faults::BreakLink(bool to_redis) {
  const size_t i = random_.Below(scene_.daemons());
  const std::string part = to_redis ? RedisLinkPart(i) : ClientLinkPart(i);
  if (struck_.contains(part)) return;
  support::ConnectionGate& gate = to_redis ? scene_.redis_gate(i) : scene_.daemon_gate(i);
  const auto cut = [&gate] { gate.Cut(); };
  switch (random_.Below(6)) {
    case 0:
      Note("cut " + part);
      return gate.Cut();
    case 1:
      Note("half-open " + part);
      gate.Hold();
      return HealLater(part, kLinkBroken, cut);
    case 2:
      Note("lose replies on " + part);
      gate.LoseReplies();
      return HealLater(part, kLinkBroken, cut);
    default:
      Note("slow " + part);
      gate.Delay(Upto(kLateness));
      return HealLater(part, kLinkBroken, [&gate] { gate.Delay(milliseconds(0)); });
  }
}

void Faults::Flush() {
  Forgot("flush");
  scene_.redis().Run({"FLUSHALL"});
}

void Faults::RestartEmpty() {
  Forgot("restart redis empty");
  scene_.redis().Restart(support::Data::kLose);
  has_kept_ = false;
}

void Faults::KeepData(bool alive) {
  if (has_kept_) return;
  // Both ways back: the files of the AOF, and a snapshot that a running server loads.
  scene_.redis().Run({"SAVE"});
  scene_.redis().Pause();
  scene_.KeepData();
  scene_.redis().Resume();
  kept_ = Clock::now();
  has_kept_ = true;
  heals_.emplace(kept_ + kSnapshotAge + Upto(kStill), [this, alive] { PutOldDataBack(alive); });
}

void Faults::PutOldDataBack(bool alive) {
  const bool kept = std::exchange(has_kept_, false);
  if (!kept || Clock::now() < kept_ + kSnapshotAge || !MayForget()) return;
  Forgot(alive ? "older data in a running redis" : "restart redis with older data");
  if (alive) {
    scene_.redis().Run({"DEBUG", "RELOAD", "NOSAVE"});
    return;
  }
  scene_.redis().Kill();
  scene_.PutOldDataBack();
  scene_.redis().Restart(support::Data::kKeep);
}

void Faults::SetClock(int direction) {
  const milliseconds step = (direction > 0 ? kLeastStepForward : kLeastStepBack) +
                            Upto(random_.OneIn(2) ? kClockStep : kStill / 4);
  Forgot((direction > 0 ? "clock forward by ms " : "clock back by ms ") +
         std::to_string(step.count()));
  scene_.clock().StepBy(step * direction);
}

}  // namespace lockkeeper::histories
