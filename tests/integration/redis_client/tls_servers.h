// SPDX-License-Identifier: Apache-2.0
//
// Real redis-servers that speak TLS, and how to reach them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "node_harness.h"
#include "redis/client/tls_context.h"
#include "support/process/redis_server.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::redis {

enum class AskClients { kNo, kYes };

// Settings of a redis-server that shows `own` and, if it asks its clients for certificates, trusts
// those of `authority`.
inline std::vector<std::string> TlsSettings(const support::TlsFiles& own, AskClients ask,
                                            const support::TestAuthority& authority) {
  return {"tls-cert-file " + own.certificate, "tls-key-file " + own.key,
          "tls-ca-cert-file " + authority.ca_file(),
          std::string("tls-auth-clients ") + (ask == AskClients::kYes ? "yes" : "no")};
}

inline std::shared_ptr<const TlsContext> LoadTls(const TlsOptions& options) {
  auto context = TlsContext::Load(options);
  if (!context.ok()) throw std::runtime_error(std::string(context.status().message()));
  return *context;
}

// Options that trust `authority`.
inline NodeHarness::Adjust Trusting(const support::TestAuthority& authority) {
  return [tls = LoadTls({.ca_file = authority.ca_file()})](RedisNodeOptions& options) {
    options.tls = tls;
  };
}

}  // namespace lockkeeper::redis
