// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How to reach the service. Each method changes these options and returns them. The client copies them when it is made. */
public final class ClientOptions {
  private static final int SERVERS_MAX = 16;
  private static final Pattern HOST_AND_PORT = Pattern.compile("(\\[[0-9a-fA-F:.%]+]|[^\\[\\]:/ ]+):(\\d{1,5})");
  static final String TLS_SCHEME = "tls://";

  List<String> servers = List.of("127.0.0.1:7600");
  String owner = "";
  Duration callTimeout = Duration.ofSeconds(10);
  Duration releaseTimeout = Duration.ofSeconds(2);
  boolean sessions = true;
  String caFile = "";
  String certificateFile = "";
  String keyFile = "";
  String serverName = "";
  String tokenFile = "";
  @Nullable Consumer<LockException> onUnserved;

  /** The daemon of this machine, without TLS. */
  public static ClientOptions defaults() {
    return new ClientOptions();
  }

  private ClientOptions() {}

  /**
   * The daemons of one service: host:port, [v6]:port, unix:/path or tls://host:port, 1 to 16. The first that answers is used, the next one
   * when it is unavailable or stopping. Default: 127.0.0.1:7600.
   */
  public ClientOptions servers(String... addresses) {
    servers = List.of(addresses);
    return this;
  }

  /** Names this program for people; at most 256 bytes. Default: host/pid. */
  public ClientOptions owner(String text) {
    owner = text;
    return this;
  }

  /** Longest time of one call, retries included; the wait in line comes on top. Default: 10 s. */
  public ClientOptions callTimeout(Duration time) {
    callTimeout = time;
    return this;
  }

  /** Longest time for which a release and the close of the client block. Default: 2 s. */
  public ClientOptions releaseTimeout(Duration time) {
    releaseTimeout = time;
    return this;
  }

  /** Whether operations go through a session; else they are unary calls. Default: true. */
  public ClientOptions sessions(boolean used) {
    sessions = used;
    return this;
  }

  /**
   * PEM file of the CAs that may sign the certificate of a daemon. Default: those of the Java runtime. If it, or any of the next two, is
   * given, all hosts are reached over TLS, whether tls:// is written or not. All files are read again when they change.
   */
  public ClientOptions caFile(String path) {
    caFile = path;
    return this;
  }

  /** PEM files of this program's certificate, with its chain, and of its key (PKCS #8, without a passphrase), for daemons that ask. */
  public ClientOptions certificate(String certificatePath, String keyPath) {
    certificateFile = certificatePath;
    keyFile = keyPath;
    return this;
  }

  /** Name that the certificate of a daemon must be for. Default: the host of its address. */
  public ClientOptions serverName(String name) {
    serverName = name;
    return this;
  }

  /**
   * File with a bearer token or a JWT, which proves who this program is. It is read again when it changes, and shown only on encrypted
   * connections and within this machine.
   */
  public ClientOptions tokenFile(String path) {
    tokenFile = path;
    return this;
  }

  /** Called with each error of a daemon that the client retries. On any thread, so it must return soon. */
  public ClientOptions onUnserved(Consumer<LockException> listener) {
    onUnserved = listener;
    return this;
  }

  boolean usesTls(String address) {
    if (address.startsWith(TLS_SCHEME)) return true;
    return !address.startsWith("unix:") && !(caFile + certificateFile + keyFile + serverName).isEmpty();
  }

  /** A checked copy. */
  ClientOptions complete() {
    final ClientOptions copy = new ClientOptions();
    copy.servers = servers;
    copy.owner = owner.isEmpty() ? defaultOwner() : owner;
    copy.callTimeout = positive("call_timeout", callTimeout);
    copy.releaseTimeout = positive("release_timeout", releaseTimeout);
    copy.sessions = sessions;
    copy.caFile = caFile;
    copy.certificateFile = certificateFile;
    copy.keyFile = keyFile;
    copy.serverName = serverName;
    copy.tokenFile = tokenFile;
    copy.onUnserved = onUnserved;
    if (servers.isEmpty() || servers.size() > SERVERS_MAX) throw LockException.invalid("servers", "give 1 to " + SERVERS_MAX);
    for (String address : servers) {
      checkAddress(address);
      if (!tokenFile.isEmpty() && !usesTls(address) && !isOnThisMachine(address)) {
        throw LockException.invalid(
            "token_file", "the connection to `" + address + "` is not encrypted, so that anybody on the way could read the token; use TLS,"
                + " or an address of this machine");
      }
    }
    return copy;
  }

  private static Duration positive(String option, Duration time) {
    if (time.isNegative() || time.isZero()) throw LockException.invalid(option, "must be positive");
    return time;
  }

  private static void checkAddress(String address) {
    if (address.startsWith("unix:") && address.length() > "unix:".length()) return;
    final var found = HOST_AND_PORT.matcher(target(address));
    if (found.matches() && Integer.parseInt(found.group(2)) >= 1 && Integer.parseInt(found.group(2)) <= 65535) return;
    throw LockException.invalid(
        "servers", "`" + address + "` is not an address: give `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`");
  }

  static String target(String address) {
    return address.startsWith(TLS_SCHEME) ? address.substring(TLS_SCHEME.length()) : address;
  }

  private static boolean isOnThisMachine(String address) {
    if (address.startsWith("unix:")) return true;
    final String host = target(address).substring(0, target(address).lastIndexOf(':'));
    return host.equals("localhost") || host.equals("[::1]") || host.matches("127(\\.\\d{1,3}){3}");
  }

  private static String defaultOwner() {
    String host = "";
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (IOException unnamed) {
      host = "localhost"; // for people: the pid is left
    }
    return host + "/" + ProcessHandle.current().pid();
  }
}
