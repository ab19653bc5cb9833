// SPDX-License-Identifier: Apache-2.0
// Which proof counts, and that what proves nothing is never anonymous.
#include "access/rulebook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "access/access_control.h"
#include "access/access_files.h"
#include "core/errors.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::access {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kNow = absl::FromCivil(absl::CivilDay(2026, 11, 23), absl::UTCTimeZone());

constexpr char kRoles[] =
    "roles: {user: {rules: [{verbs: [acquire], prefixes: ['{principal}/']}]}}\n"
    "bindings: [{roles: user, principals: '*'}]\n";

class RulebookTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Path(name)) << text;
  }
  void WriteTokens(const std::string& token, const std::string& principal,
                   const std::string& more = "") const {
    Write("tokens.yaml",
          "tokens: [{name: " + principal + ", sha256: " + HashToken(token) + more + "}]");
  }
  std::shared_ptr<const Rulebook> Load() const {
    const LoadedRulebook made = Make();
    EXPECT_THAT(made.problems, IsEmpty());
    return made.rulebook;
  }
  // From the files that were written.
  LoadedRulebook Make() const {
    AccessFiles files;
    files.policy = directory_.Path("policy.yaml");
    files.tokens = directory_.Path("tokens.yaml");
    if (!std::filesystem::exists(files.policy)) files.policy = "";
    if (!std::filesystem::exists(files.tokens)) files.tokens = "";
    os::Contents contents;
    if (const text::Problem problem = AccessFilesReader(files).Read(contents)) {
      return {.rulebook = nullptr, .problems = {*problem}, .warnings = {}};
    }
    return MakeRulebook(files, contents, kNow);
  }

  static Credentials Bearer(std::string_view value) { return {.authorization = {value}}; }
  static Credentials Certificate(std::vector<std::string_view> spiffe,
                                 std::vector<std::string_view> dns, std::string_view cn) {
    Credentials shown;
    shown.certificate.emplace(std::move(spiffe), std::move(dns), cn);
    return shown;
  }

  static std::string PrincipalOf(const absl::StatusOr<std::shared_ptr<const Standing>>& standing) {
    if (standing.ok()) return (*standing)->identity.principal;
    EXPECT_EQ(core::ReasonOf(standing.status()), core::ErrorReason::kUnauthenticated);
    return "rejected: " + std::string(standing.status().message());
  }

  const support::TemporaryDirectory directory_;
};

TEST_F(RulebookTest, WithoutFilesAllIsAllowedAndTokensAreRejected) {
  const Rulebook rules;
  const auto anonymous = rules.Identify({}, kNow);
  EXPECT_EQ(PrincipalOf(anonymous), "anonymous");
  EXPECT_TRUE((*anonymous)->rights->Allows(Verb::kForceRelease, "x"));
  EXPECT_EQ(PrincipalOf(rules.Identify(Certificate({}, {}, "ann"), kNow)), "ann");
  EXPECT_THAT(PrincipalOf(rules.Identify(Bearer("Bearer x"), kNow)), HasSubstr("not known"));
}

TEST_F(RulebookTest, TokenCountsMoreThanACertificate) {
  WriteTokens("secret", "ci");
  const auto rules = Load();
  Credentials both = Certificate({}, {}, "mesh-proxy");
  EXPECT_EQ(PrincipalOf(rules->Identify(both, kNow)), "mesh-proxy");
  both.authorization = {"Bearer secret"};
  EXPECT_EQ(PrincipalOf(rules->Identify(both, kNow)), "ci");
  both.authorization = {"Bearer wrong"};
  EXPECT_THAT(PrincipalOf(rules->Identify(both, kNow)), HasSubstr("not known"));
}

TEST_F(RulebookTest, AuthorizationThatProvesNothingIsNeverAnonymous) {
  WriteTokens("secret", "ci");
  const auto rules = Load();
  EXPECT_EQ(PrincipalOf(rules->Identify(Bearer("bearer  secret"), kNow)), "ci");
  for (const char* value :
       {"", "Bearer", "Bearer ", "secret", "Basic c2VjcmV0", "Bearer secret ", "Bearer  "}) {
    EXPECT_THAT(PrincipalOf(rules->Identify(Bearer(value), kNow)), HasSubstr("rejected")) << value;
  }
  EXPECT_THAT(
      PrincipalOf(rules->Identify({.authorization = {"Bearer secret", "Bearer secret"}}, kNow)),
      HasSubstr("given once"));
}

TEST_F(RulebookTest, TokenThatExpiresIsRejectedAlthoughItWasRemembered) {
  WriteTokens("secret", "ci", ", expires: 2026-11-24T00:00:00Z");
  const auto rules = Load();
  const auto standing = rules->Identify(Bearer("Bearer secret"), kNow);
  ASSERT_EQ(PrincipalOf(standing), "ci");
  EXPECT_EQ((*standing)->until, kNow + absl::Hours(24));
  EXPECT_EQ(*rules->Identify(Bearer("Bearer secret"), kNow), *standing) << "remembered";
  EXPECT_THAT(PrincipalOf(rules->Identify(Bearer("Bearer secret"), kNow + absl::Hours(24))),
              HasSubstr("has expired"));
}

TEST_F(RulebookTest, CertificateIsNamedByItsMostExactName) {
  const Rulebook rules;
  EXPECT_EQ(PrincipalOf(rules.Identify(Certificate({"spiffe://a/b"}, {"host"}, "cn"), kNow)),
            "spiffe://a/b");
  EXPECT_EQ(PrincipalOf(rules.Identify(Certificate({}, {"host", "other"}, "cn"), kNow)), "host");
  EXPECT_THAT(PrincipalOf(rules.Identify(Certificate({}, {}, ""), kNow)), HasSubstr("no name"));
  EXPECT_THAT(PrincipalOf(rules.Identify(Certificate({}, {}, "anonymous"), kNow)),
              HasSubstr("cannot be a principal"));
}

TEST_F(RulebookTest, FirstEntryThatMatchesTheCertificateCounts) {
  Write("policy.yaml",
        "certificates:\n"
        "  - {from: dns, match: '*.jobs.example', principal: 'jobs/*'}\n"
        "  - {from: cn, match: admin, principal: root}\n");
  const auto rules = Load();
  EXPECT_EQ(PrincipalOf(rules->Identify(Certificate({}, {"x", "a.jobs.example"}, "admin"), kNow)),
            "jobs/a");
  EXPECT_EQ(PrincipalOf(rules->Identify(Certificate({"spiffe://a/b"}, {}, "admin"), kNow)), "root");
  EXPECT_THAT(PrincipalOf(rules->Identify(Certificate({"spiffe://a/b"}, {"x"}, "ann"), kNow)),
              HasSubstr("no entry of certificates"));
}

// A name that is cut into others differently must not be remembered as the same.
TEST_F(RulebookTest, CertificatesAreRememberedApart) {
  Write("policy.yaml", "certificates: [{from: dns, match: '*', principal: '*'}]\n");
  const auto rules = Load();
  EXPECT_EQ(PrincipalOf(rules->Identify(Certificate({}, {"a1:b"}, ""), kNow)), "a1:b");
  EXPECT_EQ(PrincipalOf(rules->Identify(Certificate({}, {"a", "b"}, ""), kNow)), "a");
  EXPECT_THAT(PrincipalOf(rules->Identify(Certificate({"a"}, {}, ""), kNow)),
              HasSubstr("no entry"));
}

TEST_F(RulebookTest, EachCallerHasTheRightsOfItsName) {
  Write("policy.yaml", kRoles);
  WriteTokens("secret", "ci");
  const auto rules = Load();
  const auto ci = rules->Identify(Bearer("Bearer secret"), kNow);
  ASSERT_TRUE(ci.ok());
  EXPECT_TRUE((*ci)->rights->Allows(Verb::kAcquire, "ci/1"));
  EXPECT_FALSE((*ci)->rights->Allows(Verb::kAcquire, "anonymous/1"));
  EXPECT_TRUE((*rules->Identify({}, kNow))->rights->Allows(Verb::kAcquire, "anonymous/1"));
}

TEST_F(RulebookTest, PolicyWithoutRolesLimitsOnlyHowMuch) {
  Write("policy.yaml", "quotas: {leases: 7}\n");
  const auto anonymous = Load()->Identify({}, kNow);
  EXPECT_TRUE((*anonymous)->rights->Allows(Verb::kAdmin, ""));
  EXPECT_EQ((*anonymous)->rights->quotas().leases, 7);
}

TEST_F(RulebookTest, FloodOfCertificatesDoesNotFillTheMemory) {
  const Rulebook rules;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    ASSERT_EQ(PrincipalOf(rules.Identify(Certificate({}, {}, name), kNow)), name);
  }
  EXPECT_LE(rules.remembered(), 4'096U);
}

TEST_F(RulebookTest, ProblemsOfAllFilesAreTold) {
  Write("policy.yaml",
        "jwt: [{issuer: x, audience: y, jwks_file: keys.json}]\nroles: {a: {rulez: []}}\n");
  Write("tokens.yaml", "tokens: [{name: ci}]");
  EXPECT_THAT(Make().problems,
              ElementsAre(AllOf(HasSubstr("jwks_file"), HasSubstr(directory_.Path("keys.json")))));
  Write("keys.json", "{}");
  const LoadedRulebook made = Make();
  EXPECT_EQ(made.rulebook, nullptr);
  EXPECT_THAT(made.problems, ElementsAre(HasSubstr("policy.yaml:2: roles.a.rulez"),
                                         HasSubstr("tokens.yaml:1: tokens[1].sha256"),
                                         HasSubstr("keys.json: is no JSON Web Key Set")));
}

TEST_F(RulebookTest, WhatHasNoEffectIsAWarningThatNamesTheFile) {
  Write("policy.yaml",
        "roles: {a: {rules: [{verbs: fence, names: x}]}}\n"
        "bindings: [{roles: a, principals: '*', proofs: [anonymous, token]}]\n");
  EXPECT_THAT(
      Make().warnings,
      ElementsAre(directory_.Path("policy.yaml") +
                  ": bindings: one asks for the proof token, and there is no file of tokens"));
  WriteTokens("secret", "ci");
  EXPECT_THAT(Make().warnings, IsEmpty());
}

TEST_F(RulebookTest, NewRulebookIsSeenByItsGeneration) {
  AccessControl access(std::make_shared<Rulebook>(), [] { return kNow; });
  const uint64_t before = access.generation();
  Write("policy.yaml", kRoles);
  const auto rules = Load();
  access.Replace(rules);
  EXPECT_GT(access.generation(), before);
  EXPECT_EQ(access.Current(), rules);
}

}  // namespace
}  // namespace lockkeeper::access
