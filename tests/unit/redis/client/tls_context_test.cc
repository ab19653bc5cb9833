// SPDX-License-Identifier: Apache-2.0
// What the files of the TLS settings may hold, and how each that is no good is named.
#include "redis/client/tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "support/process/read_text.h"
#include "support/process/temporary_directory.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::redis {
namespace {

using support::TestAuthority;
using support::TlsFiles;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TlsContextTest : public testing::Test {
 protected:
  std::string Write(const std::string& content) {
    const std::string path = directory_.Path("written.pem");
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // What is wrong; the message begins with the setting and the file.
  static std::string ProblemOf(const TlsOptions& options, const std::string& field,
                               const std::string& file) {
    const auto context = TlsContext::Load(options);
    if (context.ok()) return "loaded";
    EXPECT_EQ(core::ReasonOf(context.status()), core::ErrorReason::kInvalidField);
    EXPECT_EQ(core::FieldOf(context.status()), field);
    const std::string begin = field + ": \"" + file + "\" ";
    const std::string message(context.status().message());
    EXPECT_THAT(message, StartsWith(begin));
    return message.size() < begin.size() ? "" : message.substr(begin.size());
  }
  static std::string CaProblem(const std::string& file) {
    return ProblemOf({.ca_file = file}, "store.redis_tls_ca_file", file);
  }
  std::string CertificateProblem(const std::string& file) {
    return ProblemOf({.certificate_file = file, .key_file = own_.key},
                     "store.redis_tls_certificate_file", file);
  }
  std::string KeyProblem(const std::string& file) {
    return ProblemOf({.certificate_file = own_.certificate, .key_file = file},
                     "store.redis_tls_key_file", file);
  }

  TestAuthority authority_;
  const TlsFiles own_ = authority_.Issue({.common_name = "daemon"});
  support::TemporaryDirectory directory_;
};

TEST_F(TlsContextTest, GoodFilesAreTaken) {
  EXPECT_TRUE(TlsContext::Load({}).ok());
  EXPECT_TRUE(TlsContext::Load({.ca_file = authority_.ca_file()}).ok());
  const auto both = TlsContext::Load({.ca_file = authority_.ca_file(),
                                      .certificate_file = own_.certificate,
                                      .key_file = own_.key});
  EXPECT_TRUE(both.ok()) << both.status();
}

TEST_F(TlsContextTest, SeveralCertificatesMayStandInAFile) {
  TestAuthority other("other");
  const std::string bundle = Write("of ours:\n" + support::ReadText(authority_.ca_file()) +
                                   "\n# of others\n" + support::ReadText(other.ca_file()));
  EXPECT_TRUE(TlsContext::Load({.ca_file = bundle}).ok());

  const std::string chain =
      Write(support::ReadText(own_.certificate) + support::ReadText(authority_.ca_file()));
  EXPECT_TRUE(TlsContext::Load({.certificate_file = chain, .key_file = own_.key}).ok());
}

TEST_F(TlsContextTest, FileThatCannotBeReadIsNamed) {
  const std::string missing = directory_.Path("missing.pem");

  EXPECT_EQ(CaProblem(missing), "cannot be opened: No such file or directory");
  EXPECT_EQ(CertificateProblem(missing), "cannot be opened: No such file or directory");
  EXPECT_EQ(KeyProblem(missing), "cannot be opened: No such file or directory");
  EXPECT_EQ(CaProblem(directory_.path()), "cannot be read: Is a directory");
  EXPECT_EQ(CaProblem(Write(std::string(2 << 20, 'x'))), "has more than 1048576 bytes");
}

TEST_F(TlsContextTest, FileWithoutACertificateIsNamed) {
  const std::string expected = "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)";
  for (const std::string& content :
       {std::string(), std::string("nonsense"), support::ReadText(own_.key)}) {
    EXPECT_EQ(CaProblem(Write(content)), expected);
    EXPECT_EQ(CertificateProblem(Write(content)), expected);
  }
}

TEST_F(TlsContextTest, SpoiltCertificateIsNotSkipped) {
  std::string spoilt = support::ReadText(own_.certificate);
  spoilt.replace(spoilt.size() / 2, 8, "////////");
  const std::string file =
      Write(support::ReadText(authority_.ca_file()) + spoilt.substr(0, 200) + "\n");

  EXPECT_THAT(CaProblem(file), StartsWith("holds a certificate that cannot be read: "));
}

TEST_F(TlsContextTest, KeyThatIsNoneIsNamedAndNotShown) {
  EXPECT_EQ(KeyProblem(own_.certificate),
            "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)");
  EXPECT_THAT(KeyProblem(Write("s3cret")), Not(HasSubstr("s3cret")));
}

TEST_F(TlsContextTest, KeyUnderAPassphraseIsNamedAndNobodyIsAsked) {
  EXPECT_EQ(KeyProblem(authority_.LockedKey(own_)),
            "is protected by a passphrase; give the key without one");
}

TEST_F(TlsContextTest, KeyOfAnotherCertificateIsNamed) {
  const TlsFiles other = authority_.Issue({.common_name = "other"});

  EXPECT_EQ(KeyProblem(other.key), "is not the key of the certificate in \"" + own_.certificate +
                                       "\" (store.redis_tls_certificate_file)");
}

}  // namespace
}  // namespace lockkeeper::redis
