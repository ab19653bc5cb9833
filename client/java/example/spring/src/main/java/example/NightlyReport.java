// SPDX-License-Identifier: Apache-2.0
package example;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Due at midnight on every replica; one of them writes it. */
@Component
public class NightlyReport {
  private final JdbcClient database;

  NightlyReport(JdbcClient database) {
    this.database = database;
  }

  @Scheduled(cron = "${report.cron}")
  @Locked(name = "nightly-report", holdAtLeast = "10m", ifHeld = Locked.IfHeld.SKIP)
  public void write() {
    final long token = LockedAspect.lease().fencingToken();
    database.sql("insert into report (token) values (?)").param(token).update();
  }
}
