// SPDX-License-Identifier: Apache-2.0

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.lockkeeper.AcquireOptions;
import io.lockkeeper.ClientOptions;
import io.lockkeeper.Lease;
import io.lockkeeper.LockClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** SIDE SERVER REDIS_PORT: cycles of locks by the Java client (`ours`) or by Redisson, as README.md beside run.py says. */
public final class Program {
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final int NAMES_EACH = 4;
  private static final Duration WARM_UP = Duration.ofMillis(300);

  /** One of the two sides. */
  private interface Locks<L> extends AutoCloseable {
    L acquire(String name) throws Exception;

    void release(L lease) throws Exception;

    boolean isHeld(L lease);

    List<String> versions();
  }

  private static final class Ours implements Locks<Lease> {
    private final LockClient client;

    Ours(String server) {
      client = LockClient.create(ClientOptions.defaults().servers(server));
    }

    @Override
    public Lease acquire(String name) throws Exception {
      return client.acquireOrThrow(name, AcquireOptions.defaults().ttl(TTL));
    }

    @Override
    public void release(Lease lease) throws Exception {
      lease.release();
    }

    @Override
    public boolean isHeld(Lease lease) {
      return lease.isHeld();
    }

    @Override
    public List<String> versions() {
      return List.of(jarOf(io.grpc.Channel.class));
    }

    @Override
    public void close() {
      client.close();
    }
  }

  private static final class Theirs implements Locks<RLock> {
    private final RedissonClient client;

    Theirs(String port) {
      final Config config = new Config();
      config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
      client = Redisson.create(config);
    }

    @Override
    public RLock acquire(String name) throws Exception {
      final RLock lock = client.getLock(name);
      if (!lock.tryLock(0, TTL.toSeconds(), TimeUnit.SECONDS)) throw new IllegalStateException(name + " is not free");
      return lock;
    }

    @Override
    public void release(RLock lock) {
      lock.unlock();
    }

    @Override
    public boolean isHeld(RLock lock) {
      return lock.isLocked();
    }

    @Override
    public List<String> versions() {
      return List.of(jarOf(Redisson.class));
    }

    @Override
    public void close() {
      client.shutdown();
    }
  }

  /** Its name tells the version. */
  private static String jarOf(Class<?> part) {
    return Path.of(part.getProtectionDomain().getCodeSource().getLocation().getPath()).getFileName().toString();
  }

  /** Each cycle under way has a thread of its own. */
  private static <L> double cyclesPerSecond(Locks<L> locks, int depth, double seconds) throws Exception {
    final long begin = System.nanoTime() + WARM_UP.toNanos();
    final long end = begin + (long) (seconds * 1e9);
    final List<Callable<Long>> loops = new ArrayList<>();
    for (int i = 0; i < depth; ++i) {
      final int number = i;
      loops.add(() -> {
        for (long turn = 0, cycles = 0;; ++turn) {
          locks.release(locks.acquire("bench/" + number + "/" + turn % NAMES_EACH));
          final long now = System.nanoTime();
          if (now - end > 0) return cycles;
          if (now - begin >= 0) ++cycles;
        }
      });
    }
    return sum(runAll(loops, depth)) / seconds;
  }

  private static <L> List<L> hold(Locks<L> locks, int count) throws Exception {
    final List<Callable<L>> acquires = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      final String name = "held/" + i;
      acquires.add(() -> locks.acquire(name));
    }
    return runAll(acquires, 64);
  }

  private static <T> List<T> runAll(List<Callable<T>> tasks, int threads) throws Exception {
    final ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      final List<T> results = new ArrayList<>();
      for (final Future<T> task : pool.invokeAll(tasks)) {
        results.add(task.get());
      }
      return results;
    } finally {
      pool.shutdownNow();
    }
  }

  private static double sum(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).sum();
  }

  private static <L> void work(Locks<L> locks) throws Exception {
    final Gson gson = new Gson();
    final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    List<L> leases = Collections.emptyList();
    for (String line; (line = lines.readLine()) != null;) {
      final JsonObject request = gson.fromJson(line, JsonObject.class);
      Map<String, Object> ok = Map.of();
      switch (request.get("do").getAsString()) {
        case "versions":
          final List<String> versions = new ArrayList<>(List.of("Java " + System.getProperty("java.version")));
          versions.addAll(locks.versions());
          ok = Map.of("versions", versions);
          break;
        case "cycles":
          ok = Map.of("perSecond", cyclesPerSecond(locks, request.get("depth").getAsInt(), request.get("seconds").getAsDouble()));
          break;
        case "hold":
          leases = hold(locks, request.get("leases").getAsInt());
          break;
        case "held":
          ok = Map.of("held", leases.stream().filter(locks::isHeld).count());
          break;
        default:
          throw new IllegalArgumentException("asked for " + request);
      }
      System.out.println(gson.toJson(Map.of("id", request.get("id"), "ok", ok)));
    }
  }

  public static void main(String[] arguments) throws Exception {
    try (Locks<?> locks = "ours".equals(arguments[0]) ? new Ours(arguments[1]) : new Theirs(arguments[2])) {
      work(locks);
    }
  }
}
