// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import org.jspecify.annotations.Nullable;

/** Why a lease is lost. The error is that of the last renewal, if there was one. */
public record Loss(Cause cause, @Nullable LockException error) {
  public enum Cause {
    /** The service said that it has ended. */
    LEASE_LOST,
    /** Its end came near, and the renewals had failed. */
    RENEWALS_FAILED,
    /** It reached its max hold. */
    MAX_HOLD,
    /** Its end came near, and no renewal had been sent: this process was paused. */
    PAUSED
  }
}
