// SPDX-License-Identifier: Apache-2.0
//
// Reads the file of --policy: who proves what by what, roles, bindings and quotas. docs/reference
// has each key.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "access/name_mapping.h"
#include "access/policy.h"

namespace lockkeeper::access {

// Which name of a client's certificate is mapped.
enum class CertificateField { kSpiffe, kDns, kCommonName };

struct CertificateMapping {
  CertificateField field = CertificateField::kSpiffe;
  NameMapping mapping;
};

// Whose JWTs prove who the caller is.
struct JwtIssuer {
  std::string issuer;     // `iss` must be this.
  std::string audience;   // `aud` must be this, or contain it.
  std::string jwks_file;  // The issuer's public keys.
  std::string claim = "sub";
  std::chrono::seconds leeway{30};  // What the issuer's clock may differ from ours.
  NameMapping mapping{.match = "*", .principal = "*"};
};

struct PolicyFile {
  // The first that matches counts. Empty: the SPIFFE id, else the first DNS name, else the CN.
  std::vector<CertificateMapping> certificates;
  std::vector<JwtIssuer> issuers;
  Policy::Parts policy;

  std::vector<std::string> problems;  // Each with "file:line: " before it. With one, do not use it.
  std::vector<std::string> warnings;  // What can have no effect, or less than it seems.
};

// `path` appears in the problems. A text that is not valid YAML is a problem.
PolicyFile ParsePolicy(std::string_view text, const std::string& path);

}  // namespace lockkeeper::access
