// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import io.lockkeeper.v1.Contention;
import java.time.Duration;

/** The lock is not free. An expected outcome: {@link LockClient#acquire} answers it with an empty Optional. */
public final class NotAcquiredException extends LockException {
  private static final long serialVersionUID = 1L;

  public enum Why {
    HELD,
    WAIT_TIMED_OUT,
    /** The lease id was released while it waited. */
    CANCELLED,
    /** Nobody holds it; it stays closed for a time after its last lease. */
    CLOSED
  }

  private final Why why;
  private final String holderOwner;
  private final Duration remaining;
  private final int waiters;

  private NotAcquiredException(Why why, String message, Contention contention) {
    super(Status.Code.ABORTED, "NOT_ACQUIRED", message);
    this.why = why;
    holderOwner = contention.getHolderOwner();
    remaining = Protos.duration(contention.getRemainingTtl());
    waiters = contention.getWaiters();
  }

  static NotAcquiredException of(String name, Contention contention, boolean waited) {
    Why why =
        switch (contention.getReason()) {
          case CONTENTION_REASON_WAIT_TIMED_OUT -> Why.WAIT_TIMED_OUT;
          case CONTENTION_REASON_CANCELLED -> Why.CANCELLED;
          case CONTENTION_REASON_CLOSED -> Why.CLOSED;
          default -> Why.HELD;
        };
    if (waited && why != Why.CANCELLED) why = Why.WAIT_TIMED_OUT; // also if the last attempt had no time left to wait
    final String by = contention.getHolderOwner().isEmpty() ? "" : " by `" + contention.getHolderOwner() + "`";
    final String message =
        switch (why) {
          case HELD -> "`" + name + "` is held" + by;
          case WAIT_TIMED_OUT -> "`" + name + "` did not become free in time" + (by.isEmpty() ? "" : ": it is held" + by);
          case CANCELLED -> "`" + name + "` was not acquired: its lease id was released while it waited";
          case CLOSED -> "nobody holds `" + name + "`, but it is closed after its last lease";
        };
    return new NotAcquiredException(why, message, contention);
  }

  public Why why() {
    return why;
  }

  /** Empty if it gave none. */
  public String holderOwner() {
    return holderOwner;
  }

  /** Time until the lock can become free by itself. */
  public Duration remaining() {
    return remaining;
  }

  public int waiters() {
    return waiters;
  }
}
