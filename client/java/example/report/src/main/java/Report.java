// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.LockClient;

public class Report {
  public static void main(String[] arguments) throws Exception {
    // The daemon of this machine, 127.0.0.1:7600.
    try (LockClient client = LockClient.create(ClientOptions.defaults())) {
      client.withLock("report", AcquireOptions.defaults(), lease -> {
        System.out.println("nobody else writes the report; fencing token " + lease.fencingToken());
        return null;
      });
    }
  }
}
