// SPDX-License-Identifier: Apache-2.0
// What the file of --policy may hold, and that each problem names its line and what is allowed.
#include "access/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace lockkeeper::access {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

PolicyFile Parse(std::string_view text) { return ParsePolicy(text, "p.yaml"); }

constexpr std::string_view kWhole = R"(
certificates:
  - {from: spiffe, match: "spiffe://prod.example.com/*", principal: "prod/*"}
  - from: cn
    match: admin
    principal: root
jwt:
  - issuer: https://kubernetes.default.svc
    audience: lockkeeper
    jwks_file: /etc/lockkeeper/jwks.json
    leeway: 10s
    match: "system:serviceaccount:*"
    principal: "k8s:*"
roles:
  worker:
    rules:
      - verbs: [acquire, extend, release, fence]
        prefixes: [jobs/, "home/{principal}/"]
        names: nightly
      - {verbs: inspect, prefixes: [""]}
    quotas: {leases: 100, operations_per_second: 50, max_ttl: 1m, max_wait: 30s}
  operator:
    rules:
      - {verbs: [force-release, list, inspect], prefixes: [""]}
      - {verbs: [end-quarantine, admin]}
bindings:
  - {roles: [worker], principals: ["prod/*"], proofs: [certificate]}
  - {roles: worker, principals: "k8s:*", issuers: [https://kubernetes.default.svc]}
  - {roles: [worker, operator], principals: [root]}
quotas: {waiters: 10}
)";

TEST(PolicyFileTest, WholeFileIsRead) {
  const PolicyFile file = Parse(kWhole);

  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.warnings, IsEmpty());
  EXPECT_TRUE(file.policy.restrict());
  ASSERT_THAT(file.certificates, SizeIs(2));
  EXPECT_EQ(file.certificates[0].mapping.Map("spiffe://prod.example.com/a/b"), "prod/a/b");
  EXPECT_EQ(file.certificates[1].field, CertificateField::kCommonName);
  ASSERT_THAT(file.issuers, SizeIs(1));
  EXPECT_EQ(file.issuers[0].leeway, seconds(10));
  EXPECT_EQ(file.issuers[0].claim, "sub");
  const Policy policy(file.policy);
  const auto rights =
      policy.RightsOf({.principal = "prod/a", .proof = Proof::kCertificate, .issuer = ""});
  EXPECT_TRUE(rights->Allows(Verb::kAcquire, "jobs/1"));
  EXPECT_TRUE(rights->Allows(Verb::kRelease, "nightly"));
  EXPECT_FALSE(rights->Allows(Verb::kForceRelease, "jobs/1"));
  EXPECT_EQ(rights->quotas().max_ttl, minutes(1));
  EXPECT_EQ(rights->quotas().waiters, 10);
}

TEST(PolicyFileTest, EmptyFileRestrictsNothing) {
  for (const char* text : {"", "# nothing\n", "roles:\nbindings: []\n", "certificates: []\n"}) {
    const PolicyFile file = Parse(text);
    EXPECT_THAT(file.problems, IsEmpty()) << text;
    EXPECT_FALSE(file.policy.restrict()) << text;
  }
}

TEST(PolicyFileTest, RoleWithoutRulesRestricts) {
  EXPECT_TRUE(Parse("roles: {nobody: {rules: []}}").policy.restrict());
}

struct Bad {
  const char* name;
  const char* text;
  const char* line;  // "p.yaml:3: "
  const char* says;
};

class BadPolicyTest : public testing::TestWithParam<Bad> {};

TEST_P(BadPolicyTest, IsRejectedWithItsLine) {
  EXPECT_THAT(Parse(GetParam().text).problems,
              Contains(AllOf(StartsWith(GetParam().line), HasSubstr(GetParam().says))));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadPolicyTest,
    testing::Values(
        Bad{"key", "rules: []\n", "p.yaml:1: ", "rules: unknown key; did you mean \"roles\"?"},
        Bad{"list", "- roles\n", "p.yaml:1: ", "must consist of keys and values"},
        Bad{"twice", "roles: {}\nroles: {}\n", "p.yaml:2: ", "given twice, first in line 1"},
        Bad{"yaml", "roles: [\n", "p.yaml:2: ", "is not valid YAML"},
        Bad{"document", "roles: {}\n---\nroles: {}\n", "p.yaml:2: ", "a second document"},
        Bad{"verb", "roles:\n  a:\n    rules:\n      - {verbs: [aquire], prefixes: [x]}\n",
            "p.yaml:4: ", "is \"aquire\"; did you mean \"acquire\"?"},
        Bad{"no_verb", "roles:\n  a:\n    rules: [{prefixes: [x]}]\n",
            "p.yaml:3: ", "roles.a.rules[1].verbs: must be given"},
        Bad{"no_lock", "roles:\n  a:\n    rules: [{verbs: [acquire]}]\n",
            "p.yaml:3: ", "must name its locks"},
        Bad{"open_prefix", "roles: {a: {rules: [{verbs: list, prefixes: \"x/{principal}\"}]}}\n",
            "p.yaml:1: ", "a '/' must follow {principal}"},
        Bad{"open_colon", "roles: {a: {rules: [{verbs: list, prefixes: \"{principal}:x\"}]}}\n",
            "p.yaml:1: ", "a '/' must follow {principal}"},
        Bad{"braces", "roles: {a: {rules: [{verbs: list, names: \"{user}\"}]}}\n",
            "p.yaml:1: ", "the only word in braces is {principal}"},
        Bad{"nested_braces",
            "roles: {a: {rules: [{verbs: list, names: \"{prin{principal}cipal}\"}]}}\n",
            "p.yaml:1: ", "the only word in braces is {principal}"},
        Bad{"control", "roles: {\"a\\tb\": {rules: []}}\n",
            "p.yaml:1: ", "roles: must be UTF-8 without control characters, is \"a\\tb\""},
        Bad{"not_utf8", "roles: {a: {rules: [{verbs: list, names: \"\xff\"}]}}\n",
            "p.yaml:1: ", "names: must be UTF-8 without control characters, is \"\\xff\""},
        Bad{"odd_key", "\"ro\\nles\": {}\n", "p.yaml:1: ", "ro\\x0ales: unknown key"},
        Bad{"no_name", "roles: {a: {rules: [{verbs: list, names: [\"\"]}]}}\n",
            "p.yaml:1: ", "a lock's name is not empty"},
        Bad{"role",
            "roles: {worker: {rules: []}}\nbindings:\n  - {roles: [wroker], principals: [a]}\n",
            "p.yaml:3: ", "there is no role \"wroker\"; did you mean \"worker\"?"},
        Bad{"principals", "roles: {a: {rules: []}}\nbindings: [{roles: a}]\n",
            "p.yaml:2: ", "principals: must be given"},
        Bad{"star", "roles: {a: {rules: []}}\nbindings: [{roles: a, principals: \"a*b\"}]\n",
            "p.yaml:2: ", "'*' may stand at the end only"},
        Bad{"proof",
            "roles: {a: {rules: []}}\nbindings: [{roles: a, principals: b, proofs: tls}]\n",
            "p.yaml:2: ", "must be one of anonymous, certificate, jwt, token"},
        Bad{"issuer",
            "roles: {a: {rules: []}}\nbindings: [{roles: a, principals: b, issuers: x}]\n",
            "p.yaml:2: ", "no entry of jwt has the issuer \"x\""},
        Bad{"quota", "quotas: {leases: many}\n", "p.yaml:1: ", "quotas.leases: must be a number"},
        Bad{"negative", "quotas: {leases: -1}\n", "p.yaml:1: ", "from 0 to 1000000000"},
        Bad{"unit", "quotas: {max_ttl: 30}\n", "p.yaml:1: ", "quotas.max_ttl: "},
        Bad{"short_ttl", "quotas: {max_ttl: 1ms}\n", "p.yaml:1: ", "must be 100ms to 24h, is 1ms"},
        Bad{"jwt", "jwt: [{issuer: x, audience: y}]\n",
            "p.yaml:1: ", "jwt[1].jwks_file: must be given"},
        Bad{"same_jwt",
            "jwt:\n  - {issuer: x, audience: y, jwks_file: z}\n  - {issuer: x, audience: y, "
            "jwks_file: z}\n",
            "p.yaml:3: ", "stand in another entry"},
        Bad{"field", "certificates: [{from: email, match: a, principal: b}]\n",
            "p.yaml:1: ", "must be one of cn, dns, spiffe"},
        Bad{"stars", "certificates: [{from: cn, match: \"*a*\", principal: b}]\n",
            "p.yaml:1: ", "match: may have one '*'"},
        Bad{"anonymous", "certificates: [{from: cn, match: a, principal: anonymous}]\n",
            "p.yaml:1: ", "not \"anonymous\""}),
    [](const auto& bad) { return std::string(bad.param.name); });

TEST(PolicyFileTest, WhatHasNoEffectIsAWarning) {
  const PolicyFile file = Parse(
      "roles:\n"
      "  unbound: {rules: [{verbs: fence, prefixes: a}]}\n"
      "  keeper: {rules: [{verbs: acquire, prefixes: a}]}\n"
      "  late: {rules: [{verbs: extend, prefixes: a}]}\n"
      "bindings: [{roles: [keeper, late], principals: b}]\n");

  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.warnings,
              ElementsAre(HasSubstr("p.yaml:3: roles.keeper: may acquire and not release"),
                          HasSubstr("p.yaml:4: roles.late: may extend or release and not acquire"),
                          HasSubstr("p.yaml:2: roles.unbound: no binding gives it")));
}

}  // namespace
}  // namespace lockkeeper::access
