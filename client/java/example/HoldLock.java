// SPDX-License-Identifier: Apache-2.0

import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.Lease;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.LockClient;
import io.lockkeeper.NotAcquiredException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * HoldLock SERVER NAME STEPS [WAIT]: works under a lock, a second for each step. It waits in line
 * for at most WAIT seconds. See docs/guides/java.md. Exit codes: 0 done, 70 the lease was lost, 75
 * somebody else has the lock, 143 stopped by SIGTERM.
 */
public final class HoldLock {
  private static void work(LockClient client, Lease lease, int steps) throws Exception {
    System.out.println("acquired with fencing token " + lease.fencingToken());
    for (int step = 1; step <= steps; ++step) {
      lease.check();
      System.out.printf("step %d: %.1f s left%n", step, lease.remaining().toMillis() / 1000.0);
      try { // the work of this program: pass lease.fencingToken() to what it writes
        lease.lost().get(1, TimeUnit.SECONDS);
      } catch (TimeoutException stillHeld) {
        continue;
      }
    }
    lease.check();
    final boolean admitted = client.fence(lease.name(), lease.fencingToken(), true).isAdmitted();
    System.out.println("admitted: " + admitted);
    System.out.println("released: " + lease.release().name().equals("RELEASED"));
  }

  public static void main(String[] arguments) throws Exception {
    final int steps = Integer.parseInt(arguments[2]);
    final int wait = arguments.length > 3 ? Integer.parseInt(arguments[3]) : 0;
    final LockClient client = LockClient.create(ClientOptions.defaults().servers(arguments[0]));
    Runtime.getRuntime().addShutdownHook(new Thread(client::close)); // SIGTERM: releases
    final AcquireOptions options =
        AcquireOptions.defaults()
            .ttl(Duration.ofSeconds(10))
            .waitTimeout(Duration.ofSeconds(wait))
            .stopMargin(Duration.ofSeconds(1)); // to stop in: `lost` comes so long before the end
    int status = 0;
    try (Lease lease = client.acquireOrThrow(arguments[1], options)) {
      work(client, lease, steps);
    } catch (NotAcquiredException contention) {
      System.out.println("held by '" + contention.holderOwner() + "'");
      status = 75;
    } catch (LeaseLostException lost) {
      System.out.println("lost");
      status = 70;
    }
    System.exit(status);
  }
}
