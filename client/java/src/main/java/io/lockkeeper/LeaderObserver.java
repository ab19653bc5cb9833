// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.Context;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.LockEvent;
import io.lockkeeper.admin.v1.WatchLocksRequest;
import io.lockkeeper.admin.v1.WatchLocksResponse;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Knows who holds a lock, a little late, until it is closed. Thread-safe. */
public final class LeaderObserver implements AutoCloseable {
  /** What a stream or a look has brought; one of them is there. */
  private record Received(@Nullable WatchLocksResponse events, @Nullable GetLockResponse looked, @Nullable LockException error) {}

  private final LockClient client;
  private final String name;
  private final LeaderListener listener;
  private final Thread thread = new Thread(this::run);
  private final Context.CancellableContext context = Context.ROOT.withCancellation(); // of all calls
  private final CountDownLatch closed = new CountDownLatch(1);
  private final LeaderRules rules = new LeaderRules(); // for the thread

  private @Nullable Leader leader; // guarded by this

  LeaderObserver(LockClient client, String name, LeaderListener listener) {
    this.client = client;
    this.name = name;
    this.listener = listener;
    thread.setName("lockkeeper-observe-" + name);
    thread.setDaemon(true);
  }

  void begin() {
    thread.start();
  }

  /** The last one known. Empty: nobody leads, or it is not known yet. */
  public synchronized Optional<Leader> leader() {
    return Optional.ofNullable(leader);
  }

  /** Ends the observer. Does not wait for {@link LeaderListener#onChange}, but none begins any more. */
  @Override
  public void close() {
    synchronized (this) {
      closed.countDown();
    }
    context.cancel(null);
    client.forget(this);
  }

  private boolean isClosed() {
    return closed.getCount() == 0;
  }

  private void run() {
    final Daemons daemons = client.daemons();
    int number = daemons.current();
    int failures = 0;
    try {
      while (true) {
        final Watch watch = new Watch(daemons.get(number));
        final LockException error = watch.run();
        if (isClosed()) return;
        failures = watch.looked ? 1 : failures + 1;
        if (error.isNoAnswer()) daemons.failed(number, error);
        report(error);
        // A number of its own: an error that is only about watching is no reason for everything else to move on.
        number = (number + 1) % daemons.size();
        final long delay =
            Math.max(Ticks.backoff(failures, Ticks.BACKOFF_MAX, Ticks.jitter()), error.retryDelay().toNanos());
        if (closed.await(delay, TimeUnit.NANOSECONDS)) return;
      }
    } catch (InterruptedException impossible) {
      // Nobody else has the thread.
    } finally {
      close();
    }
  }

  /** One stream, with its looks. */
  private final class Watch {
    private final Daemon daemon;
    private final BlockingQueue<Received> inbox = new LinkedBlockingQueue<>();
    private final Context.CancellableContext calls = context.withCancellation();
    private @Nullable ClientCallStreamObserver<WatchLocksRequest> stream;
    boolean looked; // a look was answered

    Watch(Daemon daemon) {
      this.daemon = daemon;
    }

    /** Returns why it is over, which is anything once the observer is closed. */
    LockException run() throws InterruptedException {
      try {
        rules.begin(Ticks.now());
        calls.run(() -> daemon.watch(name, new Events()));
        while (true) {
          if (rules.mustLook(Ticks.now())) {
            rules.look(Ticks.now());
            calls.run(() -> daemon.look(name, RetryRule.TRY_TIMEOUT, new Look()));
          }
          final Received got = inbox.poll(rules.lookAt() - Ticks.now(), TimeUnit.NANOSECONDS);
          if (got != null && got.error() != null) return got.error();
          if (got != null) take(got);
        }
      } finally {
        calls.cancel(null); // the stream, and the look in flight
      }
    }

    private void take(Received got) {
      if (got.looked() != null) {
        looked = true;
        if (rules.looked(Ticks.now(), got.looked())) tell();
      }
      if (got.events() != null) {
        for (LockEvent event : got.events().getEventsList()) {
          if (rules.event(Ticks.now(), event)) tell();
        }
        if (stream != null) stream.request(1);
      }
    }

    /** Asks for the next message once this one is told, so that nothing piles up here: the daemon drops what is too much, and says so. */
    private final class Events implements ClientResponseObserver<WatchLocksRequest, WatchLocksResponse> {
      @Override
      public void beforeStart(ClientCallStreamObserver<WatchLocksRequest> call) {
        stream = call;
        call.disableAutoRequestWithInitial(1);
      }

      @Override
      public void onNext(WatchLocksResponse message) {
        inbox.add(new Received(message, null, null));
      }

      @Override
      public void onError(Throwable error) {
        inbox.add(new Received(null, null, LockException.ofCall(error, daemon.address())));
      }

      @Override
      public void onCompleted() { // no daemon ends a watch well
        inbox.add(new Received(null, null, LockException.unavailable("", daemon.address() + " ended the watch")));
      }
    }

    private final class Look implements StreamObserver<GetLockResponse> {
      @Override
      public void onNext(GetLockResponse answer) {
        inbox.add(new Received(null, answer, null));
      }

      @Override
      public void onError(Throwable error) {
        inbox.add(new Received(null, null, LockException.ofCall(error, daemon.address())));
      }

      @Override
      public void onCompleted() {}
    }
  }

  private void tell() {
    if (!mayTell()) return;
    try {
      listener.onChange(leader());
    } catch (RuntimeException error) {
      report(error);
    }
    Thread.interrupted(); // whatever it did with this thread
  }

  private void report(Exception error) {
    if (!mayTell()) return;
    try {
      listener.onError(error);
    } catch (RuntimeException another) {
      System.getLogger("io.lockkeeper").log(System.Logger.Level.WARNING, "onError of the observer of " + name, another);
    }
    Thread.interrupted();
  }

  /** Not after a close. What is told is the leader now. */
  private synchronized boolean mayTell() {
    if (isClosed()) return false;
    leader = rules.leader();
    return true;
  }
}
