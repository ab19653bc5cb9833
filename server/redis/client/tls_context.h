// SPDX-License-Identifier: Apache-2.0
//
// What all TLS connections to Redis have in common: whom we believe, and who we are. Read from
// files, and again when they change; a file that cannot be used is refused by its setting and name.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "os/file_watch.h"
#include "text/problem.h"
#include "tls/credentials.h"

struct ssl_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace lockkeeper::redis {

// PEM files.
struct TlsOptions {
  std::string ca_file;           // CAs that may sign the server's certificate. Empty: the system's.
  std::string certificate_file;  // Ours, with what is between it and its CA. Empty: none.
  std::string key_file;          // The key of ours, without a passphrase. Given with it.
  std::string server_name;  // What the server's certificate is for. Empty: the host of the URL.
};

// TLS 1.2 or later; the server's certificate is always checked.
// Thread-safety: thread-safe.
class TlsContext {
 public:
  // Errors: INVALID_FIELD of the setting (`store.redis_tls_ca_file` and so on) that names the file
  // and what is wrong with it.
  static absl::StatusOr<std::shared_ptr<TlsContext>> Load(const TlsOptions& options);
  ~TlsContext() = default;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  const TlsOptions& options() const { return options_; }

  // For the sockets of this folder: what a connection that begins now uses to its end.
  std::shared_ptr<ssl_ctx_st> ssl() const;

  // For the watch of the files: what they are, what is in use, and how changed contents are taken
  // into use.
  os::FileSet files() const { return tls::FilesOf(files_); }
  os::Contents contents() const;
  text::Problem Take(const os::Contents& contents);

  // When our own certificate expires, Unix time in seconds. Nothing if there is none.
  std::optional<int64_t> valid_until() const;

 private:
  explicit TlsContext(TlsOptions options);

  absl::Status Use(const os::Contents& contents);

  const TlsOptions options_;
  const tls::CredentialFiles files_;
  mutable std::mutex mutex_;  // Guards all below.
  std::shared_ptr<ssl_ctx_st> ssl_;
  os::Contents contents_;
  std::optional<int64_t> valid_until_;
};

}  // namespace lockkeeper::redis
