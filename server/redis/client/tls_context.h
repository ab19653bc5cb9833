// SPDX-License-Identifier: Apache-2.0
//
// What all TLS connections to Redis have in common: whom we believe, and who we are. Read from
// files once; a file that is no good is refused by its setting and name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

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
// Thread-safety: thread-safe, since nothing changes any more.
class TlsContext {
 public:
  // Errors: INVALID_FIELD of the setting (`store.redis_tls_ca_file` and so on) that names the file
  // and what is wrong with it.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> Load(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  const TlsOptions& options() const { return options_; }

  // For the sockets of this folder.
  ssl_ctx_st* ssl() const { return ssl_; }

 private:
  explicit TlsContext(TlsOptions options);

  const TlsOptions options_;
  ssl_ctx_st* const ssl_;
};

}  // namespace lockkeeper::redis
