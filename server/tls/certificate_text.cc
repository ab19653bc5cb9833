// SPDX-License-Identifier: Apache-2.0
#include "tls/certificate_text.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

namespace lockkeeper::tls {
namespace {

// What an OpenSSL function prints into a BIO. Bytes that are no plain text become '?': it is the
// other end that chose them.
template <typename Print>
std::string Printed(Print print) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  if (bio == nullptr) return "";
  print(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  std::string text(data, size > 0 ? static_cast<size_t>(size) : 0);
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(address) == sizeof(in_addr) ? AF_INET : AF_INET6;
  const int size = family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
  if (ASN1_STRING_length(address) != size) return "?";
  inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof text);
  return text;
}

// The hosts that the certificate is for, as far as a line can tell: "a.example, 10.0.0.1".
std::string Names(const X509* certificate) {
  constexpr int kNamesMax = 5;
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::string text;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  for (int i = 0; i < std::min(count, kNamesMax); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    std::string one;
    if (name->type == GEN_DNS) {
      one = Printed([&](BIO* bio) { ASN1_STRING_print(bio, name->d.dNSName); });
    } else if (name->type == GEN_IPADD) {
      one = AddressText(name->d.iPAddress);
    } else {
      continue;
    }
    text += (text.empty() ? "" : ", ") + one;
  }
  return text + (count > kNamesMax ? " and more" : "");
}

}  // namespace

std::string DescribeCertificate(const X509* certificate) {
  ERR_set_mark();
  std::string text = Printed([&](BIO* bio) {
    X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
  });
  const std::string names = Names(certificate);
  if (!names.empty()) text += ", for " + names;
  text += ", valid until ";
  text += Printed([&](BIO* bio) { ASN1_TIME_print(bio, X509_get0_notAfter(certificate)); });
  ERR_pop_to_mark();  // Of what could not be printed. It would be taken for the connection's.
  return text;
}

}  // namespace lockkeeper::tls
