// SPDX-License-Identifier: Apache-2.0
#include "access/policy_warnings.h"

#include <gmock/gmock.h>

#include "absl/time/time.h"

namespace lockkeeper::access {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kIssuer[] = "jwt: [{issuer: here, audience: x, jwks_file: k.json}]\n";

PolicyFile Parse(const std::string& text) {
  PolicyFile file = ParsePolicy(text, "policy.yaml");
  EXPECT_THAT(file.problems, IsEmpty());
  return file;
}

// With a token that proves the name "ci".
std::vector<std::string> WarningsFor(const std::string& text,
                                     const PolicySurroundings& around = {}) {
  const TokenFile tokens = ParseTokens("tokens: [{name: ci, sha256: " + HashToken("x") + "}]",
                                       "tokens.yaml", absl::UnixEpoch());
  EXPECT_THAT(tokens.problems, IsEmpty());
  return WarningsOf(Parse(text), tokens.tokens, around);
}

// A policy with one binding, of which this is a part.
std::vector<std::string> WarningsForBinding(const std::string& binding,
                                            const PolicySurroundings& around = {},
                                            const std::string& more = "") {
  return WarningsFor(more +
                         "roles: {a: {rules: [{verbs: fence, names: x}]}}\nbindings: [{roles: a, " +
                         binding + "}]\n",
                     around);
}

const PolicySurroundings kNoCertificates{.has_mutual_tls = false};

TEST(PolicyWarningsTest, ProofThatNobodyCanGiveIsNamed) {
  EXPECT_THAT(WarningsForBinding("principals: '*', proofs: [anonymous, token, jwt, certificate]",
                                 {.has_tokens = false, .has_mutual_tls = false}),
              ElementsAre("bindings: one asks for the proof token, and there is no file of tokens",
                          "bindings: no listener asks for certificates (mtls://)",
                          "bindings: one asks for the proof jwt, and there is no jwt entry"));
}

TEST(PolicyWarningsTest, MappingOfCertificatesThatNobodyAsksForIsNamed) {
  const std::string text = "certificates: [{from: cn, match: a, principal: a}]\n";
  EXPECT_THAT(WarningsFor(text), IsEmpty());
  EXPECT_THAT(WarningsFor(text, kNoCertificates),
              ElementsAre("certificates: no listener asks for certificates (mtls://)"));
}

TEST(PolicyWarningsTest, BindingThatCanMatchNobodyIsNamed) {
  const auto nobody = ElementsAre("bindings[1]: nobody can prove one of its principals");
  EXPECT_THAT(WarningsForBinding("principals: bob", kNoCertificates), nobody);
  EXPECT_THAT(WarningsForBinding("principals: [bob, 'd*']", kNoCertificates), nobody);
  EXPECT_THAT(WarningsForBinding("principals: bob, proofs: token"), nobody);
  EXPECT_THAT(WarningsForBinding("principals: bob, proofs: anonymous"), nobody);
  EXPECT_THAT(WarningsForBinding("principals: anonymous, proofs: [token, certificate]"), nobody);
  EXPECT_THAT(WarningsForBinding("principals: anonymous, issuers: here", {}, kIssuer), nobody);
}

TEST(PolicyWarningsTest, BindingThatMayMatchSomebodyIsNotNamed) {
  EXPECT_THAT(WarningsForBinding("principals: bob"), IsEmpty()) << "by a certificate";
  EXPECT_THAT(WarningsForBinding("principals: bob, proofs: certificate"), IsEmpty());
  EXPECT_THAT(WarningsForBinding("principals: bob", kNoCertificates, kIssuer), IsEmpty())
      << "by a JWT";
  EXPECT_THAT(WarningsForBinding("principals: bob, issuers: here", kNoCertificates, kIssuer),
              IsEmpty());
  for (const char* principals : {"ci", "'c*'", "[bob, ci]", "anonymous", "'*'"}) {
    EXPECT_THAT(WarningsForBinding("principals: " + std::string(principals), kNoCertificates),
                IsEmpty())
        << principals;
  }
}

TEST(PolicyWarningsTest, QuotaBeyondTheLimitOfAllIsNamed) {
  const PolicySurroundings around{
      .longest_ttl = core::Millis(60'000), .max_wait = core::Millis(1'000), .waiters_max = 10};
  const auto policy_of = [](const std::string& quotas) {
    return "quotas: {" + quotas + "}\nroles: {a: {quotas: {" + quotas +
           "}, rules: [{verbs: fence, names: x}]}}\nbindings: [{roles: a, principals: '*'}]\n";
  };
  EXPECT_THAT(WarningsFor(policy_of("max_ttl: 1m, max_wait: 1s, waiters: 10"), around), IsEmpty());
  EXPECT_THAT(WarningsFor(policy_of("max_ttl: 1h, max_wait: 2s, waiters: 11"), around),
              ElementsAre("quotas.max_ttl: 1h has no effect: no lock's ttl may be longer than 1m",
                          "quotas.max_wait: 2s has no effect: waiters.max_wait is 1s",
                          "quotas.waiters: 11 has no effect: waiters.per_principal_max is 10",
                          "roles.a.quotas.max_ttl: 1h has no effect: no lock's ttl may be longer "
                          "than 1m",
                          "roles.a.quotas.max_wait: 2s has no effect: waiters.max_wait is 1s",
                          "roles.a.quotas.waiters: 11 has no effect: waiters.per_principal_max is "
                          "10"));
}

}  // namespace
}  // namespace lockkeeper::access
