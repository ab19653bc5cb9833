// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.v1.AcquireRequest;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How to acquire a lock. Each method changes these options and returns them. What it leaves to the service to check, the service checks. */
public final class AcquireOptions implements Cloneable {
  @Nullable Duration ttl;
  Duration waitTimeout = Duration.ZERO;
  String owner = "";
  Map<String, String> labels = Map.of();
  Duration lockDelay = Duration.ZERO;
  Duration maxHold = Duration.ZERO;
  Duration holdAtLeast = Duration.ZERO;
  Duration stopMargin = Duration.ZERO;
  String leaseId = "";

  /** One try, for a lease of the service's default length. */
  public static AcquireOptions defaults() {
    return new AcquireOptions();
  }

  private AcquireOptions() {}

  AcquireOptions copy() {
    try {
      return (AcquireOptions) clone();
    } catch (CloneNotSupportedException impossible) {
      throw new AssertionError(impossible);
    }
  }

  /** Length of the lease, and how far each renewal moves its end; at least 100 ms. Default: the service's, 30 s. */
  public AcquireOptions ttl(Duration time) {
    ttl = time;
    return this;
  }

  /** Time to stand in line if the lock is not free, at most 24 h. Default: 0, one try. */
  public AcquireOptions waitTimeout(Duration time) {
    waitTimeout = time;
    return this;
  }

  /** Names the holder for people. Default: that of the client. */
  public AcquireOptions owner(String text) {
    owner = text;
    return this;
  }

  /** Kept with the lease, for people; at most 8. */
  public AcquireOptions labels(Map<String, String> texts) {
    labels = Map.copyOf(texts);
    return this;
  }

  /** For so long the lock stays closed if the lease ends without a release; at most 1 min. */
  public AcquireOptions lockDelay(Duration time) {
    lockDelay = time;
    return this;
  }

  /** Longest time for which the lease is renewed, at most 24 h. Default: 0, no bound. */
  public AcquireOptions maxHold(Duration time) {
    maxHold = time;
    return this;
  }

  /** Time after the grant for which the lock stays closed to others, even if it is released earlier; at most 24 h. Default: 0. */
  public AcquireOptions holdAtLeast(Duration time) {
    holdAtLeast = time;
    return this;
  }

  /** How long before its end the lease counts as lost, so that the work can stop in time; at most about half of the ttl. */
  public AcquireOptions stopMargin(Duration time) {
    stopMargin = time;
    return this;
  }

  /**
   * Lease id to use: 32 hex digits or a UUID. Default: a new random one. Whoever gives an id can repeat the acquire later, and must release
   * the id if the outcome stays unknown.
   */
  public AcquireOptions leaseId(String id) {
    leaseId = id;
    return this;
  }

  AcquireRequest.Builder request(String name, String clientOwner) {
    if (waitTimeout.isNegative()) throw LockException.invalid("wait_timeout", "must not be negative");
    if (stopMargin.isNegative()) throw LockException.invalid("stop_margin", "must not be negative");
    if (ttl != null && stopMargin.toNanos() > LeaseLife.stopMarginMax(ttl.toNanos())) {
      throw LockException.invalid(
          "stop_margin", "leaves no time to renew a lease of this ttl: at most "
              + LeaseLife.stopMarginMax(ttl.toNanos()) / Ticks.MILLISECOND + " ms");
    }
    final AcquireRequest.Builder request =
        AcquireRequest.newBuilder().setName(name).setLeaseId(leaseId).setOwner(owner.isEmpty() ? clientOwner : owner)
            .putAllLabels(labels).setConfirm(!waitTimeout.isZero());
    if (ttl != null) request.setTtl(Protos.proto(ttl));
    if (!lockDelay.isZero()) request.setLockDelay(Protos.proto(lockDelay));
    if (!maxHold.isZero()) request.setMaxHold(Protos.proto(maxHold));
    if (!holdAtLeast.isZero()) request.setHoldAtLeast(Protos.proto(holdAtLeast));
    return request;
  }
}
