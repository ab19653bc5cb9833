// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;

/** A holder that is stopped by SIGSTOP, as client/fenced/tests/late_holder.py of the repository wants it. */
public final class LateHolder {
  private LateHolder() {}

  /** Whether the row took the update. */
  private static boolean update(String setting, long token) throws IOException, InterruptedException {
    final String command = "update seat set " + setting + " where id = 12 and fencing_token <= " + token + " returning id";
    final Process psql = new ProcessBuilder("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
    final boolean said = psql.getInputStream().readAllBytes().length > 0;
    if (psql.waitFor() != 0) throw new IOException("psql failed");
    return said;
  }

  public static void main(String[] arguments) throws Exception {
    final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    final ClientOptions options = ClientOptions.defaults().servers(System.getenv("LOCKKEEPER_SERVER"));
    try (LockClient client = LockClient.create(options)) {
      client.acquireOrThrow("warm up", AcquireOptions.defaults()).close(); // a new JVM may take longer for its first call than a ttl
      final Lease lease = client.acquireOrThrow("seat", AcquireOptions.defaults().ttl(Duration.ofSeconds(1)));
      final long token = lease.fencingToken();
      update("fencing_token = " + token, token);
      System.out.println("holds");

      lines.readLine();
      System.out.println(lease.isHeld() ? "held" : "lost");

      lines.readLine();
      System.out.println(update("guest = 'first', fencing_token = " + token, token) ? "written" : "refused");
    }
  }
}
