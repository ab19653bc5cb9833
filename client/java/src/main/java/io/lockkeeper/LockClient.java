// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import io.lockkeeper.v1.AcquireRequest;
import io.lockkeeper.v1.FenceRequest;
import io.lockkeeper.v1.ReleaseRequest;
import io.lockkeeper.v1.SessionOperation;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The client of one service: its connections, and the renewal of its leases. Use one per process. Thread-safe.
 *
 * <p>A thread that is interrupted while it waits gives the call up; what it may have been granted is released in the background.
 *
 * <p>If the program has OpenTelemetry's API (io.opentelemetry:opentelemetry-api), each call passes on the trace context that is current on the
 * thread that makes it, in W3C's format, so that the spans of the daemon become part of that trace. Renewals belong to no caller, and have none.
 */
public final class LockClient implements AutoCloseable {
  /** Of the server, for an acquire whose grant is not known. */
  private static final long TTL_DEFAULT = 30 * Ticks.SECOND;

  /** The store keeps a place in line so long after the last sign of life of its daemon. */
  private static final long PLACE_KEPT = 30 * Ticks.SECOND;

  private static final long RELEASE_TRY_TIMEOUT = Ticks.SECOND;

  /** Beyond it a release has only one attempt; if that fails, the ttl ends the lease. */
  private static final int PENDING_RELEASES_MAX = 10_000;

  /** Work under a lock. */
  @FunctionalInterface
  public interface LockedWork<T extends @Nullable Object, E extends Exception> {
    T run(Lease lease) throws E;
  }

  private final ClientOptions options;
  private final Timers timers = new Timers();
  private final Daemons daemons;
  private final Set<Lease> leases = new HashSet<>(); // guarded by this, as all below
  private final Set<CompletableFuture<ReleaseOutcome>> releases = new HashSet<>();
  private final Set<Leadership> leaderships = new HashSet<>();
  private final Set<LeaderObserver> observers = new HashSet<>();
  private boolean closed;

  private LockClient(ClientOptions options) {
    this.options = options;
    try {
      daemons = new Daemons(options, timers);
    } catch (LockException unusable) {
      timers.close();
      throw unusable;
    }
  }

  /** Does not connect yet. The error names the option that cannot be used. */
  public static LockClient create(ClientOptions options) {
    return new LockClient(options.complete());
  }

  ClientOptions options() {
    return options;
  }

  Timers timers() {
    return timers;
  }

  Daemons daemons() {
    return daemons;
  }

  /** Acquires the lock. Empty if it is not free. */
  public Optional<Lease> acquire(String name, AcquireOptions how) throws InterruptedException {
    try {
      return Optional.of(acquireOrThrow(name, how));
    } catch (NotAcquiredException contention) {
      return Optional.empty();
    }
  }

  /**
   * Acquires the lock. It takes at most the wait timeout and the call timeout. If it ends without an answer, the client releases the lease
   * id in the background.
   */
  public Lease acquireOrThrow(String name, AcquireOptions how) throws NotAcquiredException, InterruptedException {
    final AcquireRequest.Builder request = how.request(name, options.owner);
    checkOpen();
    final long wait = how.waitTimeout.toNanos();
    final Acquisition acquisition = new Acquisition(daemons, request, wait, options.callTimeout.toNanos());
    final long expiresIn = (how.ttl == null ? TTL_DEFAULT : how.ttl.toNanos()) + (wait > 0 ? PLACE_KEPT : 0);
    final Acquisition.Grant grant;
    try {
      grant = acquisition.run();
    } catch (LockException | InterruptedException failed) {
      if (acquisition.isUnresolved()) releaseInBackground(name, acquisition.leaseId(), Ticks.now() + expiresIn);
      throw failed;
    }
    try {
      return hold(grant, how.maxHold, how.stopMargin, null);
    } catch (LockException unusable) {
      releaseInBackground(name, acquisition.leaseId(), Ticks.now() + expiresIn);
      throw unusable;
    }
  }

  private Lease hold(Acquisition.Grant grant, Duration maxHold, Duration stopMargin, @Nullable Duration extendTtl) {
    final long ttl = extendTtl == null ? Protos.nanos(grant.lease().getTtl()) : extendTtl.toNanos();
    if (stopMargin.toNanos() > LeaseLife.stopMarginMax(ttl)) {
      throw LockException.invalid("stop_margin", "leaves no time to renew a lease of the granted ttl");
    }
    final LeaseLife life =
        new LeaseLife(ttl, maxHold.toNanos(), stopMargin.toNanos(), grant.sent(), Protos.nanos(grant.lease().getRemainingTtl()));
    if (life.lostAt() <= Ticks.now()) {
      throw new LockException(Status.Code.DEADLINE_EXCEEDED, "", "the answer arrived after the lease had ended");
    }
    final Lease lease = new Lease(this, grant, life, extendTtl);
    synchronized (this) {
      checkOpen();
      leases.add(lease);
    }
    lease.begin(grant.session());
    return lease;
  }

  /**
   * Acquires the lock, runs the work once, and releases. Throws the work's own exception; {@link LeaseLostException} if the lease was lost
   * before the work returned; {@link NotAcquiredException}, without running the work, if the lock is not free.
   */
  public <T extends @Nullable Object, E extends Exception> T withLock(String name, AcquireOptions how, LockedWork<T, E> work)
      throws E, InterruptedException {
    try (Lease lease = acquireOrThrow(name, how)) {
      final T result = work.run(lease);
      lease.check();
      return result;
    }
  }

  /**
   * Campaigns for the lock, and returns at once; ends when the leadership or the client is closed. The options are those of an acquire, but
   * the wait timeout and the lease id.
   */
  public Leadership lead(String name, AcquireOptions how, Candidate candidate) {
    if (!how.waitTimeout.isZero()) throw LockException.invalid("wait_timeout", "is no option of lead");
    if (!how.leaseId.isEmpty()) throw LockException.invalid("lease_id", "is no option of lead");
    how.request(name, options.owner); // checks the options
    final Leadership leadership = new Leadership(this, name, how.copy().waitTimeout(Leadership.CAMPAIGN_WAIT), candidate);
    synchronized (this) {
      checkOpen();
      leaderships.add(leadership);
    }
    leadership.begin();
    return leadership;
  }

  /**
   * Tells who holds the lock, to a program that does not campaign for it, and returns at once; ends when the observer or the client is closed.
   * Needs the right `inspect` on the name.
   */
  public LeaderObserver observe(String name, LeaderListener listener) {
    if (name.isEmpty()) throw LockException.invalid("name", "must not be empty"); // a watch would hear of all locks
    final LeaderObserver observer = new LeaderObserver(this, name, listener);
    synchronized (this) {
      checkOpen();
      observers.add(observer);
    }
    observer.begin();
    return observer;
  }

  /** Takes over a live lease that another client detached: extends it, and renews it from now on. */
  public Lease adopt(String name, String leaseId, AdoptOptions how) throws InterruptedException {
    if (how.stopMargin.isNegative()) throw LockException.invalid("stop_margin", "must not be negative");
    final SessionOperation request =
        TraceContext.current().of(Protos.extend(name, leaseId, how.fencingToken, how.reassertion, how.ttl));
    final Operation.Answer said = runUntilAnswered(() -> new Operation(request));
    final io.lockkeeper.v1.Lease extended = said.get().getExtend().getLease();
    Protos.check(extended, name, leaseId);
    return hold(new Acquisition.Grant(extended, said.sent(), null), Duration.ZERO, how.stopMargin, how.ttl);
  }

  /** Releases by lease id, for a lease that this process does not hold. Takes at most the call timeout. */
  public ReleaseOutcome release(String name, String leaseId) throws InterruptedException {
    checkOpen();
    final long timeout = options.callTimeout.toNanos();
    try {
      return releaseInBackground(name, leaseId, Ticks.now() + timeout).get(timeout + RELEASE_TRY_TIMEOUT, TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      throw LockException.late();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof LockException error) throw error;
      throw new IllegalStateException(failed);
    }
  }

  /**
   * Asks whether a token is the newest one of the lock and, if asked, its lease is live: for a resource that cannot store the highest token
   * it has seen. An error means: reject the access. Takes at most the call timeout.
   */
  public Fenced fence(String name, long fencingToken, boolean requireLiveLease) throws InterruptedException {
    final SessionOperation request =
        SessionOperation.newBuilder()
            .setFence(
                FenceRequest.newBuilder().setName(name).setFencingToken(fencingToken).setRequireLiveLease(requireLiveLease))
            .build();
    final SessionOperation traced = TraceContext.current().of(request);
    return Fenced.of(runUntilAnswered(() -> new Operation(traced)).get().getFence());
  }

  /** Ends campaigns and observers, releases all leases and ends the connections. Takes about the release timeout at most. */
  @Override
  public void close() {
    final List<Leadership> candidates;
    final List<LeaderObserver> watchers;
    final List<Lease> all;
    synchronized (this) {
      if (closed) return;
      closed = true;
      candidates = List.copyOf(leaderships);
      watchers = List.copyOf(observers);
      all = List.copyOf(leases);
    }
    watchers.forEach(LeaderObserver::close);
    Leadership.closeAll(candidates);
    for (Lease lease : all) lease.startRelease();
    final CompletableFuture<?>[] pending;
    synchronized (this) {
      pending = releases.toArray(CompletableFuture[]::new);
    }
    try {
      CompletableFuture.allOf(pending).get(options.releaseTimeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException unanswered) {
      // The ttl ends what is left.
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    daemons.close();
    timers.close();
  }

  private synchronized void checkOpen() {
    if (closed) throw LockException.closed();
  }

  synchronized void forget(Lease lease) {
    leases.remove(lease);
  }

  synchronized void forget(Leadership leadership) {
    leaderships.remove(leadership);
  }

  synchronized void forget(LeaderObserver observer) {
    observers.remove(observer);
  }

  /** Retries until there is an answer, or `giveUpAt` has passed. Called on the thread of whoever asks for it. */
  CompletableFuture<ReleaseOutcome> releaseInBackground(String name, String leaseId, long giveUpAt) {
    final CompletableFuture<ReleaseOutcome> done = new CompletableFuture<>();
    final boolean tooMany;
    synchronized (this) {
      tooMany = releases.size() >= PENDING_RELEASES_MAX;
      releases.add(done);
    }
    done.whenComplete(
        (outcome, error) -> {
          synchronized (this) {
            releases.remove(done);
          }
        });
    final SessionOperation request =
        SessionOperation.newBuilder().setRelease(ReleaseRequest.newBuilder().setName(name).setLeaseId(leaseId)).build();
    tryRelease(TraceContext.current().of(request), tooMany ? Ticks.now() : giveUpAt, 0, done);
    return done;
  }

  private void tryRelease(SessionOperation request, long giveUpAt, int failures, CompletableFuture<ReleaseOutcome> done) {
    final int number = daemons.current();
    daemons.get(number).runWithin(
        new Operation(request), RELEASE_TRY_TIMEOUT,
        answer -> {
          final LockException error = answer.error();
          if (error == null) {
            done.complete(ReleaseOutcome.of(answer.get().getRelease(), failures > 0));
            return;
          }
          final long again = Ticks.now() + Ticks.backoff(failures + 1, Ticks.BACKOFF_MAX, Ticks.jitter());
          if (!error.isNoAnswer() || again >= giveUpAt) {
            done.completeExceptionally(error);
            return;
          }
          daemons.failed(number, error);
          timers.at(again, () -> tryRelease(request, giveUpAt, failures + 1, done));
        });
  }

  /** Retries within the call timeout. */
  Operation.Answer runUntilAnswered(Supplier<Operation> make) throws InterruptedException {
    checkOpen();
    final RetryRule rule = new RetryRule(Ticks.now() + options.callTimeout.toNanos(), daemons.size());
    while (true) {
      final int number = daemons.current();
      final long began = Ticks.now();
      final Operation.Answer answer = daemons.get(number).await(make, rule.tryTimeout(began));
      if (answer.error() == null) return answer;
      final long delay = rule.delayAfter(answer.error(), began, Ticks.now());
      if (delay < 0) return answer;
      checkOpen();
      daemons.failed(number, answer.error());
      TimeUnit.NANOSECONDS.sleep(delay);
    }
  }
}
