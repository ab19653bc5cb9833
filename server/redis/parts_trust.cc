// SPDX-License-Identifier: Apache-2.0
#include "redis/parts_trust.h"

#include <algorithm>
#include <tuple>

namespace lockkeeper::redis {

using core::Micros;

class PartsTrust::Part final : public GuardObserver {
 public:
  explicit Part(PartsTrust& all) : all_(all) {}

  void OnFirstUse(const StoreTrust& trust) override {
    Learn(trust);
    all_.OnFirstUse();
  }
  void OnLoss(LossKind kind, const StoreTrust& trust) override {
    const StoreTrust before = all_.Together();
    Learn(trust);
    all_.OnLoss(kind, before);
  }
  void OnNewEpoch(const StoreTrust& trust) override {
    const StoreTrust before = all_.Together();
    Learn(trust);
    all_.OnNewEpoch(before);
  }
  void OnTrustChanged(const StoreTrust& trust) override {
    Learn(trust);
    all_.told_.OnTrustChanged(all_.Together());
  }
  void OnReassertion(ReassertionEnd end) override { all_.told_.OnReassertion(end); }
  void OnGrantRefused() override { all_.told_.OnGrantRefused(); }

  StoreTrust Now() const {
    StoreTrust now = trust_;
    const auto left = std::chrono::duration_cast<Micros>(quarantine_over_ - all_.clock_.Now());
    now.quarantine_left = std::max(left, Micros(0));
    return now;
  }

 private:
  void Learn(const StoreTrust& trust) {
    trust_ = trust;
    quarantine_over_ = all_.clock_.Now() + trust.quarantine_left;
  }

  PartsTrust& all_;
  StoreTrust trust_;
  core::Instant quarantine_over_;
};

PartsTrust::PartsTrust(size_t parts, GuardObserver& told, const core::Clock& clock)
    : told_(told), clock_(clock) {
  for (size_t i = 0; i < parts; ++i) parts_.push_back(std::make_unique<Part>(*this));
}

PartsTrust::~PartsTrust() = default;

GuardObserver& PartsTrust::part(size_t number) { return *parts_[number]; }

StoreTrust PartsTrust::Of(size_t number) const { return parts_[number]->Now(); }

StoreTrust PartsTrust::Together() const {
  const StoreTrust first = parts_.front()->Now();
  StoreTrust together{.store_id = first.store_id, .run_id = first.run_id};
  for (const std::unique_ptr<Part>& part : parts_) {
    const StoreTrust trust = part->Now();
    together.epoch += trust.epoch;
    const auto rank = [](const StoreTrust& of) {
      return std::tuple(of.quarantine_left, of.noticed.micros);
    };
    if (rank(trust) > rank(together)) {
      together.quarantine_left = trust.quarantine_left;
      together.quarantine_end = trust.quarantine_end;
      together.loss = trust.loss;
      together.noticed = trust.noticed;
    }
    if (together.problem.empty()) together.problem = trust.problem;
    if (together.waiting.empty()) together.waiting = trust.waiting;
  }
  return together;
}

void PartsTrust::OnFirstUse() {
  const StoreTrust now = Together();
  if (std::exchange(first_use_told_, true)) return told_.OnTrustChanged(now);
  told_.OnFirstUse(now);
}

void PartsTrust::OnLoss(LossKind kind, const StoreTrust& before) {
  const StoreTrust now = Together();
  const bool is_told = before.quarantine_left > Micros(0) && loss_told_ == kind;
  loss_told_ = kind;
  is_told ? told_.OnTrustChanged(now) : told_.OnLoss(kind, now);
}

void PartsTrust::OnNewEpoch(const StoreTrust& before) {
  const StoreTrust now = Together();
  before.quarantine_left > Micros(0) ? told_.OnTrustChanged(now) : told_.OnNewEpoch(now);
}

}  // namespace lockkeeper::redis
