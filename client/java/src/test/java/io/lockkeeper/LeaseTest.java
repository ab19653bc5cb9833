// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockkeeper.v1.FenceResponse;
import io.lockkeeper.v1.SessionAdoptResult;
import io.lockkeeper.v1.SessionOperation;
import io.lockkeeper.v1.SessionResponse;
import io.lockkeeper.v1.SessionResult;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A lease of a daemon whose answers the test writes. */
@Timeout(60)
class LeaseTest {
  private FakeDaemon daemon;
  private LockClient client;

  @BeforeEach
  void start() throws IOException {
    daemon = new FakeDaemon();
    client =
        LockClient.create(ClientOptions.defaults().servers(daemon.address()).releaseTimeout(Duration.ofMillis(1)));
  }

  @AfterEach
  void stop() {
    client.close();
    daemon.close();
  }

  /** Runs a call that waits for the daemon. */
  private static <T> FutureTask<T> start(Callable<T> call) {
    final FutureTask<T> task = new FutureTask<>(call);
    new Thread(task).start();
    return task;
  }

  private Lease adopted(Duration ttl) throws Exception {
    final FutureTask<Lease> lease =
        start(() -> client.adopt("job", FakeDaemon.LEASE_ID, AdoptOptions.defaults().proof(FakeDaemon.TOKEN, "")));
    daemon.extend(daemon.nextOperation(), ttl);
    return lease.get();
  }

  @Test
  void anOwnExtendAsksForNoLessThanTheRegularTtl() throws Exception {
    final Duration regular = Duration.ofMinutes(1);
    final Duration longer = Duration.ofHours(1);
    final Lease lease = adopted(regular);
    final Map<Duration, Duration> sent = Map.of(Duration.ofSeconds(1), regular, regular, regular, longer, longer);
    for (Map.Entry<Duration, Duration> each : sent.entrySet()) {
      final FutureTask<Void> extending =
          start(
              () -> {
                lease.extend(each.getKey());
                return null;
              });
      final SessionOperation operation = daemon.nextOperation();
      assertEquals(each.getValue(), Protos.duration(operation.getExtend().getTtl()));
      daemon.extend(operation, longer);
      extending.get();
    }
    final LockException refused = assertThrows(LockException.class, () -> lease.extend(Duration.ofNanos(-1)));
    assertEquals("ttl", refused.field());
  }

  @Test
  void aLateAnswerOfAnAdoptionGivesNoMoreThanItsOwnTtl() throws Exception {
    final Duration ttl = Duration.ofSeconds(4);
    final Lease lease = adopted(ttl);
    assertTrue(daemon.next().hasAdopt(), "the first renewal");
    final long end = Ticks.now() + ttl.toNanos();

    // Something is heard, so that the next renewal goes by the session, too.
    final FutureTask<Fenced> fenced = start(() -> client.fence("job", FakeDaemon.TOKEN, false));
    daemon.answer(
        SessionResult.newBuilder().setOperationId(daemon.nextOperation().getId()).setFence(FenceResponse.getDefaultInstance()));
    fenced.get();

    daemon.next(); // the second renewal, which is never answered
    daemon.answer(
        SessionResponse.newBuilder()
            .setAdoptResult(
                SessionAdoptResult.newBuilder().setName("job").setLeaseId(FakeDaemon.LEASE_ID).setLease(FakeDaemon.lease(ttl))));
    lease.lost().get();
    final long late = Ticks.now() - end;
    assertTrue(late <= 0, () -> "lost " + late / Ticks.MILLISECOND + " ms after the end that the first renewal gave");
  }
}
