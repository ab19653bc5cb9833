// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The work that a program of docs/guides/coming_from does under its lock. It waits as work.py says. */
public final class Work {
  private Work() {}

  public static void writeReport() throws IOException, InterruptedException {
    begin();
    System.out.println("wrote the report");
  }

  public static void writeReport(long token) throws IOException, InterruptedException {
    begin();
    System.out.println("wrote the report with token " + token);
  }

  private static void begin() throws IOException, InterruptedException {
    final String folder = System.getenv("WORK_FOLDER");
    if (folder == null) {
      return;
    }
    Files.createFile(Path.of(folder, "begun"));
    while (!Files.exists(Path.of(folder, "may_end"))) {
      Thread.sleep(10);
    }
  }
}
