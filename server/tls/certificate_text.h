// SPDX-License-Identifier: Apache-2.0
//
// A certificate in one line, for people.
#pragma once

#include <string>

struct x509_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace lockkeeper::tls {

// "CN = redis, for redis.example.org, 10.0.0.1, valid until Nov 20 10:00:00 2026 GMT"
std::string DescribeCertificate(const x509_st* certificate);

}  // namespace lockkeeper::tls
