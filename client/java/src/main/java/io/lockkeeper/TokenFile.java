// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.grpc.CallCredentials;
import io.grpc.Metadata;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The bearer token of a file. It is read again when the file changes. Thread-safe. */
final class TokenFile extends CallCredentials {
  private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final int BYTES_MAX = 64 << 10;

  private record Version(@Nullable Object file, long size, long modified) {}

  private final Path path;
  private Version seen = new Version(null, 0, 0);
  private String token = "";
  private int version;

  /** Errors name the file, and never show what is in it. */
  TokenFile(String path) {
    this.path = Path.of(path);
    try {
      read();
    } catch (IOException e) {
      throw LockException.invalid("token_file", "`" + path + "` " + (e.getMessage() == null ? e : e.getMessage()));
    }
  }

  private Version versionNow() throws IOException {
    final BasicFileAttributes file = Files.readAttributes(path, BasicFileAttributes.class);
    return new Version(file.fileKey(), file.size(), file.lastModifiedTime().toMillis());
  }

  private void read() throws IOException {
    final Version now = versionNow();
    if (now.size() > BYTES_MAX) throw new IOException("is longer than 64 KiB");
    final String text = Files.readString(path).replaceFirst("\r?\n$", "");
    if (text.isEmpty()) throw new IOException("is empty");
    if (text.indexOf('\n') >= 0) throw new IOException("has more than one line");
    seen = now;
    if (text.equals(token)) return;
    token = text;
    ++version;
  }

  private void readIfChanged() {
    try {
      if (!Objects.equals(versionNow(), seen)) read();
    } catch (IOException unreadable) {
      return; // it is being written: the next call finds it whole
    }
  }

  /** Rises when the token has changed. */
  synchronized int version() {
    readIfChanged();
    return version;
  }

  private synchronized String authorization() {
    readIfChanged();
    return "Bearer " + token;
  }

  @Override
  public void applyRequestMetadata(RequestInfo request, Executor executor, MetadataApplier applier) {
    final Metadata metadata = new Metadata();
    metadata.put(AUTHORIZATION, authorization());
    applier.apply(metadata);
  }
}
