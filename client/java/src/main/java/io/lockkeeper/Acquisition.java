// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.v1.AcquireRequest;
import io.lockkeeper.v1.AcquireResponse;
import io.lockkeeper.v1.Lease;
import io.lockkeeper.v1.SessionOperation;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One acquire, from the first attempt to a definite answer, or until the caller's time is up. For one thread, which also makes it. */
final class Acquisition {
  private static final SecureRandom RANDOM = new SecureRandom();

  /** An answer with a lease. Counted from `sent`, when the request was sent whose answer counts; `session` keeps it on the server. */
  record Grant(Lease lease, long sent, @Nullable Session session) {}

  /** The offer was not claimed in time. */
  private static final class Lapsed extends LockException {
    private static final long serialVersionUID = 1L;

    Lapsed() {
      super(io.grpc.Status.Code.UNAVAILABLE, "OUTCOME_UNKNOWN", "the offer ended before it was claimed");
    }
  }

  private final Daemons daemons;
  private final TraceContext trace = TraceContext.current();
  private final AcquireRequest.Builder request;
  private final long waitTimeout;
  private final long callTimeout;
  private final boolean isOurId;
  private boolean unresolved;

  Acquisition(Daemons daemons, AcquireRequest.Builder request, long waitTimeout, long callTimeout) {
    this.daemons = daemons;
    this.request = request;
    this.waitTimeout = waitTimeout;
    this.callTimeout = callTimeout;
    isOurId = request.getLeaseId().isEmpty();
    if (isOurId) takeNewId();
  }

  String leaseId() {
    return request.getLeaseId();
  }

  /** Whether an attempt without an answer may have been granted, or may still stand in line: then the lease id has to be released. */
  boolean isUnresolved() {
    return unresolved && isOurId;
  }

  /** A lease id is a credential. */
  private void takeNewId() {
    final byte[] bits = new byte[16];
    RANDOM.nextBytes(bits);
    request.setLeaseId(HexFormat.of().formatHex(bits));
    unresolved = false; // the old id can no longer get a grant
  }

  Grant run() throws InterruptedException {
    final long begin = Ticks.now();
    final long waitEnd = begin + waitTimeout;
    final RetryRule rule = new RetryRule(waitEnd + callTimeout, daemons.size());
    for (int attempt = 1; ; ++attempt) {
      final long began = Ticks.now();
      final long wait = Math.max(0, waitEnd - began);
      final int number = daemons.current();
      final LockException error;
      try {
        final Grant grant = attempt(daemons.get(number), attempt, wait, rule.tryTimeout(began + wait));
        if (waitTimeout == 0) return grant;
        final long waited = Protos.nanos(grant.lease().getWaited()) + began - begin;
        return new Grant(grant.lease().toBuilder().setWaited(Protos.proto(Ticks.duration(waited))).build(), grant.sent(), grant.session());
      } catch (NotAcquiredException contention) {
        throw contention;
      } catch (InterruptedException interrupted) {
        unresolved = true;
        throw interrupted;
      } catch (LockException failed) {
        error = failed;
      }
      if (attempt > 1 && error.reason().equals("LEASE_ENDED") && isOurId) {
        takeNewId();
        attempt = 0;
        continue;
      }
      if (!error.leftNothing()) unresolved = true;
      final long delay = rule.delayAfter(error, began, Ticks.now());
      if (delay < 0) throw error;
      // A lapsed offer is no failure of its daemon: the acquire goes on waiting there.
      if (!(error instanceof Lapsed)) daemons.failed(number, error);
      TimeUnit.NANOSECONDS.sleep(delay);
    }
  }

  /** One attempt: the acquire and, if the answer is an offer, the claim. */
  private Grant attempt(Daemon daemon, int attempt, long wait, long timeout) throws InterruptedException {
    request.setAttempt(attempt);
    if (wait > 0) {
      request.setWaitTimeout(Protos.proto(Ticks.duration(wait)));
    } else {
      request.clearWaitTimeout();
    }
    final SessionOperation operation = trace.of(SessionOperation.newBuilder().setAcquire(request).build());
    final Operation.Answer said = daemon.await(() -> new Operation(operation), wait + timeout);
    final AcquireResponse answer = said.get().getAcquire();
    if (answer.hasContention()) {
      throw NotAcquiredException.of(request.getName(), answer.getContention(), waitTimeout > 0);
    }
    Protos.check(answer.getLease(), request.getName(), leaseId());
    if (!answer.getLease().getOffered()) return new Grant(answer.getLease(), said.sent(), said.session());
    unresolved = true; // until the claim is answered
    final Grant claimed = claim(daemon, answer.getLease(), timeout);
    // Only the session of the offer keeps the lease by this claim.
    return claimed.session() == said.session() ? claimed : new Grant(claimed.lease(), claimed.sent(), null);
  }

  /** The lease counts from the sending of the claim. */
  private Grant claim(Daemon daemon, Lease offer, long timeout) throws InterruptedException {
    final long most = Math.max(Ticks.MILLISECOND, Math.min(timeout, Protos.nanos(offer.getRemainingTtl())));
    final SessionOperation operation = trace.of(Protos.extend(offer.getName(), leaseId(), 0, "", null));
    final Operation.Answer said = daemon.await(() -> new Operation(operation), most);
    if (said.error() != null && said.error().reason().equals("LEASE_LOST")) throw new Lapsed();
    final Lease lease = said.get().getExtend().getLease();
    Protos.check(lease, request.getName(), leaseId());
    return new Grant(
        lease.toBuilder().setWaited(offer.getWaited()).setPreviousLeaseExpired(offer.getPreviousLeaseExpired()).build(), said.sent(),
        said.session());
  }
}
