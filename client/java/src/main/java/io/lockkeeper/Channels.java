// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.concurrent.TimeUnit;

/** Opens connections with the settings of "Connections" in client/README.md. */
final class Channels {
  private final ClientOptions options;
  private final ChannelCredentials secure;

  /** Errors name the option whose file cannot be used. The files are read again every second if they have changed. */
  Channels(ClientOptions options, Timers timers) {
    this.options = options;
    final TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
    if (options.certificateFile.isEmpty() != options.keyFile.isEmpty()) {
      throw LockException.invalid("certificate", "needs both files, that of the certificate and that of its key");
    }
    String option = "ca_file";
    try {
      if (!options.caFile.isEmpty()) {
        final AdvancedTlsX509TrustManager trust = AdvancedTlsX509TrustManager.newBuilder().build();
        trust.updateTrustCredentials(new File(options.caFile), 1, TimeUnit.SECONDS, timers.files());
        tls.trustManager(trust);
      }
      option = "certificate";
      if (!options.certificateFile.isEmpty()) {
        final AdvancedTlsX509KeyManager keys = new AdvancedTlsX509KeyManager();
        keys.updateIdentityCredentials(
            new File(options.certificateFile), new File(options.keyFile), 1, TimeUnit.SECONDS, timers.files());
        tls.keyManager(keys);
      }
    } catch (GeneralSecurityException | IOException | IllegalArgumentException unusable) {
      throw LockException.invalid(option, unusable.toString());
    }
    secure = tls.build();
  }

  /** A connection of its own, which is opened when it is first used. */
  ManagedChannel open(String address) {
    final ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(
            ClientOptions.target(address), options.usesTls(address) ? secure : InsecureChannelCredentials.create());
    builder.keepAliveTime(10, TimeUnit.SECONDS).keepAliveTimeout(5, TimeUnit.SECONDS);
    // A call that no server has seen, because its connection was just ending, gRPC sends again: it is still the same attempt. It repeats
    // no other, since nobody gives it a policy, DNS included.
    builder.enableRetry();
    builder.disableServiceConfigLookUp();
    builder.proxyDetector(target -> null); // a lock daemon is never behind the proxy for the web
    builder.directExecutor(); // what runs there never blocks
    if (!options.serverName.isEmpty()) builder.overrideAuthority(options.serverName);
    return builder.build();
  }
}
