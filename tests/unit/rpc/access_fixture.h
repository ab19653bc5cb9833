// SPDX-License-Identifier: Apache-2.0
//
// A real server with a policy, tokens and the keys of an issuer of JWTs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access/access_control.h"
#include "access/rulebook.h"
#include "config/listen_address.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/server.h"
#include "support/access/key_pair.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/in_process_server.h"

namespace lockkeeper::rpc {

inline const std::string kLeaseId(core::HexId::kLength, 'a');
inline constexpr char kOwn[] = "own/1";
inline constexpr char kOther[] = "other/1";

inline constexpr char kPolicy[] = R"(
jwt:
  - {issuer: https://issuer, audience: lockkeeper, jwks_file: keys.json, principal: "jwt:*"}
roles:
  worker: {rules: [{verbs: [acquire, extend, release, fence], prefixes: [own/]}]}
  reader: {rules: [{verbs: [inspect, list], prefixes: [own/]}]}
  breaker: {rules: [{verbs: [force-release], prefixes: [own/]}]}
  admin: {rules: [{verbs: [admin, drain, end-quarantine]}]}
  guest: {rules: [{verbs: [fence], prefixes: [own/]}]}
bindings:
  - {roles: worker, principals: worker, proofs: token}
  - {roles: [worker, reader], principals: "jwt:*", issuers: "https://issuer"}
  - {roles: [breaker, admin], principals: operator}
  - {roles: guest, principals: anonymous}
)";

// "LEASE_LOST"; empty if it is no error.
inline std::string NameOf(const v1::OperationError& error) {
  if (error.code() == 0) return "";
  return v1::ErrorReason_Name(error.reason()).substr(std::string("ERROR_REASON_").size());
}

class AccessTest : public testing::Test {
 protected:
  static std::string Claims(const std::string& subject, int64_t expires) {
    return R"({"iss":"https://issuer","aud":"lockkeeper","sub":")" + subject + R"(","exp":)" +
           std::to_string(expires) + "}";
  }
  std::string Jwt(const support::KeyPair& key, int64_t expires = 2'000) {
    return "Bearer " + key.Jwt(Claims("ann", expires));
  }

  static std::string Token(const std::string& name, const std::string& token,
                           const std::string& more = "") {
    return "  - {name: " + name + ", sha256: " + access::HashToken(token) + more + "}\n";
  }
  std::string tokens_ = "tokens:\n" + Token("worker", "w") + Token("operator", "o") +
                        Token("nobody", "n") +
                        Token("worker", "old", ", expires: 1970-01-01T00:00:01Z");

  absl::Time Now() const { return absl::FromUnixSeconds(now_); }

  // With the tokens and the issuer's keys as they are now.
  std::shared_ptr<const access::Rulebook> Rules(const std::string& policy) {
    access::PolicyFile file = access::ParsePolicy(policy, "policy");
    access::TokenFile tokens = access::ParseTokens(tokens_, "tokens", Now());
    EXPECT_THAT(file.problems, testing::IsEmpty());
    EXPECT_THAT(tokens.problems, testing::IsEmpty());
    access::KeySet keys;
    EXPECT_EQ(access::KeySet::Parse(issuer_keys_, keys), std::nullopt);
    std::vector<std::pair<access::JwtIssuer, access::KeySet>> issuers;
    issuers.reserve(file.issuers.size());
    for (const access::JwtIssuer& issuer : file.issuers) issuers.emplace_back(issuer, keys);
    return std::make_shared<access::Rulebook>(std::move(file), std::move(tokens.tokens),
                                              access::JwtVerifier(std::move(issuers)));
  }

  // A server with this policy, and its address.
  std::string Serve(const std::string& policy) {
    return ServeAt({.path = directory_.Path("s")}, policy);
  }
  std::string ServeAt(const config::ListenAddress& listen, const std::string& policy,
                      const ServerOptions& options = {}) {
    access_.Replace(Rules(policy));
    ServiceDeps deps = {.loop = server_.loop(),
                        .locks = server_.locks(),
                        .admin = server_.store(),
                        .watches = server_.watches(),
                        .contended = server_.contended(),
                        .clock = server_.loop(),
                        .access = access_,
                        .limits = server_.limits(),
                        .health = server_.health(),
                        .metrics = server_.metrics(),
                        .logger = server_.Deps().logger,
                        .facts = {},
                        .daemon = server_.view(),
                        .reflection = reflection_};
    own_server_ = *Server::Start({listen}, std::move(deps), options);
    return own_server_->addresses().front().ToString();
  }

  std::atomic<int64_t> now_ = 1'000;  // Unix time.
  bool reflection_ = false;
  support::KeyPair key_{access::Signature::kEdDsa};
  std::string issuer_keys_ = support::KeySetOf({key_.Jwk("k")});
  support::KeyPair foreign_{access::Signature::kEdDsa};
  support::InProcessServer server_;
  support::TemporaryDirectory directory_;
  access::AccessControl access_{std::make_shared<access::Rulebook>(), [this] { return Now(); }};
  std::unique_ptr<Server> own_server_;
};

}  // namespace lockkeeper::rpc
