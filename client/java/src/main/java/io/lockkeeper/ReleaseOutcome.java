// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.v1.ReleaseResponse;

/** What a release found. Everything but RELEASED is a warning, not a failure. */
public enum ReleaseOutcome {
  /** The lock was held by this lease until now. */
  RELEASED,
  /** The lease had ended before: its holder may have worked unprotected. */
  EXPIRED,
  /** The lease id does not hold the lock, or is not known any more. */
  NOT_HOLDER,
  /** The lease id stood in line and has left it. */
  WAITER_REMOVED;

  /** NOT_HOLDER on a retry counts as released: the attempt without an answer has released it. */
  static ReleaseOutcome of(ReleaseResponse response, boolean retried) {
    if (response.getReleased()) return RELEASED;
    return switch (response.getReason()) {
      case NOT_RELEASED_REASON_EXPIRED -> EXPIRED;
      case NOT_RELEASED_REASON_WAITER_REMOVED -> WAITER_REMOVED;
      case NOT_RELEASED_REASON_NOT_HOLDER -> retried ? RELEASED : NOT_HOLDER;
      default -> NOT_HOLDER;
    };
  }
}
