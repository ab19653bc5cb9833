// SPDX-License-Identifier: Apache-2.0

import io.lockkeeper.ClientOptions;
import io.lockkeeper.Leader;
import io.lockkeeper.LockClient;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Optional;

/** Gateway SERVER: says to whom it would send requests, until its standard input ends. */
public final class Gateway {
  /**
   * Is told each change. Requests carry the term: a leader that was paused, and is none any more,
   * is told by it, since what we know here is always a little late.
   */
  private static void route(Optional<Leader> leader) {
    System.out.println(
        leader
            .map(now -> "routes to " + now.owner() + ", term " + now.fencingToken())
            .orElse("nobody leads"));
  }

  public static void main(String[] arguments) throws IOException {
    try (LockClient client =
        LockClient.create(ClientOptions.defaults().servers(arguments[0]))) {
      // Errors go to the log; whatever they are, the observer goes on.
      client.observe("examples/leader", Gateway::route);
      System.in.transferTo(OutputStream.nullOutputStream());
    }
  }

  private Gateway() {}
}
