// SPDX-License-Identifier: Apache-2.0
#include "contract/redis/parted_world.h"

#include <string>
#include <string_view>
#include <vector>

#include "contract/redis/model_world.h"
#include "redis/parted_store.h"
#include "support/guard_options.h"
#include "support/silent_guard_observer.h"
#include "support/trusting_guard.h"

namespace lockkeeper::support {
namespace {

constexpr int kParts = 3;

class PartedWorld final : public ModelWorld<StoreWorld> {
 public:
  Ports ports(size_t daemon) override {
    while (daemons_.size() <= daemon) {
      daemons_.push_back(
          std::make_unique<Daemon>(*this, core::Hex16(kFirstDaemon + daemons_.size())));
    }
    redis::PartedStore& store = daemons_[daemon]->store;
    return {store.locks(), store.admin(), &store.line()};
  }

  bool IsKept(const std::string& name) override { return !RecordOf(name).empty(); }

  // Its part is not the test's business.
  std::string RecordOf(const std::string& name) override {
    for (int part = 0; part < kParts; ++part) {
      const std::string key = PrefixOf(part) + "{" + name + "}";
      redis::Reply record = server_.Execute(std::vector<std::string_view>{"GET", key});
      if (!record.text.empty()) return std::move(record.text);
    }
    return "";
  }

  void ForgetEverything() override { server_.Flush(); }

 private:
  struct Daemon {
    Daemon(PartedWorld& world, const std::string& id)
        : nodes(NodesOf(world)),
          store(PartsOf(nodes), world.clock_, world.executor_, observer, OptionsOf(id),
                [] { return std::make_unique<TrustingGuard>(); }) {}

    SilentGuardObserver observer;
    std::vector<std::unique_ptr<FakeNode>> nodes;
    redis::PartedStore store;
  };

  static std::string PrefixOf(int part) { return "lk:{" + std::to_string(part) + "}"; }

  static std::vector<std::unique_ptr<FakeNode>> NodesOf(PartedWorld& world) {
    std::vector<std::unique_ptr<FakeNode>> nodes;
    nodes.reserve(kParts);
    for (int part = 0; part < kParts; ++part) {
      nodes.push_back(std::make_unique<FakeNode>(world.server_, world.clock_, world.executor_));
    }
    return nodes;
  }

  static std::vector<redis::StorePart> PartsOf(
      const std::vector<std::unique_ptr<FakeNode>>& nodes) {
    std::vector<redis::StorePart> parts;
    parts.reserve(kParts);
    for (int part = 0; part < kParts; ++part) {
      parts.push_back({nodes[static_cast<size_t>(part)].get(), PrefixOf(part)});
    }
    return parts;
  }

  static redis::RedisStoreOptions OptionsOf(const std::string& id) {
    redis::RedisStoreOptions options = StoreOptionsOf(id);
    options.record_retention = kRetention;
    return options;
  }

  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace

std::unique_ptr<StoreWorld> MakePartedWorld() { return std::make_unique<PartedWorld>(); }

}  // namespace lockkeeper::support
