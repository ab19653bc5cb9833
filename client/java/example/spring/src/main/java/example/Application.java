// SPDX-License-Identifier: Apache-2.0
package example;

import io.lockkeeper.ClientOptions;
import io.lockkeeper.LockClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;

/** A shop of which several replicas run. */
@SpringBootApplication
@EnableScheduling
public class Application {
  private static final Logger LOG = LoggerFactory.getLogger(Application.class);

  /** Spring closes it at the end, which releases the leases that are left. */
  @Bean
  LockClient lockClient(@Value("${lockkeeper.servers}") String[] servers) {
    return LockClient.create(ClientOptions.defaults().servers(servers));
  }

  @Bean
  Orders.Partner partner() {
    return order -> LOG.info("order {} is charged", order);
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }
}
