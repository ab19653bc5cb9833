// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.StreamObserver;
import io.lockkeeper.admin.v1.AdminServiceGrpc;
import io.lockkeeper.admin.v1.GetLockRequest;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.WatchLocksRequest;
import io.lockkeeper.admin.v1.WatchLocksResponse;
import io.lockkeeper.v1.LockServiceGrpc;
import io.lockkeeper.v1.LockServiceGrpc.LockServiceFutureStub;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One daemon. It has four connections: acquires may stand in line for minutes, and extends and releases must not queue behind them. They
 * are opened when they are first used. Thread-safe.
 */
final class Daemon {
  /** How long a deadline of gRPC may come after the one that the caller waits for. */
  private static final long DEADLINE_SLACK = 100 * Ticks.MILLISECOND;

  private static final long CLOSING_TIMEOUT_MS = 200; // of a session: only the daemon's log depends on it

  private final String address;
  private final ClientOptions options;
  private final Timers timers;
  private final @Nullable TokenFile token;
  private final Runnable moveOn;
  private final ManagedChannel sessions;
  private final ManagedChannel acquires;
  private final ManagedChannel others; // Extend, Release, Fence
  private final ManagedChannel watches;

  private final SessionPolicy policy = new SessionPolicy(); // guarded by this, as all below
  private final List<Session> links = new ArrayList<>(); // all that have not ended
  private @Nullable Session link; // in use
  private int tokenVersion; // that link was opened with
  private boolean closed;

  Daemon(String address, ClientOptions options, Channels channels, Timers timers, @Nullable TokenFile token, Runnable moveOn) {
    this.address = address;
    this.options = options;
    this.timers = timers;
    this.token = token;
    this.moveOn = moveOn;
    sessions = channels.open(address);
    acquires = channels.open(address);
    others = channels.open(address);
    watches = channels.open(address);
  }

  /** Starts the operation, in a session or by a unary call. */
  void run(Operation operation, long timeout) {
    if (Session.canCarry(operation)) {
      final Session session = session();
      if (session != null && session.run(operation)) {
        return;
      }
    }
    runUnary(operation, timeout);
  }

  /** Runs the operation and waits for its answer. */
  Operation.Answer await(Supplier<Operation> make, long timeout) throws InterruptedException {
    final long until = Ticks.now() + timeout;
    Operation operation = make.get();
    run(operation, timeout);
    try {
      Operation.Answer answer = operation.done.get(timeout + DEADLINE_SLACK, TimeUnit.NANOSECONDS);
      if (answer.error() == Session.NOT_SENT) {
        operation = make.get();
        runUnary(operation, Math.max(Ticks.MILLISECOND, until - Ticks.now()));
        answer = operation.done.get(Math.max(0, until - Ticks.now()) + DEADLINE_SLACK, TimeUnit.NANOSECONDS);
      }
      return answer;
    } catch (TimeoutException late) {
      giveUp(operation);
      return new Operation.Answer(null, LockException.late(), currentLink(), operation.sentAt);
    } catch (InterruptedException interrupted) {
      giveUp(operation);
      throw interrupted;
    } catch (ExecutionException impossible) { // an operation is only completed with an answer
      throw new IllegalStateException(impossible);
    }
  }

  private void giveUp(Operation operation) {
    final List<Session> all;
    synchronized (this) {
      all = new ArrayList<>(links);
    }
    for (Session session : all) session.giveUp(operation);
    operation.cancel.run();
  }

  private synchronized @Nullable Session currentLink() {
    return link;
  }

  /** Answers the operation by `done` if it is not answered before the timeout. */
  void runWithin(Operation operation, long timeout, Consumer<Operation.Answer> done) {
    run(operation, timeout);
    final var timer =
        timers.at(
            Ticks.now() + timeout,
            () -> {
              giveUp(operation);
              operation.fail(LockException.late(), null);
            });
    operation.done.thenAccept(
        answer -> {
          timer.cancel(false);
          done.accept(
              answer.error() == Session.NOT_SENT
                  ? new Operation.Answer(null, LockException.unavailable("", "the session ended"), null, answer.sent())
                  : answer);
        });
  }

  private void runUnary(Operation operation, long timeout) {
    final SessionOperation request = operation.request;
    operation.sentAt = Ticks.now();
    final SessionResult.Builder result = SessionResult.newBuilder();
    switch (request.getOperationCase()) {
      case ACQUIRE -> {
        if (request.getAcquire().getConfirm()) others.getState(true); // an offer has to be claimed soon
        call(operation, stub(acquires, timeout, request).acquire(request.getAcquire()), result::setAcquire, result);
      }
      case EXTEND -> call(operation, stub(others, timeout, request).extend(request.getExtend()), result::setExtend, result);
      case RELEASE -> call(operation, stub(others, timeout, request).release(request.getRelease()), result::setRelease, result);
      case FENCE -> call(operation, stub(others, timeout, request).fence(request.getFence()), result::setFence, result);
      default -> throw new IllegalStateException("an empty operation");
    }
  }

  private LockServiceFutureStub stub(ManagedChannel channel, long timeout, SessionOperation request) {
    connectNow(channel);
    final LockServiceFutureStub stub = withToken(LockServiceGrpc.newFutureStub(channel));
    return TraceContext.pass(request, stub).withDeadlineAfter(timeout, TimeUnit.NANOSECONDS);
  }

  private <S extends AbstractStub<S>> S withToken(S stub) {
    return token == null ? stub : stub.withCallCredentials(token);
  }

  /** Ends gRPC's pause after a failed attempt to connect: it grows to two minutes, longer than any lease. */
  private static void connectNow(ManagedChannel channel) {
    if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) channel.resetConnectBackoff();
  }

  private <T> void call(
      Operation operation, ListenableFuture<T> answer, Function<T, SessionResult.Builder> put, SessionResult.Builder result) {
    operation.cancel = () -> answer.cancel(true);
    answer.addListener(
        () -> {
          try {
            put.apply(answer.get());
            operation.answer(result.build(), null);
          } catch (ExecutionException failed) {
            operation.fail(LockException.ofCall(failed.getCause(), address), null);
          } catch (InterruptedException | CancellationException cancelled) {
            operation.fail(LockException.late(), null);
          }
        },
        Runnable::run);
  }

  /** The session to use; opens one if the policy allows it. Null if there is none at the moment. */
  @Nullable Session session() {
    if (!options.sessions) return null;
    final int version = token == null ? 0 : token.version();
    Session outdated = null;
    Session fresh = null;
    final Session found;
    synchronized (this) {
      if (link != null && tokenVersion != version) { // a session keeps the token that it was opened with
        outdated = link;
        link = null;
      }
      tokenVersion = version;
      if (link == null && !closed && policy.mayOpen(Ticks.now())) {
        fresh = new Session(this, timers);
        link = fresh;
        links.add(fresh);
      }
      found = link != null && (policy.mayWait() || link.isOpen()) ? link : null;
    }
    if (outdated != null) outdated.retire();
    if (fresh != null) fresh.open(options.owner);
    return found;
  }

  void beginSession(Session session) {
    connectNow(sessions);
    withToken(LockServiceGrpc.newStub(sessions)).session(session);
  }

  String address() {
    return address;
  }

  /** Hears of one lock until the context of the call ends. */
  void watch(String name, StreamObserver<WatchLocksResponse> events) {
    connectNow(watches);
    withToken(AdminServiceGrpc.newStub(watches)).watchLocks(WatchLocksRequest.newBuilder().setName(name).build(), events);
  }

  /** Looks at one lock. */
  void look(String name, long timeout, StreamObserver<GetLockResponse> answer) {
    withToken(AdminServiceGrpc.newStub(watches)).withDeadlineAfter(timeout, TimeUnit.NANOSECONDS)
        .getLock(GetLockRequest.newBuilder().setName(name).build(), answer);
  }

  /** The next operation opens a new session, here if there is no other daemon. */
  void onDraining(Session session) {
    moveOn.run();
    synchronized (this) {
      if (link == session) link = null;
    }
    session.retire();
  }

  synchronized void onOpened(Session session) {
    if (link == session) policy.opened(Ticks.now());
  }

  synchronized void onEnded(Session session, SessionPolicy.End how) {
    policy.ended(how, Ticks.now(), Ticks.jitter());
    links.remove(session);
    if (link == session) link = null;
  }

  /** Ends the sessions, cleanly where the daemon answers soon, and the connections. */
  void close() {
    final List<Session> all;
    synchronized (this) {
      closed = true;
      all = new ArrayList<>(links);
    }
    final long until = Ticks.now() + CLOSING_TIMEOUT_MS * Ticks.MILLISECOND;
    for (Session session : all) {
      if (session.close()) {
        try {
          session.ended.get(Math.max(0, until - Ticks.now()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | ExecutionException slow) {
          session.breakOff();
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          session.breakOff();
        }
      } else {
        session.breakOff();
      }
    }
    for (ManagedChannel channel : List.of(sessions, acquires, others, watches)) channel.shutdownNow();
  }
}
