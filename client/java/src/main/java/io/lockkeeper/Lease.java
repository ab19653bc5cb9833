// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The time-bounded right to a lock. The client renews it until it is closed, detached or lost.
 *
 * <p>The end is counted from the moment at which the granted request was sent, less a margin of 1 % and 50 ms. A renewal without an answer
 * leaves the end as it was. A lease that is lost stays lost.
 *
 * <p>What it cannot prevent: a paused process may wake up after the end and act before it looks. Only a resource that checks the fencing
 * token prevents that. Thread-safe.
 */
public final class Lease implements AutoCloseable {
  private enum State {
    HELD,
    LOST_IN_TIME,
    /** By the word of the service. */
    LOST_BY_WORD,
    /** Or detached. */
    RELEASED
  }

  private final LockClient client;
  private final String name;
  private final String leaseId;
  private final long token;
  private final Duration waited;
  private final boolean previousLeaseExpired;
  private final @Nullable Duration extendTtl; // null: as granted
  private final CompletableFuture<Loss> lost = new CompletableFuture<>();

  private final LeaseLife life; // guarded by this, as all below
  private State state = State.HELD;
  private @Nullable Loss loss;
  private @Nullable LockException lastError;
  private String proof;
  private @Nullable Session home; // that keeps it on the server
  private boolean alone; // the next renewal must not be by heartbeat
  private @Nullable Future<?> timer;
  private @Nullable CompletableFuture<ReleaseOutcome> release;

  Lease(LockClient client, Acquisition.Grant grant, LeaseLife life, @Nullable Duration extendTtl) {
    this.client = client;
    this.life = life;
    this.extendTtl = extendTtl;
    name = grant.lease().getName();
    leaseId = grant.lease().getLeaseId();
    token = grant.lease().getFencingToken();
    waited = Protos.duration(grant.lease().getWaited());
    previousLeaseExpired = grant.lease().getPreviousLeaseExpired();
    proof = grant.lease().getReassertion();
  }

  /** Starts to renew the lease. */
  synchronized void begin(@Nullable Session session) {
    if (session != null && session.keep(this)) {
      home = session;
    } else if (session != null && session.hasLost(this)) {
      life.renewAt(Ticks.now()); // that tells
    }
    reschedule();
  }

  /** The lock. */
  public String name() {
    return name;
  }

  /** Higher than that of every earlier grant of the lock. Pass it to every resource that the lock guards. */
  public long fencingToken() {
    return token;
  }

  /** A credential: whoever knows it can extend and release. Do not log it. */
  public String leaseId() {
    return leaseId;
  }

  /** Time that the acquire stood in line. */
  public Duration waited() {
    return waited;
  }

  /** The lease before this one ended without a release: what the lock guards may be half done. */
  public boolean previousLeaseExpired() {
    return previousLeaseExpired;
  }

  synchronized long ttlNanos() {
    return life.ttl();
  }

  /** Whether the lease is still held. Looks at the clock. */
  public synchronized boolean isHeld() {
    loseIfDue();
    return state == State.HELD;
  }

  /** Throws if the lease is lost. Looks at the clock. */
  public synchronized void check() throws LeaseLostException {
    loseIfDue();
    if (loss != null) throw new LeaseLostException(name, loss);
  }

  /** Why it is lost; null as long as it is not. A release does not change it. */
  public synchronized @Nullable Loss loss() {
    loseIfDue();
    return loss;
  }

  /** Completes, on the thread for callbacks, when the lease is lost; never once it is released. */
  public CompletableFuture<Loss> lost() {
    return lost.copy();
  }

  /** Runs the listener when the lease is lost, on a thread that all leases of the client share; so it must return soon. */
  public CompletionStage<Void> onLost(java.util.function.Consumer<Loss> listener) {
    return lost.thenAccept(listener);
  }

  /** Time until the end; zero once it is released, or the service has said that it ended. */
  public synchronized Duration remaining() {
    return state == State.RELEASED ? Duration.ZERO : Ticks.duration(life.remaining(Ticks.now()));
  }

  /** The newest proof of the lease; each renewal brings a new one. */
  public synchronized String reassertion() {
    return proof;
  }

  /**
   * Moves the end of the lease to ttl from now, if that is later; a ttl below that of the regular renewals counts as theirs. The regular
   * renewals go on. An error other than {@link LeaseLostException} leaves the lease as it was.
   */
  public void extend(Duration ttl) throws InterruptedException {
    check();
    if (!isHeld()) throw LockException.invalid("lease", "is released");
    if (ttl.isNegative()) throw LockException.invalid("ttl", "must not be negative");
    // The service extends by heartbeats with the ttl that was asked for last; a shorter one would not last for the regular one.
    final Duration regular = Ticks.duration(ttlNanos());
    final Duration asked = ttl.compareTo(regular) < 0 ? regular : ttl;
    final TraceContext trace = TraceContext.current();
    final Operation.Answer said =
        client.runUntilAnswered(() -> new Operation(trace.of(Protos.extend(name, leaseId, token, reassertion(), asked))));
    final Renewal renewal = renewalOf(said);
    synchronized (this) {
      if (state == State.HELD && renewal.outcome() == LeaseLife.Outcome.EXTENDED) {
        life.moveEnd(LeaseLife.endOf(said.sent(), renewal.remaining()));
        takeProof(renewal.proof());
        reschedule();
      }
    }
    if (renewal.outcome() == LeaseLife.Outcome.ENDED) {
      renewed(said.sent(), LeaseLife.Outcome.ENDED, 0, "", renewal.error());
    }
    check();
    if (renewal.error() != null) throw renewal.error();
  }

  /**
   * Releases the lock. Called again it returns the first outcome. It waits for at most the release timeout; then it throws, and the client
   * retries in the background until the lease has expired. In any case the lease is no longer renewed.
   */
  public ReleaseOutcome release() throws InterruptedException {
    final CompletableFuture<ReleaseOutcome> pending = startRelease();
    try {
      return pending.get(client.options().releaseTimeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      throw new LockException(
          Status.Code.DEADLINE_EXCEEDED, "", "the release was not answered in time; the client retries it in the background");
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof LockException error) throw error;
      throw new IllegalStateException(failed);
    }
  }

  synchronized CompletableFuture<ReleaseOutcome> startRelease() {
    if (release != null) return release;
    loseIfDue();
    final Session keeper = home;
    final long left = life.remaining(Ticks.now());
    // A lease that counts as lost in time may still be live: an extend without an answer may have moved its end.
    release =
        switch (drop()) {
          case LOST_BY_WORD -> CompletableFuture.completedFuture(ReleaseOutcome.EXPIRED);
          case RELEASED -> CompletableFuture.failedFuture(LockException.invalid("lease", "was detached"));
          default -> {
            final long until = Math.max(client.options().releaseTimeout.toNanos(), left + LeaseLife.marginOf(left));
            yield client.releaseInBackground(name, leaseId, Ticks.now() + until);
          }
        };
    if (keeper != null) {
      release.exceptionally(
          unreleased -> {
            keeper.forget(name, leaseId);
            return null;
          });
    }
    return release;
  }

  /** Releases the lock, as {@link #release} does, and throws nothing: an error of the work must not be hidden. */
  @Override
  public void close() {
    final boolean isLost = loss() != null;
    final CompletableFuture<ReleaseOutcome> pending = startRelease();
    if (isLost) return; // the caller has to hear of the loss, and not to wait
    try {
      pending.get(client.options().releaseTimeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException unanswered) {
      return; // it goes on in the background
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops renewing the lease without releasing it, for another client to adopt. */
  public synchronized DetachedLease detach() {
    check();
    if (state == State.RELEASED) throw LockException.invalid("lease", "is released");
    if (home != null) home.forget(name, leaseId);
    drop();
    return new DetachedLease(name, leaseId, token, proof);
  }

  /** Ends the keeping of the lease, and returns the state that it was in. */
  private State drop() {
    final State before = state;
    state = State.RELEASED;
    leaveHome();
    if (timer != null) timer.cancel(false);
    client.forget(this);
    return before;
  }

  private void leaveHome() {
    if (home != null) home.drop(this);
    home = null;
  }

  private void loseIfDue() {
    if (state == State.HELD && life.loseIfDue(Ticks.now())) lose(State.LOST_IN_TIME);
  }

  private void lose(State how) {
    state = how;
    final Loss told = new Loss(causeOf(how), life.isCapped() && how == State.LOST_IN_TIME ? null : lastError);
    loss = told;
    if (home != null) home.forget(name, leaseId);
    home = null;
    if (timer != null) timer.cancel(false);
    client.forget(this);
    client.timers().callBack(() -> lost.complete(told));
  }

  private Loss.Cause causeOf(State how) {
    if (how == State.LOST_BY_WORD) return Loss.Cause.LEASE_LOST;
    if (life.isCapped()) return Loss.Cause.MAX_HOLD;
    return lastError != null || life.isAsking() ? Loss.Cause.RENEWALS_FAILED : Loss.Cause.PAUSED;
  }

  private void reschedule() {
    if (timer != null) timer.cancel(false);
    final long lag = home != null && beats() ? life.beatLag() : 0;
    timer = client.timers().at(Math.min(life.nextAt() + lag, life.lostAt()), this::onTimer);
  }

  private void onTimer() {
    final long timeout;
    final boolean mayBeat;
    final Session keeper;
    synchronized (this) {
      loseIfDue();
      if (state != State.HELD) return;
      final long now = Ticks.now();
      if (!life.renewsNext() || life.renewAt() > now) {
        reschedule();
        return;
      }
      timeout = life.ask(now);
      reschedule();
      keeper = home;
      mayBeat = beats();
    }
    final int number = client.daemons().current();
    final Daemon daemon = client.daemons().get(number);
    if (keeper != null && keeper.daemon == daemon && mayBeat && keeper.heartbeats.join(this, life.ttl(), timeout)) return;
    final boolean adopts = (keeper == null || keeper.daemon != daemon) && extendTtl == null;
    extendOnce(daemon, number, adopts, timeout);
  }

  /** Renews the lease by itself, and has the session in use keep it if another one did, or none. */
  private void extendOnce(Daemon daemon, int number, boolean adopts, long timeout) {
    final long began = Ticks.now();
    final Operation operation = new Operation(Protos.extend(name, leaseId, token, reassertion(), extendTtl), adopts);
    daemon.runWithin(
        operation, timeout,
        answer -> {
          final Renewal renewal = renewalOf(answer);
          final boolean adopted = operation.adopts && answer.session() != null;
          if (adopted && renewal.outcome() == LeaseLife.Outcome.REFUSED) {
            extendOnce(daemon, number, false, Math.max(Ticks.MILLISECOND, timeout - (Ticks.now() - began))); // it takes no more leases
            return;
          }
          if (renewal.outcome() == LeaseLife.Outcome.NO_ANSWER && renewal.error() != null) {
            client.daemons().failed(number, renewal.error());
          }
          if (adopted && renewal.outcome() == LeaseLife.Outcome.EXTENDED) moveTo(answer.session());
          renewed(answer.sent(), renewal.outcome(), renewal.remaining(), renewal.proof(), renewal.error());
        });
  }

  private synchronized void moveTo(Session session) {
    if (state != State.HELD) {
      session.forget(name, leaseId);
      return;
    }
    leaveHome();
    if (session.keep(this)) home = session;
  }

  private record Renewal(LeaseLife.Outcome outcome, long remaining, String proof, @Nullable LockException error) {}

  private Renewal renewalOf(Operation.Answer answer) {
    try {
      final io.lockkeeper.v1.Lease extended = answer.get().getExtend().getLease();
      Protos.check(extended, name, leaseId);
      if (extended.getFencingToken() != token) throw LockException.internal("the server's answer has another fencing token");
      return new Renewal(
          LeaseLife.Outcome.EXTENDED, Protos.nanos(extended.getRemainingTtl()), extended.getReassertion(), null);
    } catch (LockException error) {
      final LeaseLife.Outcome outcome =
          error.isNoAnswer()
              ? LeaseLife.Outcome.NO_ANSWER
              : error.isLeaseLost() ? LeaseLife.Outcome.ENDED : LeaseLife.Outcome.REFUSED;
      return new Renewal(outcome, 0, "", error);
    }
  }

  /** Takes the answer of a renewal that was sent at `sent`. */
  synchronized void renewed(long sent, LeaseLife.Outcome outcome, long remaining, String newProof, @Nullable LockException error) {
    loseIfDue();
    if (state != State.HELD) return;
    lastError = error;
    life.answer(Ticks.now(), sent, outcome, remaining, Ticks.jitter());
    if (life.isLost()) {
      lose(outcome == LeaseLife.Outcome.ENDED ? State.LOST_BY_WORD : State.LOST_IN_TIME);
      return;
    }
    if (outcome == LeaseLife.Outcome.EXTENDED) {
      alone = false;
      takeProof(newProof);
    }
    reschedule();
  }

  private void takeProof(String newProof) {
    if (!newProof.isEmpty()) proof = newProof;
  }

  /** Takes the proof that a heartbeat brought. It was sent at `sent`, and gives the whole ttl from then on; null: it gives none. */
  synchronized void beaten(@Nullable Long sent, String newProof) {
    loseIfDue();
    if (state != State.HELD) return;
    takeProof(newProof);
    if (sent == null || !beats()) return;
    lastError = null;
    life.answer(Ticks.now(), sent, LeaseLife.Outcome.EXTENDED, life.ttl(), 0);
    reschedule();
  }

  /** The heartbeat that was to renew it was not answered. */
  synchronized void unbeaten(long sent, LockException error) {
    if (!waitsForBeat()) return;
    alone = true;
    renewed(sent, LeaseLife.Outcome.NO_ANSWER, 0, "", error);
  }

  /** The heartbeat that was to renew it brought no proof of it. */
  synchronized void unproved() {
    if (waitsForBeat()) extendAlone(null);
  }

  /** A heartbeat could not extend it. */
  synchronized void renewAlone(LockException why) {
    if (state == State.HELD && !alone) extendAlone(why);
  }

  private boolean waitsForBeat() {
    return state == State.HELD && life.isAsking() && !alone;
  }

  /** Extends it at once, and not by a heartbeat. */
  private void extendAlone(@Nullable LockException why) {
    lastError = why;
    alone = true;
    life.stopAsking();
    life.renewAt(Ticks.now());
    reschedule();
  }

  /** Whether heartbeats may renew it, as long as none could not. */
  private boolean beats() {
    return !alone && extendTtl == null && life.mayBeat();
  }

  /** Its session no longer keeps it. The next one adopts it soon. */
  synchronized void orphaned(Session session) {
    if (state != State.HELD || home != session) return;
    home = null;
    final long soon = Ticks.now() + (long) (Math.min(Ticks.BACKOFF_MAX, life.ttl() / 10) * Ticks.jitter());
    if (soon >= life.renewAt()) return;
    life.renewAt(soon);
    reschedule();
  }
}
