// SPDX-License-Identifier: Apache-2.0
//
// A private CA for a test. It makes certificates and keys as PEM files, valid or wrong in one
// respect.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "support/process/temporary_directory.h"

struct evp_pkey_st;
struct x509_st;

namespace lockkeeper::support {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct CertificateWish {
  std::string common_name = "test";
  std::vector<std::string> names;      // DNS names.
  std::vector<std::string> addresses;  // "127.0.0.1"
  std::chrono::hours valid_from{-1};   // From now.
  std::chrono::hours valid_until{24};
  std::string uri = {};                 // "spiffe://example.org/ns/a"
  std::string extended_key_usage = {};  // "clientAuth"
};

// Errors: throws std::runtime_error. Thread-safety: not thread-safe.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority");
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // The CA's own certificate.
  std::string ca_file() const { return directory_.Path("ca.pem"); }

  // A new certificate with a key of its own. The files live as long as the authority.
  TlsFiles Issue(const CertificateWish& wish);

  // One that is good for a server on this machine, by name and address.
  TlsFiles IssueForLocalhost() {
    return Issue({.common_name = "server", .names = {"localhost"}, .addresses = {"127.0.0.1"}});
  }

  // The key of `files` under a passphrase.
  std::string LockedKey(const TlsFiles& files);

 private:
  const std::string name_;
  TemporaryDirectory directory_;
  evp_pkey_st* key_;
  int issued_ = 0;
};

}  // namespace lockkeeper::support
