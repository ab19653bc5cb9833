// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static io.lockkeeper.LeaderRulesTest.event;
import static io.lockkeeper.LeaderRulesTest.look;
import static io.lockkeeper.LeaderRulesTest.noRecord;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.lockkeeper.FakeDaemon.Call;
import io.lockkeeper.admin.v1.GetLockResponse;
import io.lockkeeper.admin.v1.LockEvent;
import io.lockkeeper.admin.v1.WatchLocksResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** By what a daemon says that the test speaks for, and against a real one. */
@Timeout(60)
class LeaderObserverTest {
  private FakeDaemon first;
  private FakeDaemon second;
  private LockClient client;
  private final BlockingQueue<LockException> unserved = new LinkedBlockingQueue<>();

  /** The first calls of a new JVM can take longer than a daemon has to answer. */
  @BeforeAll
  static void loadClasses() throws Exception {
    try (FakeDaemon daemon = new FakeDaemon();
        LockClient client = LockClient.create(ClientOptions.defaults().servers(daemon.address()))) {
      final Told told = new Told();
      client.observe("job", told);
      while (told.changes.isEmpty()) {
        final Call<WatchLocksResponse> watch = daemon.watches.poll(100, TimeUnit.MILLISECONDS);
        if (watch != null) tell(watch, event("STARTED", 0));
        final Call<GetLockResponse> look = daemon.looks.poll(100, TimeUnit.MILLISECONDS);
        if (look != null) answer(look, noRecord());
      }
    }
  }

  @BeforeEach
  void startDaemons() throws Exception {
    first = new FakeDaemon();
    second = new FakeDaemon();
    client =
        LockClient.create(ClientOptions.defaults().servers(first.address(), second.address()).onUnserved(unserved::add));
  }

  @AfterEach
  void stopDaemons() {
    client.close();
    first.close();
    second.close();
  }

  /** Keeps what it is told: of each change the token of the leader, 0 for none. */
  private static class Told implements LeaderListener {
    final BlockingQueue<Long> changes = new LinkedBlockingQueue<>();
    final BlockingQueue<Exception> errors = new LinkedBlockingQueue<>();

    @Override
    public void onChange(Optional<Leader> leader) {
      changes.add(tokenOf(leader));
    }

    @Override
    public void onError(Exception why) {
      errors.add(why);
    }

    void expect(long... tokens) throws InterruptedException {
      for (long token : tokens) assertEquals(token, next(changes));
    }

    LockException nextError() throws InterruptedException {
      return (LockException) next(errors);
    }

    void expectNoErrors() {
      assertTrue(errors.isEmpty(), errors::toString);
    }
  }

  private static long tokenOf(Optional<Leader> leader) {
    return leader.map(Leader::fencingToken).orElse(0L);
  }

  private static <T> T next(BlockingQueue<T> from) throws InterruptedException {
    final T got = from.poll(20, TimeUnit.SECONDS);
    assertNotNull(got, "in vain waited for it");
    return got;
  }

  private static void tell(Call<WatchLocksResponse> watch, LockEvent.Builder... events) {
    final WatchLocksResponse.Builder message = WatchLocksResponse.newBuilder();
    for (LockEvent.Builder event : events) message.addEvents(event);
    watch.say(message.build());
  }

  private static void answer(Call<GetLockResponse> look, GetLockResponse.Builder said) {
    look.say(said.build());
    look.end();
  }

  /** The next watch of the daemon, which has told that it has started, and whose look was answered. */
  private static Call<WatchLocksResponse> started(FakeDaemon daemon, GetLockResponse.Builder look) throws InterruptedException {
    final Call<WatchLocksResponse> watch = next(daemon.watches);
    tell(watch, event("STARTED", 0));
    answer(next(daemon.looks), look);
    return watch;
  }

  private static Exception refusal(Code code, String reason, Duration retryAfter) {
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(code.getNumber())
            .addDetails(Any.pack(ErrorInfo.newBuilder().setDomain("lockkeeper").setReason(reason).build()))
            .addDetails(Any.pack(RetryInfo.newBuilder().setRetryDelay(Protos.proto(retryAfter)).build()))
            .build());
  }

  private static void untilEnded(String name) throws InterruptedException {
    final List<Thread> left = new ArrayList<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("lockkeeper-observe-" + name)) left.add(thread);
    }
    for (Thread thread : left) {
      thread.join(20_000);
      assertFalse(thread.isAlive(), "the thread of the observer has not ended");
    }
  }

  @Test
  void itLooksAndThenHearsOfChanges() throws Exception {
    final Told told = new Told();
    final LeaderObserver observer = client.observe("job", told);
    final Call<WatchLocksResponse> watch = next(first.watches);
    assertEquals("job", watch.name);
    assertTrue(first.looks.isEmpty());
    assertTrue(observer.leader().isEmpty());
    tell(watch, event("STARTED", 0));
    final Call<GetLockResponse> look = next(first.looks);
    assertEquals("job", look.name);
    answer(look, look("HELD", 7));
    told.expect(7);
    assertEquals(Optional.of(new Leader(7, "owner 7", "")), observer.leader());
    tell(watch, event("WAITING", 0), event("RELEASED", 7), event("OFFERED", 8), event("GRANTED", 8));
    told.expect(0, 8);
    tell(watch, event("GAP", 0));
    answer(next(first.looks), noRecord());
    told.expect(0);
    assertTrue(observer.leader().isEmpty());
    told.expectNoErrors();
  }

  @Test
  void aLookThatIsOvertakenIsRepeated() throws Exception {
    final Told told = new Told();
    client.observe("job", told);
    final Call<WatchLocksResponse> watch = next(first.watches);
    tell(watch, event("STARTED", 0));
    final Call<GetLockResponse> look = next(first.looks);
    tell(watch, event("GRANTED", 8));
    told.expect(8);
    answer(look, look("HELD", 7));
    answer(next(first.looks), look("HELD", 9));
    told.expect(9);
    told.expectNoErrors();
  }

  @Test
  void aStreamThatEndsGoesOnAtTheNextAddress() throws Exception {
    final Told told = new Told();
    final LeaderObserver observer = client.observe("job", told);
    Call<WatchLocksResponse> watch = started(first, look("HELD", 7));
    told.expect(7);
    watch.end(); // without an error
    final LockException ended = told.nextError();
    assertEquals(Status.Code.UNAVAILABLE, ended.code());
    assertSame(ended, next(unserved));
    watch = next(second.watches);
    assertEquals(7, tokenOf(observer.leader()), "it stays");
    tell(watch, event("STARTED", 0));
    answer(next(second.looks), look("HELD", 7));
    tell(watch, event("GRANTED", 8));
    told.expect(8);
    watch.fail(Status.CANCELLED.asException()); // as a server that ends says it
    assertEquals(Status.Code.UNAVAILABLE, told.nextError().code());
    started(first, look("ENDED", 8)); // after the last address comes the first
    told.expect(0);
    told.expectNoErrors();
  }

  @Test
  void anErrorThatIsOnlyAboutWatchingMovesNothingElse() throws Exception {
    final Told told = new Told();
    client.observe("job", told);
    next(first.watches).fail(refusal(Code.RESOURCE_EXHAUSTED, "RATE_LIMIT", Duration.ZERO));
    assertEquals("RATE_LIMIT", told.nextError().reason());
    started(second, look("HELD", 7));
    told.expect(7);
    assertEquals(0, client.daemons().current());
    assertTrue(unserved.isEmpty());
  }

  @Test
  void aRefusalIsToldAndRetriedAfterItsDelay() throws Exception {
    final Told told = new Told();
    client.observe("job", told);
    next(first.watches).fail(refusal(Code.PERMISSION_DENIED, "PERMISSION_DENIED", Duration.ofMillis(300)));
    assertEquals("PERMISSION_DENIED", told.nextError().reason());
    final long refused = Ticks.now();
    final Call<WatchLocksResponse> watch = next(second.watches);
    assertTrue(Ticks.now() - refused > 290 * Ticks.MILLISECOND);
    tell(watch, event("STARTED", 0));
    next(second.looks).fail(refusal(Code.UNAVAILABLE, "STORE_UNAVAILABLE", Duration.ZERO));
    assertEquals("STORE_UNAVAILABLE", told.nextError().reason());
    watch.expectGone();
    started(first, look("HELD", 7));
    told.expect(7);
    told.expectNoErrors();
  }

  @Test
  void delaysGrowUntilALookIsAnswered() throws Exception {
    final Told told = new Told();
    final LockClient other = LockClient.create(ClientOptions.defaults().servers(first.address()));
    other.observe("job", told);
    next(first.watches).end();
    long ended = 0;
    for (int failure = 2; failure <= 4; ++failure) {
      told.nextError();
      final Call<WatchLocksResponse> again = next(first.watches);
      ended = Ticks.now();
      again.end();
    }
    told.nextError();
    Call<WatchLocksResponse> watch = next(first.watches);
    assertTrue(Ticks.now() - ended >= 200 * Ticks.MILLISECOND, "half of 400 ms");
    watch.end();
    told.nextError();
    watch = started(first, look("HELD", 7));
    told.expect(7);
    watch.end();
    told.nextError();
    final long begun = Ticks.now();
    for (int failure = 2; failure <= 4; ++failure) {
      next(first.watches).end();
      told.nextError();
    }
    assertTrue(Ticks.now() - begun < 1_500 * Ticks.MILLISECOND, "three times half of 1 s, if they did not begin anew");
    other.close();
  }

  @Test
  void aSilentDaemonIsLeft() throws Exception {
    final Told told = new Told();
    client.observe("job", told);
    Call<WatchLocksResponse> watch = next(first.watches); // which never starts
    Call<GetLockResponse> look = next(first.looks); // which has no answer
    assertTrue(told.nextError().isNoAnswer());
    look.expectGone();
    watch.expectGone();

    watch = next(second.watches);
    tell(watch, event("STARTED", 0));
    look = next(second.looks); // which has no answer
    final long asked = Ticks.now();
    tell(watch, event("GRANTED", 7)); // that the stream is well changes nothing
    told.expect(7);
    assertEquals(Status.Code.DEADLINE_EXCEEDED, told.nextError().code());
    assertTrue(Ticks.now() - asked > 2_900 * Ticks.MILLISECOND);
    look.expectGone();
    watch.expectGone();
    started(first, look("HELD", 8));
    told.expect(8);
  }

  @Test
  void callsComeOneAfterTheOtherAndInOrder() throws Exception {
    final CountDownLatch entered = new CountDownLatch(1);
    final CountDownLatch leave = new CountDownLatch(1);
    final AtomicInteger running = new AtomicInteger();
    final AtomicInteger overlaps = new AtomicInteger();
    final Told told =
        new Told() {
          @Override
          public void onChange(Optional<Leader> leader) {
            if (running.incrementAndGet() != 1) overlaps.incrementAndGet();
            if (tokenOf(leader) == 1) {
              entered.countDown();
              await(leave);
            }
            super.onChange(leader);
            running.decrementAndGet();
          }
        };
    final LeaderObserver observer = client.observe("job", told);
    final Call<WatchLocksResponse> watch = started(first, look("HELD", 1));
    await(entered);
    assertEquals(1, tokenOf(observer.leader()));
    for (long token = 2; token <= 100; ++token) tell(watch, event("RELEASED", token - 1), event("GRANTED", token));
    assertTrue(told.changes.isEmpty());
    leave.countDown();
    told.expect(1);
    for (long token = 2; token <= 100; ++token) told.expect(0, token);
    assertEquals(0, overlaps.get());
    told.expectNoErrors();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(20, TimeUnit.SECONDS));
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  @Test
  void whatListenersThrowIsToldAndTheyAreCalledAgain() throws Exception {
    final RuntimeException ours = new RuntimeException("ours");
    final Told told =
        new Told() {
          @Override
          public void onChange(Optional<Leader> leader) {
            super.onChange(leader);
            Thread.currentThread().interrupt(); // nor does this end it
            throw ours;
          }

          @Override
          public void onError(Exception why) {
            super.onError(why);
            throw new IllegalStateException("goes to the log");
          }
        };
    client.observe("job", told);
    final Call<WatchLocksResponse> watch = started(first, look("HELD", 7));
    told.expect(7);
    assertSame(ours, next(told.errors));
    tell(watch, event("RELEASED", 7));
    told.expect(0);
    assertSame(ours, next(told.errors));
    told.expectNoErrors();
  }

  private enum Phase {
    OPENING,
    LOOKING,
    LISTENING,
    PAUSING
  }

  private List<Call<?>> reach(Phase phase, Told told) throws InterruptedException {
    switch (phase) {
      case LOOKING -> {
        final Call<WatchLocksResponse> watch = next(first.watches);
        tell(watch, event("STARTED", 0));
        return List.of(watch, next(first.looks));
      }
      case LISTENING -> {
        final Call<WatchLocksResponse> watch = started(first, look("HELD", 7));
        told.expect(7);
        return List.of(watch);
      }
      case PAUSING -> {
        next(first.watches).fail(refusal(Code.PERMISSION_DENIED, "PERMISSION_DENIED", Duration.ofHours(1)));
        told.nextError();
        return List.of();
      }
      default -> {
        return List.of(next(first.watches));
      }
    }
  }

  private void expectNothingLeft(String name, Told told, List<Call<?>> calls) throws InterruptedException {
    for (Call<?> call : calls) call.expectGone();
    untilEnded(name);
    told.expectNoErrors();
    assertTrue(told.changes.isEmpty());
    assertTrue(first.watches.isEmpty() && first.looks.isEmpty() && second.watches.isEmpty(), "it went on");
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void aClosedOneLeavesNothingBehind(Phase phase) throws Exception {
    final Told told = new Told();
    final LeaderObserver observer = client.observe("closed/" + phase, told);
    final List<Call<?>> calls = reach(phase, told);
    observer.close();
    observer.close();
    expectNothingLeft("closed/" + phase, told, calls);
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void theClientEndsItsObservers(Phase phase) throws Exception {
    final Told told = new Told();
    client.observe("by client/" + phase, told);
    final List<Call<?>> calls = reach(phase, told);
    client.close();
    expectNothingLeft("by client/" + phase, told, calls);
    assertThrows(LockException.class, () -> client.observe("job", told));
  }

  @Test
  void itMayBeClosedWhileItTells() throws Exception {
    final CompletableFuture<LeaderObserver> observer = new CompletableFuture<>();
    final CountDownLatch entered = new CountDownLatch(1);
    final CountDownLatch leave = new CountDownLatch(1);
    final Told told =
        new Told() {
          @Override
          public void onChange(Optional<Leader> leader) {
            super.onChange(leader);
            observer.join().close(); // by what it tells
            entered.countDown();
            await(leave);
          }
        };
    observer.complete(client.observe("while it tells", told));
    final Call<WatchLocksResponse> watch = next(first.watches);
    tell(watch, event("GRANTED", 7), event("GRANTED", 8));
    await(entered);
    observer.join().close(); // does not wait for it
    watch.expectGone();
    leave.countDown();
    untilEnded("while it tells");
    told.expect(7);
    assertTrue(told.changes.isEmpty());
    assertEquals(7, tokenOf(observer.join().leader()));
  }

  @Test
  void aNameIsNeeded() {
    assertEquals("name", assertThrows(LockException.class, () -> client.observe("", new Told())).field());
  }

  /** The daemon is the one that LOCKKEEPERD names: check.sh says how. */
  @Test
  void itFollowsTheLeadersOfARealDaemon(@TempDir Path data) throws Exception {
    try (DaemonProcess daemon = new DaemonProcess(data);
        LockClient real = LockClient.create(ClientOptions.defaults().servers(daemon.address()).owner("10.0.0.7:8080"))) {
      final Told told = new Told();
      final LeaderObserver observer = real.observe("job", told);
      told.expect(0);
      final BlockingQueue<Long> terms = new LinkedBlockingQueue<>();
      final AcquireOptions how = AcquireOptions.defaults().ttl(Duration.ofSeconds(5));
      final Leadership leads = real.lead("job", how, lease -> terms.add(lease.fencingToken()));
      final long term = next(terms);
      told.expect(term);
      assertEquals("10.0.0.7:8080", observer.leader().orElseThrow().owner());
      real.lead("job", how, lease -> terms.add(lease.fencingToken()));
      leads.close();
      final long later = next(terms);
      long last = next(told.changes);
      while (last != later) { // between them nobody may lead
        assertEquals(0, last);
        last = next(told.changes);
      }
      told.expectNoErrors();
    }
  }
}
