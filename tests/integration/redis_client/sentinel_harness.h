// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode that Sentinels move, on an event loop of its own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "node_harness.h"
#include "redis/sentinel/sentinel_watch.h"

namespace lockkeeper::redis {

// Keeps what the Sentinels said. Thread-safety: thread-safe.
class KeepingObserver : public SentinelObserver {
 public:
  void OnPrimary(std::string_view address, int64_t) override {
    const std::lock_guard lock(mutex_);
    primaries_.emplace_back(address);
  }
  void OnHeard(size_t heard, size_t known) override {
    const std::lock_guard lock(mutex_);
    heard_ = {heard, known};
  }
  void OnNoPrimary(const StoreProblem& problem) override {
    const std::lock_guard lock(mutex_);
    problems_.push_back(problem.text);
  }

  // All there ever were, the present one last.
  std::vector<std::string> primaries() const {
    const std::lock_guard lock(mutex_);
    return primaries_;
  }
  std::vector<std::string> problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }
  // Sentinels whose answers count, of how many.
  std::pair<size_t, size_t> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> primaries_;
  std::vector<std::string> problems_;
  std::pair<size_t, size_t> heard_;
};

class SentinelHarness {
 public:
  using Adjust = std::function<void(SentinelOptions&)>;

  // `url` is that of a store behind Sentinels. They are asked 50 times a second, and their answers
  // count for a minute, unless the test says otherwise.
  explicit SentinelHarness(
      const std::string& url, const Adjust& adjust = [](SentinelOptions&) {},
      const NodeHarness::Adjust& adjust_node = [](RedisNodeOptions&) {})
      : node_("redis://nowhere", [&](RedisNodeOptions& options) {
          options.url = ParseStoreUrl(url)->server;
          options.expected = Expected::kPrimary;
          adjust_node(options);
        }) {
    const StoreUrl parsed = *ParseStoreUrl(url);
    SentinelOptions options{.sentinels = parsed.sentinels,
                            .service = parsed.service,
                            .primary = parsed.server,
                            .client_name = "test",
                            .connect_timeout = std::chrono::seconds(20),
                            .request_timeout = std::chrono::seconds(20),
                            .times = {.ask_interval = std::chrono::milliseconds(20),
                                      .answer_lifetime = std::chrono::minutes(1)}};
    options.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(20)};
    adjust(options);
    node_.loop().RunAndWait([&] {
      watch_ = std::make_unique<SentinelWatch>(node_.loop(), options, node_.node(), observer_);
    });
  }
  ~SentinelHarness() {
    node_.loop().RunAndWait([this] { watch_.reset(); });
  }
  SentinelHarness(const SentinelHarness&) = delete;
  SentinelHarness& operator=(const SentinelHarness&) = delete;

  NodeHarness& node() { return node_; }
  const KeepingObserver& said() const { return observer_; }
  size_t Known() {
    size_t known = 0;
    node_.loop().RunAndWait([&] { known = watch_->known(); });
    return known;
  }
  void AwaitKnown(size_t wanted) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (Known() != wanted) {
      if (std::chrono::steady_clock::now() > until) {
        throw std::runtime_error("it knows " + std::to_string(Known()) + " Sentinels");
      }
    }
  }

  // Waits until the node is connected to the server at `address`.
  void AwaitPrimary(const std::string& address) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (observer_.primaries().empty() || observer_.primaries().back() != address) {
      if (std::chrono::steady_clock::now() > until) {
        throw std::runtime_error("the node is never moved to " + address);
      }
      node_.AwaitReachable();
      node_.loop().RunAndWait([] {});
    }
    node_.loop().RunAndWait([] {});  // It was told before the node was moved.
    node_.AwaitReachable();
  }

 private:
  KeepingObserver observer_;
  NodeHarness node_;
  std::unique_ptr<SentinelWatch> watch_;
};

}  // namespace lockkeeper::redis
