// SPDX-License-Identifier: Apache-2.0
#include "support/tls/test_authority.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace lockkeeper::support {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

void Require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("test authority: " + what);
}

EVP_PKEY* NewKey() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  Require(key != nullptr, "no key");
  return key;
}

File Create(const std::string& path) {
  File file(std::fopen(path.c_str(), "we"));
  Require(file != nullptr, "cannot write " + path);
  return file;
}

void WriteKey(EVP_PKEY* key, const std::string& path, const std::string& passphrase = "") {
  const File file = Create(path);
  const EVP_CIPHER* cipher = passphrase.empty() ? nullptr : EVP_aes_256_cbc();
  Require(PEM_write_PKCS8PrivateKey(file.get(), key, cipher, passphrase.c_str(),
                                    static_cast<int>(passphrase.size()), nullptr, nullptr) == 1,
          "cannot write a key");
}

void SetName(X509_NAME* name, const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.c_str());
  Require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) == 1, "name");
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value);
  X509_EXTENSION_free(extension);
}

// Unsigned.
Certificate NewCertificate(EVP_PKEY* key, const CertificateWish& wish, const std::string& issuer,
                           int serial) {
  Certificate certificate(X509_new(), X509_free);
  X509* x509 = certificate.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), serial);
  X509_time_adj_ex(X509_getm_notBefore(x509), 0, std::chrono::seconds(wish.valid_from).count(),
                   nullptr);
  X509_time_adj_ex(X509_getm_notAfter(x509), 0, std::chrono::seconds(wish.valid_until).count(),
                   nullptr);
  SetName(X509_get_subject_name(x509), wish.common_name);
  SetName(X509_get_issuer_name(x509), issuer);
  Require(X509_set_pubkey(x509, key) == 1, "public key");
  return certificate;
}

void SignAndWrite(X509* certificate, EVP_PKEY* by, const std::string& path) {
  Require(X509_sign(certificate, by, EVP_sha256()) > 0, "cannot sign");
  Require(PEM_write_X509(Create(path).get(), certificate) == 1, "cannot write a certificate");
}

std::string AlternativeNames(const CertificateWish& wish) {
  std::string text;
  const auto add = [&](const std::string& kind, const std::string& value) {
    text += (text.empty() ? "" : ",") + kind + ":" + value;
  };
  for (const std::string& name : wish.names) add("DNS", name);
  for (const std::string& address : wish.addresses) add("IP", address);
  if (!wish.uri.empty()) add("URI", wish.uri);
  return text;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : name_(name), key_(NewKey()) {
  const Certificate own = NewCertificate(key_, {.common_name = name}, name, 1);
  AddExtension(own.get(), NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(own.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  SignAndWrite(own.get(), key_, ca_file());
}

TestAuthority::~TestAuthority() { EVP_PKEY_free(key_); }

TlsFiles TestAuthority::Issue(const CertificateWish& wish) {
  const std::string stem = directory_.Path(std::to_string(++issued_));
  const TlsFiles files{stem + "-certificate.pem", stem + "-key.pem"};
  const Key key(NewKey(), EVP_PKEY_free);
  const Certificate certificate = NewCertificate(key.get(), wish, name_, issued_ + 1);
  const std::string names = AlternativeNames(wish);
  if (!names.empty()) AddExtension(certificate.get(), NID_subject_alt_name, names);
  if (!wish.extended_key_usage.empty()) {
    AddExtension(certificate.get(), NID_ext_key_usage, wish.extended_key_usage);
  }
  SignAndWrite(certificate.get(), key_, files.certificate);
  WriteKey(key.get(), files.key);
  return files;
}

std::string TestAuthority::LockedKey(const TlsFiles& files) {
  const File file(std::fopen(files.key.c_str(), "re"));
  Require(file != nullptr, "cannot read " + files.key);
  const Key key(PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  Require(key != nullptr, "no key in " + files.key);
  WriteKey(key.get(), files.key + ".locked", "passphrase");
  return files.key + ".locked";
}

}  // namespace lockkeeper::support
