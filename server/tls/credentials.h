// SPDX-License-Identifier: Apache-2.0
//
// What the PEM files of TLS settings hold, checked: the CAs that we trust, our certificate with its
// chain, our key.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/file_watch.h"

struct x509_st;      // NOLINT(readability-identifier-naming): OpenSSL's names
struct evp_pkey_st;  // NOLINT(readability-identifier-naming)

namespace lockkeeper::tls {

struct FreeCertificate {
  void operator()(x509_st* certificate) const;
};
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using Certificate = std::unique_ptr<x509_st, FreeCertificate>;
using PrivateKey = std::unique_ptr<evp_pkey_st, FreeKey>;

// A file with an empty path is not given. A key is given if and only if a certificate is.
struct CredentialFiles {
  os::NamedFile authorities;
  os::NamedFile certificate;  // Ours first, then those between it and its CA.
  os::NamedFile key;          // Without a passphrase.
};

struct Credentials {
  std::vector<Certificate> authorities;
  std::vector<Certificate> chain;
  PrivateKey key;
  // The same as texts.
  std::string authorities_pem;
  std::string chain_pem;
  std::string key_pem;
};

// The files in the order in which CheckCredentials expects their contents.
os::FileSet FilesOf(const CredentialFiles& files);

// Their contents. Errors: INVALID_FIELD of the setting that names the file and why it cannot be
// read.
absl::StatusOr<os::Contents> ReadCredentials(const CredentialFiles& files);

// Reads `contents` as the files' texts. Errors: INVALID_FIELD of the setting that names the file
// and what is wrong with it: no PEM, a malformed certificate, a key that does not belong to the
// certificate.
absl::StatusOr<Credentials> CheckCredentials(const CredentialFiles& files,
                                             const os::Contents& contents);

// When the first certificate of the chain expires, Unix time in seconds. Requires: there is one.
int64_t ValidUntil(const Credentials& credentials);

// The texts of which they were made.
os::Contents ContentsOf(const Credentials& credentials);

// The error of a file of a setting.
absl::Status FileError(const os::NamedFile& file, const std::string& problem);

// Why OpenSSL's last call failed. Empties its queue of errors.
std::string LastError();

}  // namespace lockkeeper::tls
