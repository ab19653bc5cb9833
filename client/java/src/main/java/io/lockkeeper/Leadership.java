// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A candidate: it stands in line for the lock, leads while it holds the lease, and campaigns again when the term is over and {@link
 * Candidate#onElected} has returned, until it is closed. Thread-safe.
 */
public final class Leadership implements AutoCloseable {
  /** How long one acquire of a campaign stands in line. Its errors are told when it ends, so it must end. */
  static final Duration CAMPAIGN_WAIT = Duration.ofSeconds(30);

  /** What the thread does, so that it is interrupted in nothing else. */
  private enum Doing {
    CAMPAIGNING,
    WORKING,
    OTHERWISE
  }

  private record Term(Lease lease, CountDownLatch over) {}

  private final LockClient client;
  private final String name;
  private final AcquireOptions how;
  private final Candidate candidate;
  private final Thread thread = new Thread(this::run);

  private Doing doing = Doing.OTHERWISE; // guarded by this, as all below
  private @Nullable Term term;
  private boolean closed;

  Leadership(LockClient client, String name, AcquireOptions how, Candidate candidate) {
    this.client = client;
    this.name = name;
    this.how = how;
    this.candidate = candidate;
    thread.setName("lockkeeper-lead-" + name);
    thread.setDaemon(true);
  }

  void begin() {
    thread.start();
  }

  /** Whether this candidate leads now. Looks at the clock. */
  public boolean isLeader() {
    return term() != 0;
  }

  /** The fencing token of this candidate's term; 0 while it does not lead. */
  public synchronized long term() {
    return term != null && term.lease().isHeld() ? term.lease().fencingToken() : 0;
  }

  /**
   * Ends the term and releases the lock, so that the next candidate in line takes over. This one campaigns again, behind those who wait. Stop
   * the work first: the next leader begins at once. Throws what {@link Lease#release} throws.
   */
  public void resign() throws InterruptedException {
    final Term ending;
    synchronized (this) {
      ending = term;
      term = null;
      if (ending != null) stopWork();
    }
    if (ending == null) return;
    try {
      ending.lease().release();
    } finally {
      ending.over().countDown();
    }
  }

  /** Resigns, or ends the campaign. Does not wait for {@link Candidate#onElected}. */
  @Override
  public void close() {
    stop();
    try {
      synchronized (this) {
        while (doing == Doing.CAMPAIGNING) wait();
      }
      resign();
    } catch (LockException unanswered) {
      // It goes on in the background.
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    client.forget(this);
  }

  /** Campaigns end first: none of them is to win what another one gives up. */
  static void closeAll(List<Leadership> all) {
    all.forEach(Leadership::stop);
    all.forEach(Leadership::close);
  }

  private synchronized void stop() {
    closed = true;
    if (doing == Doing.CAMPAIGNING) thread.interrupt();
  }

  private void stopWork() {
    if (doing == Doing.WORKING && Thread.currentThread() != thread) thread.interrupt();
  }

  private synchronized void nowDoing(Doing what) {
    Thread.interrupted(); // what it was meant to interrupt is over
    doing = what;
    notifyAll();
  }

  private void run() {
    int failures = 0;
    try {
      while (true) {
        Optional<Lease> lease = Optional.empty();
        long delay = 0;
        try {
          if (!campaign()) return;
          lease = client.acquire(name, how);
          failures = 0;
          if (lease.isPresent()) takeOffice(lease.get());
        } catch (LockException error) {
          nowDoing(Doing.OTHERWISE);
          if (error.code() == Status.Code.CANCELLED) return; // the client is closed
          report(error);
          delay = Math.max(Ticks.backoff(++failures, Ticks.BACKOFF_MAX, Ticks.jitter()), error.retryDelay().toNanos());
        }
        if (lease.isPresent() && lead(lease.get())) delay = lease.get().ttlNanos();
        if (delay > 0) {
          if (!campaign()) return;
          TimeUnit.NANOSECONDS.sleep(delay);
        }
      }
    } catch (InterruptedException stopped) {
      // Closed.
    } finally {
      nowDoing(Doing.OTHERWISE);
    }
  }

  /** From now on a close interrupts the thread. False: it is closed. */
  private synchronized boolean campaign() {
    if (!closed) nowDoing(Doing.CAMPAIGNING);
    return !closed;
  }

  private synchronized void takeOffice(Lease lease) {
    term = new Term(lease, new CountDownLatch(1));
    nowDoing(Doing.OTHERWISE);
  }

  /** Returns when the term is over and onElected has returned: whether that failed. */
  private boolean lead(Lease lease) throws InterruptedException {
    final Term own;
    synchronized (this) {
      own = term;
      if (own == null || closed) {
        lease.startRelease();
        return false;
      }
      nowDoing(Doing.WORKING);
    }
    lease.onLost(loss -> lost(own, loss));
    boolean failed = false;
    try {
      candidate.onElected(lease);
    } catch (Exception error) {
      failed = isLed(own);
      final boolean wasStopped = error instanceof InterruptedException || error instanceof LeaseLostException;
      if (failed || !wasStopped) report(error);
    } catch (Error broken) {
      lease.startRelease(); // this thread ends
      throw broken;
    }
    nowDoing(Doing.OTHERWISE);
    if (failed) resignQuietly();
    own.over().await();
    lease.startRelease(); // also of a lost lease: an extend without an answer may have prolonged it
    return failed;
  }

  private synchronized boolean isLed(Term own) {
    return term == own && own.lease().isHeld();
  }

  private void resignQuietly() throws InterruptedException {
    try {
      resign();
    } catch (LockException unanswered) {
      report(unanswered);
    }
  }

  private void lost(Term own, Loss loss) {
    synchronized (this) {
      if (term != own) return; // resigned
      term = null;
      stopWork();
    }
    try {
      candidate.onLost(new LeaseLostException(name, loss));
    } catch (RuntimeException error) {
      report(error);
    }
    own.over().countDown();
  }

  private void report(Exception error) {
    try {
      candidate.onError(error);
    } catch (RuntimeException another) {
      System.getLogger("io.lockkeeper").log(System.Logger.Level.WARNING, "onError of the leadership of " + name, another);
    }
  }
}
