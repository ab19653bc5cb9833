// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against a real daemon, which LOCKKEEPERD names: check.sh says how. */
@Timeout(60)
class LockClientTest {
  private static DaemonProcess daemon;
  private static LockClient client;

  @BeforeAll
  static void startDaemon(@TempDir Path data) throws IOException {
    daemon = new DaemonProcess(data);
    client = LockClient.create(options());
  }

  private static ClientOptions options() {
    return ClientOptions.defaults().servers(daemon.address()).owner("me");
  }

  @AfterAll
  static void stopDaemon() throws InterruptedException {
    if (client != null) client.close();
    daemon.close();
  }

  @Test
  void withLockRunsOnceAndReleases() throws Exception {
    final long first =
        client.withLock(
            "with", AcquireOptions.defaults(),
            lease -> {
              assertTrue(client.acquire("with", AcquireOptions.defaults()).isEmpty());
              final NotAcquiredException contention =
                  assertThrows(NotAcquiredException.class, () -> client.acquireOrThrow("with", AcquireOptions.defaults()));
              assertEquals(NotAcquiredException.Why.HELD, contention.why());
              assertEquals("me", contention.holderOwner());
              return lease.fencingToken();
            });
    final IOException ours = new IOException("ours");
    final IOException thrown =
        assertThrows(
            IOException.class,
            () -> client.withLock("with", AcquireOptions.defaults(), lease -> {
              throw ours;
            }));
    assertEquals(ours, thrown);
    try (Lease lease = client.acquireOrThrow("with", AcquireOptions.defaults())) {
      assertTrue(lease.fencingToken() > first);
      assertFalse(lease.previousLeaseExpired());
    }
  }

  @Test
  void aReleaseThatFailsHidesNoErrorOfTheWork(@TempDir Path data) throws Exception {
    final IOException ours = new IOException("ours");
    try (DaemonProcess own = new DaemonProcess(data);
        LockClient other =
            LockClient.create(
                ClientOptions.defaults().servers(own.address()).releaseTimeout(Duration.ofMillis(100)))) {
      final IOException thrown =
          assertThrows(
              IOException.class,
              () -> other.withLock("with", AcquireOptions.defaults(), lease -> {
                own.close();
                throw ours;
              }));
      assertEquals(ours, thrown);
    }
  }

  @Test
  void aLostLeaseIsTold() throws Exception {
    final CountDownLatch told = new CountDownLatch(1);
    final LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () ->
                client.withLock(
                    "lost", AcquireOptions.defaults().ttl(Duration.ofSeconds(2)),
                    lease -> {
                      lease.onLost(loss -> told.countDown());
                      final Process forced =
                          new ProcessBuilder(
                                  System.getenv("LOCKKEEPER"), "--server", daemon.address(), "force-release", "lost", "--reason", "test",
                                  "--now")
                              .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
                      assertEquals(0, forced.waitFor());
                      return lease.lost().get(20, TimeUnit.SECONDS);
                    }));
    assertEquals(Loss.Cause.LEASE_LOST, lost.loss().cause());
    assertTrue(told.await(10, TimeUnit.SECONDS));
  }

  @Test
  void aReleasedLeaseIsNotLost() throws Exception {
    final Lease lease = client.acquireOrThrow("released", AcquireOptions.defaults());
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    assertEquals(ReleaseOutcome.RELEASED, lease.release());
    lease.close();
    assertFalse(lease.isHeld());
    assertFalse(lease.lost().isDone());
    assertEquals(Duration.ZERO, lease.remaining());
    assertThrows(LockException.class, lease::detach);
  }

  @Test
  void anInterruptedAcquireLeavesTheLine() throws Exception {
    try (Lease lease = client.acquireOrThrow("interrupted", AcquireOptions.defaults())) {
      final Thread waiter =
          new Thread(
              () ->
                  assertThrows(
                      InterruptedException.class,
                      () -> client.acquire("interrupted", AcquireOptions.defaults().waitTimeout(Duration.ofMinutes(1)))));
      waiter.start();
      waiter.interrupt();
      waiter.join(10_000);
      assertFalse(waiter.isAlive());
      lease.release();
    }
    assertTrue(client.acquire("interrupted", AcquireOptions.defaults().waitTimeout(Duration.ofSeconds(5))).isPresent());
  }

  @Test
  void manyLeasesAreKept() throws Exception {
    final List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 50; ++i) {
      leases.add(client.acquireOrThrow("many/" + i, AcquireOptions.defaults().ttl(Duration.ofSeconds(3))));
    }
    final long until = Ticks.now() + 7 * Ticks.SECOND; // more than two ttls
    while (Ticks.now() < until) {
      for (Lease lease : leases) lease.check();
      TimeUnit.MILLISECONDS.sleep(50);
    }
    leases.forEach(Lease::close);
  }

  @Test
  void badInputNamesTheField() throws Exception {
    final Map<String, ClientOptions> wrong =
        Map.of(
            "servers", ClientOptions.defaults().servers("nowhere"), "call_timeout",
            ClientOptions.defaults().callTimeout(Duration.ZERO), "token_file", ClientOptions.defaults().tokenFile("/does/not/exist"),
            "ca_file", ClientOptions.defaults().caFile("/does/not/exist"), "certificate", ClientOptions.defaults().certificate("x", ""));
    wrong.forEach(
        (field, options) ->
            assertEquals(field, assertThrows(LockException.class, () -> LockClient.create(options)).field()));
    final AcquireOptions noTime = AcquireOptions.defaults().ttl(Duration.ofSeconds(1)).stopMargin(Duration.ofSeconds(1));
    assertEquals("stop_margin", assertThrows(LockException.class, () -> client.acquire("bad", noTime)).field());
    assertEquals("name", assertThrows(LockException.class, () -> client.acquire("", AcquireOptions.defaults())).field());
  }

  @Test
  void aTokenFileIsReadAgainAndNotShownInTheClear(@TempDir Path folder) throws Exception {
    final Path path = folder.resolve("token");
    Files.writeString(path, "secret\n");
    final TokenFile file = new TokenFile(path.toString());
    final int before = file.version();
    Files.writeString(path, "another secret");
    assertTrue(file.version() > before);
    Files.writeString(path, "two\nlines");
    assertEquals(before + 1, file.version());
    Files.writeString(path, "secret\n");
    final LockException refused =
        assertThrows(
            LockException.class, () -> LockClient.create(ClientOptions.defaults().servers("192.0.2.1:7600").tokenFile(path.toString())));
    assertEquals("token_file", refused.field());
    assertFalse(refused.getMessage().contains("secret"));
  }

  @Test
  void closeReleasesAllLeasesAndEndsTheThreads() throws Exception {
    final LockClient other = LockClient.create(options());
    final Lease lease = other.acquireOrThrow("closed", AcquireOptions.defaults());
    other.close();
    assertFalse(lease.isHeld());
    assertThrows(LockException.class, () -> other.acquire("closed", AcquireOptions.defaults()));
    assertTrue(client.acquire("closed", AcquireOptions.defaults()).isPresent());
  }
}
