// SPDX-License-Identifier: Apache-2.0
#include "tracing/lock_observer.h"

#include <utility>

#include "telemetry/outcome.h"

namespace lockkeeper::tracing {

void TracedLockObserver::OnWaitBegan(const core::AcquireRequest& request, int32_t position) {
  ForwardingLockObserver::OnWaitBegan(request, position);
  if (request.trace == nullptr) return;
  Span span = tracer_.Start(OwnTrace(request.trace), "wait", SpanKind::kInternal);
  if (position > 0) span.attributes.push_back({"lockkeeper.wait.position", int64_t{position}});
  waits_.insert_or_assign(request.keeper, Wait{request.trace, std::move(span)});
}

void TracedLockObserver::OnWaitEnded(std::string_view lock_name, const core::Keeper& keeper,
                                     core::WaitEnd end, core::Micros waited) {
  ForwardingLockObserver::OnWaitEnded(lock_name, keeper, end, waited);
  if (waits_.empty()) return;
  auto found = waits_.extract(keeper);
  if (found.empty()) return;
  auto& [trace, span] = found.mapped();
  span.attributes.push_back({"lockkeeper.wait.end", telemetry::NameOf(end)});
  tracer_.End(OwnTrace(trace), std::move(span));
}

}  // namespace lockkeeper::tracing
