// SPDX-License-Identifier: Apache-2.0
// Which files the daemon can serve with, how the others are named, and what a change does.
#include "tls/server_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/errors.h"
#include "support/process/temporary_directory.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::tls {
namespace {

using std::chrono::hours;
using support::CertificateWish;
using support::TestAuthority;
using support::TlsFiles;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ServerIdentityTest : public testing::Test {
 protected:
  static CredentialFiles FilesOf(const TlsFiles& own, const std::string& ca_file = "") {
    return {.authorities = {"ca setting", ca_file},
            .certificate = {"certificate setting", own.certificate},
            .key = {"key setting", own.key}};
  }

  static std::string ProblemOf(const CredentialFiles& files) {
    const auto identity = ServerIdentity::Load(files);
    if (identity.ok()) return "loaded";
    EXPECT_EQ(core::ReasonOf(identity.status()), core::ErrorReason::kInvalidField);
    return std::string(identity.status().message());
  }

  TestAuthority authority_;
  const TlsFiles own_ = authority_.IssueForLocalhost();
  support::TemporaryDirectory directory_;
};

TEST_F(ServerIdentityTest, GoodFilesAreUsedAndDescribed) {
  const auto identity = ServerIdentity::Load(FilesOf(own_, authority_.ca_file()));

  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_THAT((*identity)->Describe(),
              StartsWith("CN = server, for localhost, 127.0.0.1, valid until "));
  EXPECT_EQ((*identity)->current()->authorities.size(), 1U);
  EXPECT_EQ((*identity)->current()->chain.size(), 1U);
}

TEST_F(ServerIdentityTest, EndOfTheWholeChainIsTheFirstOfIts) {
  const TlsFiles shorter = authority_.Issue({.valid_until = hours(2)});
  const auto long_lived = ServerIdentity::Load(FilesOf(own_));
  std::ofstream(own_.certificate, std::ios::app) << std::ifstream(shorter.certificate).rdbuf();
  const auto short_lived = ServerIdentity::Load(FilesOf(own_));

  ASSERT_TRUE(long_lived.ok() && short_lived.ok());
  EXPECT_NEAR(static_cast<double>((*long_lived)->valid_until() - (*short_lived)->valid_until()),
              22 * 3600, 60);
}

TEST_F(ServerIdentityTest, CertificateThatServersCannotUseIsNamed) {
  const auto problem_of = [&](const CertificateWish& wish) {
    const TlsFiles files = authority_.Issue(wish);
    const std::string problem = ProblemOf(FilesOf(files));
    EXPECT_THAT(problem, StartsWith("certificate setting: \"" + files.certificate + "\" "));
    return problem;
  };
  EXPECT_THAT(problem_of({.valid_from = hours(-48), .valid_until = hours(-24)}),
              HasSubstr("holds a certificate that has expired on 20"));
  EXPECT_THAT(problem_of({.valid_from = hours(24), .valid_until = hours(48)}),
              HasSubstr("holds a certificate that is not valid before 20"));
  EXPECT_THAT(problem_of({.extended_key_usage = "clientAuth"}),
              HasSubstr("may not be used by servers"));
  EXPECT_EQ(ProblemOf(FilesOf(authority_.Issue({.extended_key_usage = "serverAuth"}))), "loaded");
}

TEST_F(ServerIdentityTest, FileThatCannotBeUsedIsNamed) {
  const std::string missing = directory_.Path("missing.pem");
  const TlsFiles other = authority_.IssueForLocalhost();
  EXPECT_EQ(ProblemOf(FilesOf({missing, own_.key})),
            "certificate setting: \"" + missing + "\" cannot be opened: No such file or directory");
  EXPECT_EQ(ProblemOf(FilesOf({own_.key, own_.key})),
            "certificate setting: \"" + own_.key +
                "\" holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  EXPECT_EQ(ProblemOf(FilesOf({own_.certificate, other.key})),
            "key setting: \"" + other.key + "\" is not the key of the certificate in \"" +
                own_.certificate + "\" (certificate setting)");
  EXPECT_THAT(ProblemOf(FilesOf(own_, own_.key)),
              AllOf(StartsWith("ca setting: "), HasSubstr("holds no certificate in PEM form")));
}

TEST_F(ServerIdentityTest, ChangeIsANewVersionAndABrokenOneIsNone) {
  const auto identity = ServerIdentity::Load(FilesOf(own_));
  ASSERT_TRUE(identity.ok());
  const auto before = (*identity)->current();
  os::Contents contents = (*identity)->contents();

  contents[1] = "nonsense";
  EXPECT_THAT((*identity)->Take(contents).value_or(""), HasSubstr("holds no certificate"));
  EXPECT_EQ((*identity)->current(), before);

  const auto other = ServerIdentity::Load(FilesOf(authority_.IssueForLocalhost()));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*identity)->Take((*other)->contents()), std::nullopt);
  EXPECT_EQ((*identity)->current()->chain_pem, (*other)->current()->chain_pem);
  EXPECT_NE((*identity)->current(), before);
}

}  // namespace
}  // namespace lockkeeper::tls
