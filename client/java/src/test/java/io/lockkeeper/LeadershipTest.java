// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against a real daemon, which LOCKKEEPERD names: check.sh says how. */
@Timeout(60)
class LeadershipTest {
  private static DaemonProcess daemon;
  private static LockClient client;

  @BeforeAll
  static void startDaemon(@TempDir Path data) throws Exception {
    daemon = new DaemonProcess(data);
    client = newClient();
  }

  private static LockClient newClient() {
    return LockClient.create(ClientOptions.defaults().servers(daemon.address()));
  }

  @AfterAll
  static void stopDaemon() throws Exception {
    if (client != null) client.close();
    daemon.close();
  }

  private interface Work {
    void run() throws Exception;
  }

  /** Keeps what it is told. */
  private static final class Told implements Candidate {
    final BlockingQueue<Lease> terms = new LinkedBlockingQueue<>();
    final BlockingQueue<LeaseLostException> losses = new LinkedBlockingQueue<>();
    final BlockingQueue<Exception> errors = new LinkedBlockingQueue<>();
    private final Work work;

    Told(Work work) {
      this.work = work;
    }

    @Override
    public void onElected(Lease lease) throws Exception {
      terms.add(lease);
      work.run();
    }

    @Override
    public void onLost(LeaseLostException why) {
      losses.add(why);
    }

    @Override
    public void onError(Exception why) {
      errors.add(why);
    }

    Leadership lead(LockClient of, String name, int seconds) {
      return of.lead(name, AcquireOptions.defaults().ttl(Duration.ofSeconds(seconds)), this);
    }

    void expectQuiet() {
      assertTrue(losses.isEmpty(), () -> losses.toString());
      assertTrue(errors.isEmpty(), () -> errors.toString());
    }
  }

  private static <T> T next(BlockingQueue<T> from) throws InterruptedException {
    final T got = from.poll(20, TimeUnit.SECONDS);
    assertNotNull(got, "in vain waited for it");
    return got;
  }

  private static void untilInLine(String name) throws InterruptedException {
    while (true) {
      final NotAcquiredException held =
          assertThrows(NotAcquiredException.class, () -> client.acquireOrThrow(name, AcquireOptions.defaults()));
      if (held.waiters() > 0) return;
      Thread.sleep(10); // between two looks
    }
  }

  private static Lease whenFree(String name) throws InterruptedException {
    return client.acquireOrThrow(name, AcquireOptions.defaults().waitTimeout(Duration.ofSeconds(10)));
  }

  @Test
  void theNextInLineTakesOverWhenTheLeaderResigns() throws Exception {
    final CountDownLatch interrupted = new CountDownLatch(1);
    final Told toldFirst =
        new Told(
            () -> {
              try {
                Thread.sleep(60_000);
              } catch (InterruptedException end) {
                interrupted.countDown();
                throw end;
              }
            });
    final Leadership first = toldFirst.lead(client, "service", 5);
    final Lease lease = next(toldFirst.terms);
    assertEquals(lease.fencingToken(), first.term());
    final Told toldSecond = new Told(() -> {});
    final Leadership second = toldSecond.lead(client, "service", 5);
    untilInLine("service");
    first.resign();
    assertTrue(interrupted.await(10, TimeUnit.SECONDS));
    final Lease later = next(toldSecond.terms);
    assertTrue(later.fencingToken() > lease.fencingToken());
    assertFalse(lease.isHeld());
    assertTrue(second.isLeader());
    second.close();
    next(toldFirst.terms); // it has campaigned again
    first.close();
    toldFirst.expectQuiet();
    toldSecond.expectQuiet();
    whenFree("service").close();
  }

  @Test
  void aLossIsToldAndTermsDoNotOverlap() throws Exception {
    final CountDownLatch endWork = new CountDownLatch(1);
    final Told told =
        new Told(
            () -> {
              while (true) {
                try {
                  endWork.await();
                  return;
                } catch (InterruptedException stubborn) {
                  // It takes its time.
                }
              }
            });
    final Leadership leadership = told.lead(client, "lost", 1);
    client.release("lost", next(told.terms).leaseId());
    assertEquals(Loss.Cause.LEASE_LOST, next(told.losses).loss().cause());
    assertFalse(leadership.isLeader());
    whenFree("lost").close();
    assertTrue(told.terms.isEmpty());
    endWork.countDown();
    next(told.terms);
    leadership.close();
    told.expectQuiet();
  }

  @Test
  void whoFailsAsLeaderResignsAndTriesAgainAfterOneTtl() throws Exception {
    final Exception ours = new Exception("ours");
    final Told told =
        new Told(
            () -> {
              throw ours;
            });
    final Leadership failing = told.lead(client, "failing", 3);
    assertEquals(ours, next(told.errors));
    final long failed = System.nanoTime();
    final Told toldOther = new Told(() -> {});
    final Leadership other = toldOther.lead(client, "failing", 5);
    next(toldOther.terms);
    other.close();
    next(told.errors);
    assertTrue(System.nanoTime() - failed > 2_500_000_000L);
    failing.close();
    assertTrue(told.losses.isEmpty());
  }

  @Test
  void errorsOfTheCampaignAreToldAndItGoesOn() throws Exception {
    final Told told = new Told(() -> {});
    final Leadership leadership = told.lead(client, "x".repeat(513), 5);
    for (int i = 0; i < 2; ++i) assertEquals("name", ((LockException) next(told.errors)).field());
    leadership.close();
    final AcquireOptions waits = AcquireOptions.defaults().waitTimeout(Duration.ofSeconds(1));
    assertEquals("wait_timeout", assertThrows(LockException.class, () -> client.lead("x", waits, told)).field());
  }

  @Test
  void closingTheClientEndsTermsAndCampaigns() throws Exception {
    final LockClient other = newClient();
    final Told leads = new Told(() -> {});
    leads.lead(other, "closing", 30);
    final Lease lease = next(leads.terms);
    final Told waits = new Told(() -> {});
    waits.lead(other, "closing", 30);
    untilInLine("closing");
    other.close();
    assertFalse(lease.isHeld());
    whenFree("closing").close();
    leads.expectQuiet();
    waits.expectQuiet();
    assertNull(waits.terms.poll());
    assertThrows(LockException.class, () -> waits.lead(other, "closing", 30));
  }
}
