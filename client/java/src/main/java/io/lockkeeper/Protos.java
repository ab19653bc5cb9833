// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.google.protobuf.Duration;
import io.lockkeeper.v1.ExtendRequest;
import io.lockkeeper.v1.SessionOperation;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Between the messages of the service and this client. */
final class Protos {
  private static final java.time.Duration LONGEST = java.time.Duration.ofDays(1);

  private Protos() {}

  static Duration proto(java.time.Duration duration) {
    return Duration.newBuilder().setSeconds(duration.getSeconds()).setNanos(duration.getNano()).build();
  }

  /** No duration of the service is longer than a day, or negative. */
  static java.time.Duration duration(Duration proto) {
    if (proto.getSeconds() < 0 || proto.getNanos() < 0) return java.time.Duration.ZERO;
    if (proto.getSeconds() >= LONGEST.getSeconds()) return LONGEST;
    return java.time.Duration.ofSeconds(proto.getSeconds(), proto.getNanos());
  }

  static long nanos(Duration proto) {
    return duration(proto).toNanos();
  }

  static SessionOperation extend(String name, String leaseId, long token, String proof, java.time.@Nullable Duration ttl) {
    final ExtendRequest.Builder request =
        ExtendRequest.newBuilder().setName(name).setLeaseId(leaseId).setFencingToken(token).setReassertion(proof);
    if (ttl != null) request.setTtl(proto(ttl));
    return SessionOperation.newBuilder().setExtend(request).build();
  }

  /** Refuses an answer that grants nothing, or something else. */
  static void check(io.lockkeeper.v1.Lease lease, String name, String leaseId) {
    if (!lease.getName().equals(name) || !plain(lease.getLeaseId()).equals(plain(leaseId))) {
      throw LockException.internal("the server's answer has no lease, or one that was not asked for");
    }
    if (lease.getFencingToken() <= 0) throw LockException.internal("the server's answer has no fencing token");
  }

  /** A lease id as the server writes it. */
  static String plain(String leaseId) {
    return leaseId.replace("-", "").toLowerCase(Locale.ROOT);
  }
}
