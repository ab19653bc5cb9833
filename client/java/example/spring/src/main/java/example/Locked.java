// SPDX-License-Identifier: Apache-2.0
package example;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The method runs while this process holds a lock. Durations are written as in Spring Boot's
 * properties: "200ms", "30s", "10m".
 *
 * <p>If the lease is lost while the method runs, its thread is interrupted, and the caller gets a
 * LeaseLostException, unless the method itself throws another exception.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Locked {
  enum IfHeld {
    /** A NotAcquiredException, which says who has the lock. */
    THROW,
    /** The method does not run, and a line of the log says so. For methods that return nothing. */
    SKIP
  }

  /** Name of the lock. #{...} is an expression (SpEL) of the arguments: "order/#{#id}". */
  String name();

  /**
   * Length of the lease, which is renewed while the method runs. After a crash the lock stays closed
   * for at most so long.
   */
  String ttl() default "30s";

  /** Time to stand in line if somebody else has the lock. */
  String waitTimeout() default "0s";

  /** Time for which the lock stays closed to others, even if the method returns earlier. */
  String holdAtLeast() default "0s";

  IfHeld ifHeld() default IfHeld.THROW;
}
