// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.LockClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A queue delivers a job at least once, here to three workers. One digest mail has to go out. */
public final class DigestMail {
  private interface Work {
    void run(String worker) throws InterruptedException;
  }

  /** What a database would remember. */
  private static final AtomicInteger mails = new AtomicInteger();

  private static void sendDigest(String worker) throws InterruptedException {
    if (mails.get() > 0) { // looks into the database
      System.out.println(worker + ": the digest for ada was sent before");
      return;
    }
    Thread.sleep(200); // writes and sends the mail
    mails.incrementAndGet();
    System.out.println(worker + ": sends the digest to ada");
  }

  /** Each worker would be a process, with a client of its own. */
  private static void sendDigestUnderLock(String worker) throws InterruptedException {
    final String server = System.getenv().getOrDefault("LOCKKEEPER_SERVER", "127.0.0.1:7600");
    final AcquireOptions how =
        AcquireOptions.defaults().ttl(Duration.ofSeconds(10)).waitTimeout(Duration.ofSeconds(30));
    try (LockClient client =
        LockClient.create(ClientOptions.defaults().servers(server).owner(worker))) {
      client.withLock(
          "digest/ada", how,
          lease -> {
            System.out.println(
                worker + ": has the lock, with fencing token " + lease.fencingToken());
            sendDigest(worker);
            return null;
          });
    }
  }

  private static void threeWorkers(Work work) throws InterruptedException {
    mails.set(0);
    final List<Thread> workers =
        List.of("worker 1", "worker 2", "worker 3").stream()
            .map(
                worker ->
                    new Thread(
                        () -> {
                          try {
                            work.run(worker);
                          } catch (InterruptedException stopped) {
                            Thread.currentThread().interrupt();
                          }
                        }))
            .toList();
    workers.forEach(Thread::start);
    for (Thread worker : workers) worker.join();
    System.out.println("Mails that Ada has: " + mails);
  }

  public static void main(String[] arguments) throws InterruptedException {
    System.out.println("Without a lock:");
    threeWorkers(DigestMail::sendDigest);
    System.out.println("\nWith a lock:");
    threeWorkers(DigestMail::sendDigestUnderLock);
  }

  private DigestMail() {}
}
