// SPDX-License-Identifier: Apache-2.0
#include "telemetry/health_board.h"

#include <utility>

#include "telemetry/log_fields.h"

namespace lockkeeper::telemetry {
namespace {

std::string_view NameOf(core::Assurance assurance) {
  switch (assurance) {
    case core::Assurance::kNone:
      return "none";
    case core::Assurance::kMemory:
      return "memory";
    case core::Assurance::kDisk:
      return "disk";
    case core::Assurance::kReplicas:
      return "replicas";
    case core::Assurance::kQuorum:
      return "quorum";
  }
  return "unknown";
}

// The interval between two records of why the store is still away. Retries may alternate between
// two reasons.
constexpr core::Millis kProblemInterval = std::chrono::seconds(10);

constexpr double kMicrosPerSecond = 1e6;

constexpr char kNotDurable[] =
    "Redis answers before a grant is on its disk: after a restart nothing new is granted until "
    "every "
    "lease that it may have forgotten is over; `appendonly yes` and `appendfsync always` prevent "
    "that";

}  // namespace

std::string Health::problem() const {
  if (!loop_turns) return "stuck: the daemon's loop stands still, and no request is answered";
  if (draining) return "draining: the daemon is about to stop";
  if (!store.reachable) return "store away: " + store.problem;
  if (!store.looked) return "the guard has not looked at the store yet";
  return "";
}

std::vector<std::string> Health::notes() const {
  std::vector<std::string> notes = given_up;
  if (store.reachable && store.assurance == core::Assurance::kMemory)
    notes.emplace_back(kNotDurable);
  return notes;
}

HealthBoard::HealthBoard(Logger logger, Metrics& metrics)
    : logger_(logger),
      store_up_(metrics.store_up()),
      draining_gauge_(metrics.draining()),
      loop_stuck_(metrics.loop_stuck()),
      granting_(metrics.store_granting()),
      epoch_(metrics.store_epoch()),
      quarantine_end_(metrics.quarantine_end()),
      problem_limit_(kProblemInterval) {
  store_up_.Set(0);
  draining_gauge_.Set(0);
  loop_stuck_.Set(0);
}

template <typename Change>
void HealthBoard::Make(Change change) {
  const std::lock_guard lock(changing_);
  Health after = Current();
  change(after);
  Update(std::move(after));
}

void HealthBoard::ReportStore(absl::FunctionRef<void(StoreStatus&)> change) {
  Make([&](Health& after) { change(after.store); });
}

void HealthBoard::ReportGivenUp(std::vector<std::string> given_up) {
  Make([&](Health& after) { after.given_up = std::move(given_up); });
}

void HealthBoard::ReportLoop(bool turns) {
  Make([turns](Health& after) { after.loop_turns = turns; });
}

void HealthBoard::ReportAudit(std::string problem) {
  Make([&](Health& after) { after.audit_problem = std::move(problem); });
}

void HealthBoard::StartDraining() {
  Make([](Health& after) { after.draining = true; });
}

Health HealthBoard::Current() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void HealthBoard::ReportLook(const StoreLook& look) {
  const std::lock_guard lock(mutex_);
  if (health_.store.reachable) look_ = look;
}

std::optional<StoreLook> HealthBoard::LastLook() const {
  const std::lock_guard lock(mutex_);
  return look_;
}

HealthSubscription HealthBoard::Subscribe(HealthListener listener) {
  const std::lock_guard lock(changing_);
  listener(Current());
  const uint64_t number = next_subscription_++;
  listeners_.emplace(number, std::move(listener));
  return {*this, number};
}

void HealthBoard::Unsubscribe(uint64_t number) {
  const std::lock_guard lock(changing_);
  listeners_.erase(number);
}

HealthSubscription::~HealthSubscription() {
  if (board_ != nullptr) board_->Unsubscribe(number_);
}

void HealthBoard::Update(Health after) {
  const Health before = Current();
  if (before == after) return;
  {
    const std::lock_guard lock(mutex_);
    health_ = after;
    if (!after.store.reachable) look_.reset();
  }
  LogStore(before.store, after.store);
  if (before.loop_turns != after.loop_turns) LogLoop(after.loop_turns);
  store_up_.Set(after.store.reachable ? 1 : 0);
  draining_gauge_.Set(after.draining ? 1 : 0);
  loop_stuck_.Set(after.loop_turns ? 0 : 1);
  granting_.Set(after.granting() ? 1 : 0);
  epoch_.Set(static_cast<double>(after.store.epoch));
  quarantine_end_.Set(static_cast<double>(after.store.quarantine_end.micros) / kMicrosPerSecond);
  for (auto& [number, listener] : listeners_) listener(after);
}

void HealthBoard::LogStore(const StoreStatus& before, const StoreStatus& after) {
  if (!after.reachable && after.problem == before.problem) return;
  if (after.reachable && logged_ != Logged::kUp) {
    logged_ = Logged::kUp;
    logger_.Info(
        "store.up", "The store answers",
        {field::ServerVersion(after.server_version), field::Assurance(NameOf(after.assurance))});
    WarnIfNotDurable(after.assurance);
  } else if (!after.reachable && logged_ != Logged::kDown) {
    logged_ = Logged::kDown;
    logger_.Warn("store.down", "The store is away; requests fail until it is back",
                 {field::Problem(after.problem)});
  } else if (after.reachable) {
    WarnIfNotDurable(after.assurance);
  } else {
    logger_.WriteLimited(problem_limit_, LogLevel::kWarn, "store.still_down",
                         "The store is away for another reason than before",
                         {field::Problem(after.problem)});
  }
}

void HealthBoard::LogLoop(bool turns) {
  if (turns) {
    logger_.Info("loop.turns_again", "The daemon's loop turns again, and requests are answered");
  } else {
    logger_.Error("loop.stuck",
                  "The daemon's loop stands still: no request is answered, and no lease extended");
  }
}

void HealthBoard::WarnIfNotDurable(core::Assurance assurance) {
  if (std::exchange(warned_of_, assurance) == assurance) return;
  if (assurance != core::Assurance::kMemory) return;
  logger_.Warn("store.not_durable", kNotDurable, {field::Assurance(NameOf(assurance))});
}

}  // namespace lockkeeper::telemetry
