// SPDX-License-Identifier: Apache-2.0
package example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lockkeeper.LeaseLostException;
import io.lockkeeper.NotAcquiredException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.config.ScheduledTaskHolder;
import org.springframework.scheduling.config.TaskExecutionOutcome.Status;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Three replicas with one database, and the daemon at LOCKKEEPER_SERVER with the command line
 * LOCKKEEPER.
 */
@Timeout(120)
class ApplicationTest {
  private static final AtomicInteger CHARGES = new AtomicInteger();
  private static final List<ConfigurableApplicationContext> REPLICAS = new ArrayList<>();
  private static final ExecutorService THREADS = Executors.newCachedThreadPool();

  /** What the tests run under locks, beside the shop's own. */
  static class Probe {
    @Locked(name = "probe/#{#name}", ttl = "2s")
    public <T> T run(String name, Callable<T> work) throws Exception {
      return work.call();
    }

    @Locked(name = "probe/#{#name}", ifHeld = Locked.IfHeld.SKIP)
    public void skipIfHeld(String name, Runnable work) {
      work.run();
    }

    @Locked(name = "transaction")
    @Transactional
    public void afterCommit(Runnable work) {
      TransactionSynchronizationManager.registerSynchronization(
          new TransactionSynchronization() {
            @Override
            public void afterCommit() {
              work.run();
            }
          });
    }

    @Locked(name = "wrong", ifHeld = Locked.IfHeld.SKIP)
    public int skipWithValue() {
      return 0;
    }
  }

  /** At work when its replica is stopped; it ignores interrupts. */
  static class LongJob {
    static final CountDownLatch WORKS = new CountDownLatch(1);
    static final CountDownLatch STOPS = new CountDownLatch(1);
    static volatile boolean isDone;

    @Scheduled(cron = "${long-job.cron:-}")
    @Locked(name = "probe/long-job", ifHeld = Locked.IfHeld.SKIP)
    public void work() {
      WORKS.countDown();
      while (!isDone) Thread.onSpinWait();
    }

    @EventListener
    public void stop(ContextClosedEvent event) {
      STOPS.countDown();
    }
  }

  static class TestBeans {
    @Bean
    Probe probe() {
      return new Probe();
    }

    @Bean
    LongJob longJob() {
      return new LongJob();
    }

    @Bean
    @Primary
    Orders.Partner countingPartner() {
      return order -> CHARGES.incrementAndGet();
    }
  }

  @BeforeAll
  static void startReplicas() {
    for (int replica = 0; replica < 3; ++replica) {
      REPLICAS.add(startReplica("--report.cron=* * * * * *"));
    }
  }

  private static ConfigurableApplicationContext startReplica(String option) {
    return new SpringApplicationBuilder(Application.class, TestBeans.class)
        .web(WebApplicationType.NONE)
        .run("--lockkeeper.servers=" + System.getenv("LOCKKEEPER_SERVER"), option);
  }

  @AfterAll
  static void stopReplicas() {
    THREADS.shutdownNow();
    REPLICAS.forEach(ConfigurableApplicationContext::close);
  }

  private static <T> T bean(int replica, Class<T> type) {
    return REPLICAS.get(replica).getBean(type);
  }

  private static boolean hasRunItsSchedule(ConfigurableApplicationContext replica, Instant since) {
    return replica.getBean(ScheduledTaskHolder.class).getScheduledTasks().stream()
        .map(task -> task.getTask().getLastExecutionOutcome())
        .allMatch(last -> last.status() == Status.SUCCESS && last.executionTime().isAfter(since));
  }

  private static boolean isFree(String lock) throws Exception {
    try {
      return bean(0, Probe.class).run(lock, () -> true);
    } catch (NotAcquiredException held) {
      return false;
    }
  }

  private static String lockHere() {
    return LockedAspect.lease().name();
  }

  private static void forceRelease(String lock) throws Exception {
    final Process command =
        new ProcessBuilder(
                System.getenv("LOCKKEEPER"), "force-release", lock, "--reason", "test", "--now")
            .inheritIO()
            .start();
    assertThat(command.waitFor()).isZero();
  }

  @Test
  void aJobThatIsDueOnThreeReplicasRunsOnce() {
    final Instant struckTwice = Instant.now().plusSeconds(1);
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> REPLICAS.stream().allMatch(replica -> hasRunItsSchedule(replica, struckTwice)));
    final JdbcClient database = bean(0, JdbcClient.class);
    final int runs = database.sql("select count(*) from report").query(Integer.class).single();
    assertThat(runs).isEqualTo(1);
  }

  @Test
  void aReplicaThatStopsKeepsTheLockUntilItsJobEnds() throws Exception {
    final ConfigurableApplicationContext replica = startReplica("--long-job.cron=* * * * * *");
    LongJob.WORKS.await();
    final Future<?> stopped = THREADS.submit(replica::close);
    LongJob.STOPS.await();
    await().during(Duration.ofMillis(500)).until(() -> !isFree("long-job"));
    LongJob.isDone = true;
    stopped.get();
    assertThat(isFree("long-job")).isTrue();
  }

  @Test
  void aDoubleClickOnTwoReplicasChargesOnce() throws Exception {
    bean(0, JdbcClient.class).sql("insert into orders (id) values (12)").update();
    final Future<Boolean> first = THREADS.submit(() -> bean(0, Orders.class).pay(12));
    final Future<Boolean> second = THREADS.submit(() -> bean(1, Orders.class).pay(12));
    assertThat(List.of(first.get(), second.get())).containsExactlyInAnyOrder(true, false);
    assertThat(CHARGES.get()).isEqualTo(1);
  }

  @Test
  void anOlderHolderIsRejectedByTheRow() {
    final JdbcClient database = bean(0, JdbcClient.class);
    database.sql("insert into orders (id, token) values (13, ?)").param(Long.MAX_VALUE).update();
    assertThatThrownBy(() -> bean(0, Orders.class).pay(13)).hasMessageContaining("newer holder");
  }

  @Test
  void theTransactionIsCommittedUnderTheLock() {
    final AtomicBoolean held = new AtomicBoolean();
    bean(0, Probe.class).afterCommit(() -> held.set(LockedAspect.lease().isHeld()));
    assertThat(held).isTrue();
  }

  @Test
  void aLostLeaseInterruptsTheMethodAndNothingElse() throws Exception {
    final CountDownLatch works = new CountDownLatch(1);
    final Future<Boolean> interruptedAfterwards =
        THREADS.submit(
            () -> {
              assertThatThrownBy(
                      () ->
                          bean(0, Probe.class)
                              .run(
                                  "lost",
                                  () -> {
                                    works.countDown();
                                    TimeUnit.MINUTES.sleep(2);
                                    return null;
                                  }))
                  .isInstanceOf(LeaseLostException.class);
              return Thread.currentThread().isInterrupted();
            });
    works.await();
    forceRelease("probe/lost");
    assertThat(interruptedAfterwards.get()).isFalse();
    assertThat(bean(0, Probe.class).run("lost", () -> "free again")).isEqualTo("free again");
  }

  @Test
  void aMethodThatIgnoresTheLossIsToldAtItsEnd() throws Exception {
    final Callable<String> ignorant =
        () -> {
          THREADS.submit(
              () -> {
                forceRelease("probe/ignored");
                return null;
              });
          while (!Thread.currentThread().isInterrupted()) Thread.onSpinWait();
          return "done";
        };
    assertThatThrownBy(() -> bean(0, Probe.class).run("ignored", ignorant))
        .isInstanceOf(LeaseLostException.class);
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void theMethodsOwnExceptionReachesTheCallerAndTheLockIsFree() throws Exception {
    final Probe probe = bean(0, Probe.class);
    final Callable<Void> broken =
        () -> {
          throw new IOException("its own");
        };
    assertThatThrownBy(() -> probe.run("broken", broken)).hasMessage("its own");
    assertThat(bean(1, Probe.class).run("broken", () -> "free")).isEqualTo("free");
    assertThatThrownBy(LockedAspect::lease).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aHeldLockIsToldOrSkipped() throws Exception {
    final Probe other = bean(1, Probe.class);
    final AtomicBoolean ran = new AtomicBoolean();
    bean(0, Probe.class)
        .run(
            "held",
            () -> {
              assertThatThrownBy(() -> other.run("held", () -> null))
                  .isInstanceOf(NotAcquiredException.class);
              other.skipIfHeld("held", () -> ran.set(true));
              other.skipIfHeld("other", () -> assertThat(lockHere()).isEqualTo("probe/other"));
              assertThat(lockHere()).isEqualTo("probe/held");
              return null;
            });
    assertThat(ran).isFalse();
    other.skipIfHeld("held", () -> ran.set(true));
    assertThat(ran).isTrue();
  }

  @Test
  void aWrongAnnotationIsNamed() {
    final Probe probe = bean(0, Probe.class);
    assertThatThrownBy(() -> probe.run(null, () -> null))
        .hasMessageContaining("#name, which is null");
    assertThatThrownBy(probe::skipWithValue).hasMessageContaining("skipWithValue");
  }
}
