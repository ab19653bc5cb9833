// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/leader_observer.h"

#include <utility>

#include "observation.h"

namespace lockkeeper {

LeaderObserver::LeaderObserver(std::unique_ptr<client::Observation> observation)
    : observation_(std::move(observation)) {}
LeaderObserver::LeaderObserver(LeaderObserver&&) noexcept = default;
LeaderObserver::~LeaderObserver() = default;

std::optional<Leader> LeaderObserver::leader() const { return observation_->leader(); }

void LeaderObserver::Close() { observation_->Close(); }

}  // namespace lockkeeper
