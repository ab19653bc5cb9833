// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import io.lockkeeper.v1.ErrorReason;
import io.lockkeeper.v1.SessionHeartbeat;
import io.lockkeeper.v1.SessionHeartbeatResult;
import io.lockkeeper.v1.SessionLeaseLost;
import io.lockkeeper.v1.SessionRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** The heartbeats of one session. Thread-safe. Never calls a lease or the session with its own lock held. */
final class Heartbeats {
  /** So many leases make a heartbeat worth it. Below that each is extended by itself. */
  private static final int LEASES_MIN = 4;

  /** Longest time for which a lease waits for others that are due. */
  private static final long GATHER_MAX = 500 * Ticks.MILLISECOND;

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

  // Of the answer that is being read, by lease id.
  private Map<String, String> proofs = new HashMap<>();
  private Map<String, SessionLeaseLost> named = new HashMap<>(); // not extended, but not ended either

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
      final long gathered = now + Math.min(Math.min(ttl / 60, GATHER_MAX), timeout / 4);
      final long at = Math.max(gathered, lastSent + Math.min(ttl / 20, timeout / 4));
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

  /** Has the leases extended by themselves until that has an answer. */
  private static void fail(List<Beat> beats, LockException error) {
    for (Beat beat : beats) {
      for (Lease lease : beat.leases()) lease.unbeaten(beat.sent(), error);
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
    final List<SessionLeaseLost> lost = new ArrayList<>();
    final Map<String, String> proved;
    final Map<String, SessionLeaseLost> refused;
    Long sent = null; // of a heartbeat that was given up: its proofs are good, but nothing is counted from it
    synchronized (this) {
      proofs.putAll(result.getReassertionsMap());
      for (SessionLeaseLost one : result.getNotExtendedList()) {
        if (isEnd(one)) {
          lost.add(one);
        } else {
          named.put(one.getLeaseId(), one);
        }
      }
      proved = proofs;
      refused = named;
      if (!result.getMore()) {
        for (Beat beat : inFlight) {
          if (beat.number() <= result.getNumber()) answered.add(beat); // it answers all before it, too
          if (beat.number() == result.getNumber()) sent = beat.sent();
        }
        inFlight.removeAll(answered);
        proofs = new HashMap<>();
        named = new HashMap<>();
        arm();
      }
    }
    lost.forEach(this::onNamed);
    if (result.getMore()) return;
    final Set<Lease> kept = new HashSet<>();
    for (Map.Entry<String, String> proof : proved.entrySet()) {
      final Lease lease = session.find(proof.getKey());
      if (lease == null) continue;
      kept.add(lease);
      lease.beaten(refused.containsKey(proof.getKey()) ? null : sent, proof.getValue());
    }
    refused.values().forEach(this::onNamed);
    // What became of the others their own extends tell.
    for (Beat beat : answered) {
      for (Lease lease : beat.leases()) {
        if (!kept.contains(lease)) lease.unproved();
      }
    }
  }

  private static boolean isEnd(SessionLeaseLost named) {
    return named.getReason() == ErrorReason.ERROR_REASON_LEASE_LOST;
  }

  /** A lease that could not be kept, perhaps named before the result that grants it. */
  void onNamed(SessionLeaseLost named) {
    final String reason = LockException.reasonOf(named.getReason());
    if (isEnd(named)) {
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
