// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.stub.ClientCallStreamObserver;
import io.lockkeeper.v1.AcquireRequest;
import io.lockkeeper.v1.AcquireResponse;
import io.lockkeeper.v1.SessionAdoptResult;
import io.lockkeeper.v1.SessionOpened;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionRequest;
import io.lockkeeper.v1.SessionResponse;
import io.lockkeeper.v1.SessionResult;
import io.lockkeeper.v1.SessionResults;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One session whose stream leads nowhere. */
class SessionTest {
  private static final Duration TTL = Duration.ofSeconds(10);

  /** Keeps what is written. */
  private static final class Written extends ClientCallStreamObserver<SessionRequest> {
    final Deque<SessionRequest> messages = new ArrayDeque<>();
    boolean ready = true;
    boolean completed;

    @Override
    public void onNext(SessionRequest message) {
      messages.add(message);
    }

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onCompleted() {
      completed = true;
    }

    @Override
    public boolean isReady() {
      return ready;
    }

    @Override
    public void setOnReadyHandler(Runnable handler) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}

    @Override
    public void cancel(String message, Throwable cause) {}
  }

  private final Timers timers = new Timers();
  private final Written written = new Written();
  private final ClientOptions options = ClientOptions.defaults();
  private final Daemon daemon = new Daemon("127.0.0.1:1", options, new Channels(options, timers), timers, null, () -> {});
  private final Session session = new Session(daemon, timers);

  @BeforeEach
  void open() {
    session.beforeStart(written);
    session.onNext(SessionResponse.newBuilder().setOpened(SessionOpened.getDefaultInstance()).build());
  }

  @AfterEach
  void close() {
    daemon.close();
    timers.close();
  }

  /** Sends the operation, and returns the message that carries it. */
  private SessionRequest send(Operation operation) {
    assertTrue(session.run(operation));
    return written.messages.removeLast();
  }

  private static Operation adoption() {
    return new Operation(Protos.extend("job", FakeDaemon.LEASE_ID, FakeDaemon.TOKEN, "", null), true);
  }

  private void hear(SessionResult.Builder result) {
    session.onNext(SessionResponse.newBuilder().setResults(SessionResults.newBuilder().addResults(result)).build());
  }

  /** Else the session is suspect once an operation is given up. */
  private void hearOfAnother() {
    hear(SessionResult.newBuilder());
  }

  private void hearOfTheAdoption() {
    session.onNext(
        SessionResponse.newBuilder()
            .setAdoptResult(
                SessionAdoptResult.newBuilder().setName("job").setLeaseId(FakeDaemon.LEASE_ID).setLease(FakeDaemon.lease(TTL)))
            .build());
  }

  private long forgotten() {
    return written.messages.stream().filter(SessionRequest::hasForget).count();
  }

  @Test
  void aClaimThatNobodyAwaitsIsForgotten() {
    final Operation claim = new Operation(Protos.extend("job", FakeDaemon.LEASE_ID, 0, "", null));
    send(claim);
    session.giveUp(claim);
    hear(FakeDaemon.extended(claim.id, TTL));
    assertEquals(1, forgotten());
  }

  @Test
  void aGrantThatOnlyTheGivenUpAskForIsForgotten() {
    final SessionOperation acquire =
        SessionOperation.newBuilder().setAcquire(AcquireRequest.newBuilder().setName("job").setLeaseId(FakeDaemon.LEASE_ID)).build();
    final Operation first = new Operation(acquire);
    final Operation second = new Operation(acquire);
    send(first);
    send(second);
    hearOfAnother();
    session.giveUp(first);
    session.giveUp(second);
    hear(SessionResult.newBuilder().setOperationId(first.id).setAcquire(AcquireResponse.newBuilder().setLease(FakeDaemon.lease(TTL))));
    assertEquals(1, forgotten());
  }

  @Test
  void aLeaseIsNotAdoptedAgainBeforeTheAnswer() {
    final Operation first = adoption();
    assertTrue(send(first).hasAdopt());
    hearOfAnother();
    session.giveUp(first);
    final Operation unsent = adoption();
    written.ready = false;
    assertTrue(session.run(unsent));
    session.giveUp(unsent);
    written.ready = true;
    final Operation second = adoption();
    assertTrue(send(second).hasBatch());
    assertFalse(second.adopts);

    hearOfTheAdoption();
    assertFalse(second.done.isDone());
    assertEquals(1, forgotten());
    hear(FakeDaemon.extended(second.id, TTL));
    assertTrue(second.done.isDone());

    final Operation third = adoption();
    assertTrue(send(third).hasAdopt());
    session.retire();
    assertFalse(written.completed);
    hearOfTheAdoption();
    assertTrue(third.done.isDone());
    assertTrue(written.completed);
  }
}
