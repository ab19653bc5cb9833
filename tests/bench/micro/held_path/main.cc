// SPDX-License-Identifier: Apache-2.0
//
// Cycles of acquire and release in a session, while that session holds many other
// leases. Made to be counted: MeasuredCycles() is what valgrind looks at (rows/instructions.cc).
#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/load/figures.h"
#include "bench/micro/domain_alone.h"
#include "bench/micro/requests.h"
#include "core/session.h"

namespace lockkeeper::bench {
namespace {

constexpr size_t kBatch = 512;  // Operations of a turn.

class Client final : public core::SessionListener {
 public:
  Client() = default;
  ~Client() override { session_->Break(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Acquire(size_t lock) { Run(AcquireOf(lock)); }
  void Release(size_t lock) { Run(ReleaseOf(lock)); }
  void RunTurns() { domain_.RunTurns(); }

  // Answers that were good.
  size_t good() const { return good_; }
  size_t held() const { return session_->leases(); }

 private:
  template <typename Request>
  void Run(Request request) {
    session_->Run({.id = ++last_id_, .request = std::move(request)});
  }

  void OnAnswer(const core::AnsweredOperation&,
                absl::StatusOr<core::SessionAnswer> answer) override {
    good_ += answer.ok() ? 1 : 0;
  }

  DomainAlone domain_;
  std::shared_ptr<core::Session> session_ =
      std::make_shared<core::Session>(domain_.locks(), domain_.clock(), "", *this);
  uint64_t last_id_ = 0;
  size_t good_ = 0;
};

void Hold(Client& client, size_t locks) {
  for (size_t i = 0; i < locks; ++i) {
    client.Acquire(i);
    if (i % kBatch == kBatch - 1) client.RunTurns();
  }
  client.RunTurns();
}

}  // namespace

// On locks from `first` on.
[[gnu::noinline]] void MeasuredCycles(Client& client, size_t first, size_t turns) {
  for (size_t turn = 0; turn < turns; ++turn) {
    for (size_t i = 0; i < kBatch; ++i) client.Acquire(first + i);
    client.RunTurns();
    for (size_t i = 0; i < kBatch; ++i) client.Release(first + i);
    client.RunTurns();
  }
}

namespace {

void Run(size_t held, size_t turns) {
  Client client;
  Hold(client, held);
  // Not MeasuredCycles: what grows once has grown then.
  for (size_t i = 0; i < kBatch; ++i) client.Acquire(held + i);
  client.RunTurns();
  for (size_t i = 0; i < kBatch; ++i) client.Release(held + i);
  client.RunTurns();
  MeasuredCycles(client, held, turns);
  const size_t operations = 2 * kBatch * turns;
  if (client.held() != held || client.good() != held + 2 * kBatch + operations) {
    throw std::runtime_error("not all operations went well");
  }
  PrintFigure("operations", static_cast<double>(operations));
}

int Main(int argc, char** argv) {
  size_t held = 1000;
  size_t turns = 4;
  CLI::App app("Acquires and releases beside many leases that are held");
  app.add_option("--held", held)->check(CLI::Range(0, 1'000'000))->capture_default_str();
  app.add_option("--turns", turns)->check(CLI::Range(1, 1'000'000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Run(held, turns);
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::ProgramMain("bench_held_path",
                                        [&] { return lockkeeper::bench::Main(argc, argv); });
}
