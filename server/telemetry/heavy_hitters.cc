// SPDX-License-Identifier: Apache-2.0
#include "telemetry/heavy_hitters.h"

#include <utility>

namespace lockkeeper::telemetry {

void HeavyHitters::Add(std::string_view name, int64_t weight) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    return Place(counters_.extract(found->second), weight);
  }
  if (counters_.size() < capacity_) {
    const auto added = counters_.emplace(weight, name);
    by_name_.emplace(added->second, added);
    return;
  }
  is_exact_ = false;
  by_name_.erase(counters_.begin()->second);
  auto counter = counters_.extract(counters_.begin());
  counter.mapped() = name;
  Place(std::move(counter), weight);
}

void HeavyHitters::Clear() {
  by_name_.clear();
  counters_.clear();
  is_exact_ = true;
}

void HeavyHitters::Place(Counters::node_type counter, int64_t weight) {
  counter.key() += weight;
  const auto placed = counters_.insert(std::move(counter));
  by_name_[placed->second] = placed;
}

}  // namespace lockkeeper::telemetry
