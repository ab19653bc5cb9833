// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The stories of the folder example end as they say. */
@Timeout(120)
class StoriesTest {
  private static DaemonProcess daemon;

  @BeforeAll
  static void startDaemon(@TempDir Path data) throws Exception {
    daemon = new DaemonProcess(data);
  }

  @AfterAll
  static void stopDaemon() {
    daemon.close();
  }

  /** What a story prints, in its two parts. */
  private static String[] tell(String story) throws Exception {
    final ProcessBuilder program =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            new File("example", story + ".java").getPath());
    program.environment().put("LOCKKEEPER_SERVER", daemon.address());
    final Process process = program.redirectErrorStream(true).start();
    final String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    final String[] parts = said.split("\n\n");
    assertEquals(2, parts.length, said);
    return parts;
  }

  private static int count(String text, String words) {
    return text.split(words, -1).length - 1;
  }

  @Test
  void threeWorkersSendMoreThanOneMailWithoutALockAndOneWithIt() throws Exception {
    final String[] said = tell("DigestMail");
    assertFalse(said[0].contains("Mails that Ada has: 1"), said[0]);
    assertTrue(said[1].contains("Mails that Ada has: 1"), said[1]);
    assertEquals(2, count(said[1], "was sent before"), said[1]);
  }

  @Test
  void aJobRunsThreeTimesUnderAFreeLockAndOnceUnderOneThatStaysClosed() throws Exception {
    final String[] said = tell("NightlyJob");
    assertTrue(said[0].contains("Runs of the job: 3"), said[0]);
    assertTrue(said[1].contains("Runs of the job: 1"), said[1]);
    assertEquals(2, count(said[1], "leaves it to another one"), said[1]);
  }
}
