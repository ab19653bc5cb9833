// SPDX-License-Identifier: Apache-2.0
#include "tls/credentials.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <new>
#include <utility>

#include "core/errors.h"

namespace lockkeeper::tls {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

Bio Open(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) throw std::bad_alloc();
  ERR_clear_error();
  return bio;
}

// Nobody is there who could be asked for a passphrase.
int NoPassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// The certificates of a file, at least one.
absl::StatusOr<std::vector<Certificate>> Certificates(const os::NamedFile& file,
                                                      const std::string& text) {
  std::vector<Certificate> certificates;
  const Bio bio = Open(text);
  bool asked = false;
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, &asked)) {
    certificates.emplace_back(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = LastError();
  if (!at_end) return FileError(file, "holds a certificate that cannot be read: " + reason);
  if (certificates.empty()) {
    return FileError(file, "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  }
  return certificates;
}

absl::StatusOr<PrivateKey> Key(const os::NamedFile& file, const std::string& text) {
  const Bio bio = Open(text);
  bool asked = false;
  PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, &asked));
  ERR_clear_error();
  if (asked) return FileError(file, "is protected by a passphrase; give the key without one");
  if (key == nullptr) {
    return FileError(file, "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)");
  }
  return key;
}

}  // namespace

void FreeCertificate::operator()(x509_st* certificate) const { X509_free(certificate); }
void FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

os::FileSet FilesOf(const CredentialFiles& files) {
  return {.files = {files.authorities, files.certificate, files.key}};
}

absl::StatusOr<os::Contents> ReadCredentials(const CredentialFiles& files) {
  const os::FileSet set = FilesOf(files);
  os::Contents contents;
  const text::Problem problem = os::ReadTogether(set, contents);
  if (!problem) return contents;
  for (const os::NamedFile& file : set.files) {
    const std::string begin = file.name + ": ";
    if (problem->starts_with(begin)) {
      return core::InvalidField(file.name, problem->substr(begin.size()));
    }
  }
  return core::Error(core::ErrorReason::kInvalidField, *problem);
}

absl::StatusOr<Credentials> CheckCredentials(const CredentialFiles& files,
                                             const os::Contents& contents) {
  Credentials found{.authorities = {},
                    .chain = {},
                    .key = nullptr,
                    .authorities_pem = contents[0],
                    .chain_pem = contents[1],
                    .key_pem = contents[2]};
  if (!files.authorities.path.empty()) {
    auto authorities = Certificates(files.authorities, found.authorities_pem);
    if (!authorities.ok()) return authorities.status();
    found.authorities = *std::move(authorities);
  }
  if (files.certificate.path.empty()) return found;
  auto chain = Certificates(files.certificate, found.chain_pem);
  if (!chain.ok()) return chain.status();
  found.chain = *std::move(chain);
  auto key = Key(files.key, found.key_pem);
  if (!key.ok()) return key.status();
  found.key = *std::move(key);
  if (X509_check_private_key(found.chain.front().get(), found.key.get()) != 1) {
    ERR_clear_error();
    return FileError(files.key, "is not the key of the certificate in \"" + files.certificate.path +
                                    "\" (" + files.certificate.name + ")");
  }
  return found;
}

int64_t ValidUntil(const Credentials& credentials) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Certificate& certificate : credentials.chain) {
    std::tm end{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) continue;
    first = std::min<int64_t>(first, timegm(&end));
  }
  return first;
}

os::Contents ContentsOf(const Credentials& credentials) {
  return {credentials.authorities_pem, credentials.chain_pem, credentials.key_pem};
}

absl::Status FileError(const os::NamedFile& file, const std::string& problem) {
  return core::InvalidField(file.name, "\"" + file.path + "\" " + problem);
}

std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "it cannot be read" : reason;
}

}  // namespace lockkeeper::tls
