// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import io.lockkeeper.v1.ErrorReason;
import io.lockkeeper.v1.SessionHeartbeat;
import io.lockkeeper.v1.SessionHeartbeatResult;
import io.lockkeeper.v1.SessionLeaseLost;
import io.lockkeeper.v1.SessionRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** The heartbeats of one session. Thread-safe. Never calls a lease or the session with its own lock held. */
final class Heartbeats {
  /**
   * So many leases make a heartbeat worth it. Below that each is extended by itself, which tells more: a heartbeat's answer only says that
   * two thirds of the ttl are left.
   */
  private static final int LEASES_MIN = 4;

  private record Beat(long number, long sent, long answerBy, List<Lease> leases) {}

  private final Session session;
  private List<Lease> joining = new ArrayList<>(); // the next one is for them
  private long joinedBy; // after this time its answer is of no use
  private @Nullable Long sendAt;
  private long lastSent = Long.MIN_VALUE / 2;
  private long number;
  private List<Beat> inFlight = new ArrayList<>();
  private @Nullable Future<?> timer;
  private boolean over;

  Heartbeats(Session session) {
    this.session = session;
  }

  /** Has the lease renewed by the next heartbeat. False if it has to be renewed by itself. */
  boolean join(Lease lease, long ttl, long timeout) {
    if (!session.isOpen() || !session.isUsable() || session.size() < LEASES_MIN || session.find(lease.leaseId()) != lease) return false;
    synchronized (this) {
      if (over) return false;
      final long now = Ticks.now();
      if (joining.isEmpty() || now + timeout < joinedBy) joinedBy = now + timeout;
      joining.add(lease);
      // Leases that are due shortly after one another share a heartbeat.
      final long at = Math.max(now, lastSent + Math.min(ttl / 20, timeout / 4));
      if (sendAt == null || at < sendAt) sendAt = at;
      arm();
    }
    return true;
  }

  /** Sets the timer to the next heartbeat to send, or answer to give up. */
  private void arm() {
    if (timer != null) timer.cancel(false);
    long next = sendAt == null ? Long.MAX_VALUE : sendAt;
    for (Beat beat : inFlight) next = Math.min(next, beat.answerBy());
    timer = next == Long.MAX_VALUE || over ? null : session.timers.at(next, this::onTimer);
  }

  private void onTimer() {
    final List<Beat> late = new ArrayList<>();
    SessionRequest message = null;
    synchronized (this) {
      if (over) return;
      final long now = Ticks.now();
      if (sendAt != null && sendAt <= now) {
        inFlight.add(new Beat(++number, now, joinedBy, joining));
        joining = new ArrayList<>();
        sendAt = null;
        lastSent = now;
        message = SessionRequest.newBuilder().setHeartbeat(SessionHeartbeat.newBuilder().setNumber(number)).build();
      }
      for (Beat beat : inFlight) {
        if (beat.answerBy() <= now) late.add(beat);
      }
      inFlight.removeAll(late);
      arm();
    }
    if (message != null) session.say(message);
    for (Beat beat : late) session.suspectSince(beat.sent());
    fail(late, LockException.unavailable("", "the heartbeat was not answered in time"));
  }

  private static void fail(List<Beat> beats, LockException error) {
    for (Beat beat : beats) {
      for (Lease lease : beat.leases()) lease.renewed(beat.sent(), LeaseLife.Outcome.NO_ANSWER, 0, "", error);
    }
  }

  /** The session is over. */
  void end(LockException error) {
    final List<Beat> all;
    synchronized (this) {
      over = true;
      if (timer != null) timer.cancel(false);
      all = inFlight;
      all.add(new Beat(0, 0, 0, joining));
      inFlight = new ArrayList<>();
      joining = new ArrayList<>();
    }
    fail(all, error);
  }

  void onResult(SessionHeartbeatResult result) {
    final List<Beat> answered = new ArrayList<>();
    if (!result.getMore()) {
      synchronized (this) {
        for (Beat beat : inFlight) {
          if (beat.number() <= result.getNumber()) answered.add(beat); // it answers all before it, too
        }
        inFlight.removeAll(answered);
        arm();
      }
    }
    result.getReassertionsMap().forEach(
        (leaseId, proof) -> {
          final Lease lease = session.find(leaseId);
          if (lease != null) lease.proved(proof);
        });
    result.getNotExtendedList().forEach(this::onNamed);
    for (Beat beat : answered) {
      for (Lease lease : beat.leases()) lease.beaten(beat.sent());
    }
  }

  /** A lease that could not be kept, perhaps named before the result that grants it. */
  void onNamed(SessionLeaseLost named) {
    final String reason = LockException.reasonOf(named.getReason());
    if (named.getReason() == ErrorReason.ERROR_REASON_LEASE_LOST) {
      final Lease lease = session.lose(named.getLeaseId());
      if (lease == null) return;
      final LockException why = new LockException(Status.Code.FAILED_PRECONDITION, reason, "the lease has ended");
      lease.renewed(Ticks.now(), LeaseLife.Outcome.ENDED, 0, "", why);
      return;
    }
    final Lease lease = session.find(named.getLeaseId());
    if (lease != null) lease.renewAlone(LockException.unavailable(reason, "the heartbeat could not extend the lease"));
  }
}
