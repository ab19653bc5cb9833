// SPDX-License-Identifier: Apache-2.0
//
// A turn of the loop with so many operations, each on a lock of its own, until all are answered.
#include <benchmark/benchmark.h>

#include "bench/micro/domain_alone.h"
#include "bench/micro/requests.h"
#include "redis/format/lock_record.h"
#include "redis/scripts.h"

namespace lockkeeper::bench {
namespace {

constexpr size_t kReplyWidth = 4;

// Of the operation queue alone.
void QueueTurn(benchmark::State& state) {
  DomainAlone domain;
  int64_t answers = 0;
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      domain.queue().Submit(
          {.script = &redis::kReleaseScript,
           .lock_name = NameOfLock(static_cast<size_t>(i)),
           .arguments = redis::CommandPart({redis::EncodeLeaseId(LeaseIdOf(1)), ""}),
           .reply_width = kReplyWidth,
           .deadline = core::Instant::max(),
           .done = [&answers](const absl::StatusOr<redis::OperationReply>& reply) {
             answers += reply.ok() ? 1 : 0;
           }});
    }
    domain.RunTurns();
  }
  if (answers != state.iterations() * state.range(0)) state.SkipWithError("not answered");
  state.SetItemsProcessed(answers);
}
BENCHMARK(QueueTurn)->Arg(1)->Arg(32)->Arg(512);

// Acquire and release, through the domain.
void Cycle(benchmark::State& state, DomainAlone::Guard guard) {
  DomainAlone domain(guard);
  int64_t granted = 0, released = 0;
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      domain.locks().Acquire(AcquireOf(static_cast<size_t>(i)),
                             [&granted](const absl::StatusOr<core::AcquireAnswer>& answer) {
                               granted += answer.ok() && answer->index() == 0 ? 1 : 0;
                             });
    }
    domain.RunTurns();
    for (int64_t i = 0; i < state.range(0); ++i) {
      domain.locks().Release(ReleaseOf(static_cast<size_t>(i)),
                             [&released](const absl::StatusOr<core::ReleaseAnswer>& answer) {
                               released += answer.ok() ? 1 : 0;
                             });
    }
    domain.RunTurns();
  }
  const int64_t cycles = state.iterations() * state.range(0);
  if (granted != cycles || released != cycles) state.SkipWithError("not granted or not released");
  state.SetItemsProcessed(cycles);
}
BENCHMARK_CAPTURE(Cycle, guarded, DomainAlone::Guard::kOn)->Arg(1)->Arg(32)->Arg(512);
BENCHMARK_CAPTURE(Cycle, unguarded, DomainAlone::Guard::kOff)->Arg(512);

}  // namespace
}  // namespace lockkeeper::bench
