// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A daemon with a store of its own, for the tests of one class. */
final class DaemonProcess implements AutoCloseable {
  private static final Pattern ADDRESS = Pattern.compile(" grpc=(\\S+)");

  private final Process process;
  private final String address;

  DaemonProcess(Path folder) throws IOException {
    final String program = System.getenv("LOCKKEEPERD");
    assertNotNull(program, "LOCKKEEPERD must name the daemon");
    process =
        new ProcessBuilder(
                program, "--embedded", "--data-dir", folder.resolve("store").toString(), "--listen", "127.0.0.1:0", "--http-listen",
                "127.0.0.1:0")
            .redirectError(folder.resolve("log").toFile()).start();
    final BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    final Matcher found = ADDRESS.matcher(String.valueOf(out.readLine()));
    assertTrue(found.find(), "the daemon does not say that it is ready");
    address = found.group(1);
  }

  String address() {
    return address;
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }
}
