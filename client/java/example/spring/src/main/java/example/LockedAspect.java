// SPDX-License-Identifier: Apache-2.0
package example;

import io.lockkeeper.AcquireOptions;
import io.lockkeeper.Lease;
import io.lockkeeper.LockClient;
import io.lockkeeper.NotAcquiredException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.reflect.MethodSignature;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.Order;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.stereotype.Component;

/** Carries out {@link Locked}. */
@Aspect
@Component
@Order(0) // outside of @Transactional, so that a transaction ends before the lock is released
public class LockedAspect {
  private static final Logger LOG = LoggerFactory.getLogger(LockedAspect.class);
  private static final SpelExpressionParser PARSER = new SpelExpressionParser();
  private static final DefaultParameterNameDiscoverer PARAMETERS =
      new DefaultParameterNameDiscoverer();
  private static final ThreadLocal<Lease> CURRENT = new ThreadLocal<>();

  private final LockClient client;

  LockedAspect(LockClient client) {
    this.client = client;
  }

  /** The lease of the innermost {@link Locked} method of this thread. */
  public static Lease lease() {
    final Lease lease = CURRENT.get();
    if (lease == null) throw new IllegalStateException("this thread runs no @Locked method");
    return lease;
  }

  @Around("@annotation(locked)")
  Object run(ProceedingJoinPoint call, Locked locked) throws Throwable {
    final Method method = ((MethodSignature) call.getSignature()).getMethod();
    final boolean skips = locked.ifHeld() == Locked.IfHeld.SKIP;
    if (skips && method.getReturnType() != void.class) {
      throw new IllegalStateException("@Locked cannot skip what returns a value: " + method);
    }
    final String name = nameOf(locked, method, call);
    final Lease lease;
    try {
      lease = client.acquireOrThrow(name, optionsOf(locked));
    } catch (NotAcquiredException held) {
      if (!skips) throw held;
      LOG.info("skipped {}: {}", call.getSignature().toShortString(), held.getMessage());
      return null;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted while it waited for the lock `" + name + "`");
    }
    try (lease) {
      return proceed(call, lease);
    }
  }

  private static Object proceed(ProceedingJoinPoint call, Lease lease) throws Throwable {
    final Lease outer = CURRENT.get();
    final Interruption interruption = new Interruption();
    CURRENT.set(lease);
    lease.onLost(loss -> interruption.send());
    try {
      final Object result = call.proceed();
      lease.check();
      return result;
    } catch (InterruptedException stopped) {
      lease.check(); // says why
      throw stopped;
    } finally {
      interruption.end();
      if (outer == null) CURRENT.remove();
      else CURRENT.set(outer);
    }
  }

  private static AcquireOptions optionsOf(Locked locked) {
    return AcquireOptions.defaults()
        .ttl(duration(locked.ttl()))
        .waitTimeout(duration(locked.waitTimeout()))
        .holdAtLeast(duration(locked.holdAtLeast()));
  }

  private static Duration duration(String text) {
    return DurationStyle.detectAndParse(text);
  }

  private static String nameOf(Locked locked, Method method, ProceedingJoinPoint call) {
    final EvaluationContext context =
        new MethodBasedEvaluationContext(call.getTarget(), method, call.getArgs(), PARAMETERS);
    final Expression template =
        PARSER.parseExpression(locked.name(), ParserContext.TEMPLATE_EXPRESSION);
    final Expression[] parts =
        template instanceof CompositeStringExpression composite
            ? composite.getExpressions()
            : new Expression[] {template};
    final StringBuilder name = new StringBuilder();
    for (Expression part : parts) {
      final Object value = part.getValue(context);
      if (value == null) { // calls that have nothing in common would share one lock
        throw new IllegalArgumentException(
            "@Locked needs " + part.getExpressionString() + ", which is null: " + method);
      }
      name.append(value);
    }
    return name.toString();
  }

  /** Interrupts the thread that made it, as long as the method runs there. */
  private static final class Interruption {
    private final Thread thread = Thread.currentThread();
    private boolean sent;
    private boolean over;

    synchronized void send() {
      if (over) return;
      sent = true;
      thread.interrupt();
    }

    /** What the thread does next does not see an interruption that was meant for the method. */
    synchronized void end() {
      over = true;
      if (sent) Thread.interrupted();
    }
  }
}
