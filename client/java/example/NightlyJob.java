// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.Lease;
import io.lockkeeper.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A job is due at midnight on three replicas, whose clocks differ. It takes 50 ms, and has to run
 * once.
 */
public final class NightlyJob {
  /** Whether this replica has run the job. */
  private static boolean run(String replica, String job, Duration holdAtLeast)
      throws InterruptedException {
    final String server = System.getenv().getOrDefault("LOCKKEEPER_SERVER", "127.0.0.1:7600");
    // One lock for each job and date. The pid lets you run the story twice in a row.
    final String name = job + "/2026-11-24/" + ProcessHandle.current().pid();
    final AcquireOptions how =
        AcquireOptions.defaults().ttl(Duration.ofSeconds(10)).holdAtLeast(holdAtLeast);
    try (LockClient client =
        LockClient.create(ClientOptions.defaults().servers(server).owner(replica))) {
      final Optional<Lease> lease = client.acquire(name, how);
      if (lease.isEmpty()) {
        System.out.println(replica + ": leaves it to another one");
        return false;
      }
      try (Lease held = lease.get()) {
        Thread.sleep(50); // the job
        System.out.println(replica + ": has run the job");
        return true;
      }
    }
  }

  private static void midnight(String job, Duration holdAtLeast) throws InterruptedException {
    int runs = 0;
    for (String replica : List.of("replica 1", "replica 2", "replica 3")) {
      Thread.sleep(200); // its clock strikes later than the one before
      if (run(replica, job, holdAtLeast)) ++runs;
    }
    System.out.println("Runs of the job: " + runs);
  }

  public static void main(String[] arguments) throws InterruptedException {
    System.out.println("With a lock alone, which is free again when the next clock strikes:");
    midnight("report", Duration.ZERO);
    System.out.println("\nWith a lock that stays closed for a minute after its grant:");
    midnight("closing report", Duration.ofMinutes(1));
  }

  private NightlyJob() {}
}
