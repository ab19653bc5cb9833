// SPDX-License-Identifier: Apache-2.0
// Which JWTs are accepted. Tokens and keys are made here, with OpenSSL; the example of RFC 7515 and
// that of RFC 8037 show that others make the same.
#include "access/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "support/access/key_pair.h"

namespace lockkeeper::access {
namespace {

using support::Base64Url;
using support::KeyPair;
using support::KeySetOf;
using testing::HasSubstr;
using testing::Optional;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class JwtTest : public testing::Test {
 protected:
  static constexpr const char* kClaims =
      R"({"iss":"https://issuer","aud":"lockkeeper","sub":"ann","exp":1800000060})";

  JwtVerifier Verifier(const std::string& set) {
    KeySet keys;
    EXPECT_EQ(KeySet::Parse(set, keys), std::nullopt);
    std::vector<std::pair<JwtIssuer, KeySet>> issuers;
    issuers.emplace_back(issuer_, std::move(keys));
    return JwtVerifier(std::move(issuers));
  }

  std::string WhyNot(const std::string& claims) {
    const auto identity = Verifier(KeySetOf({key_.Jwk("k")})).Verify(key_.Jwt(claims), kNow);
    return identity.ok() ? "" : std::string(identity.status().message());
  }

  const KeyPair key_{Signature::kEdDsa};
  JwtIssuer issuer_{.issuer = "https://issuer", .audience = "lockkeeper", .jwks_file = "x"};
};

TEST_F(JwtTest, EachKindOfSignatureProvesTheSubject) {
  for (const Signature kind : {Signature::kRs256, Signature::kEs256, Signature::kEdDsa}) {
    const KeyPair key(kind);
    const auto identity = Verifier(KeySetOf({key.Jwk("k")})).Verify(key.Jwt(kClaims), kNow);
    ASSERT_TRUE(identity.ok()) << key.alg() << identity.status();
    EXPECT_EQ(identity->identity,
              (Identity{.principal = "ann", .proof = Proof::kJwt, .issuer = "https://issuer"}));
    EXPECT_EQ(identity->until, absl::FromUnixSeconds(1'800'000'090)) << "its exp and the leeway";
  }
}

TEST_F(JwtTest, ServiceAccountTokenOfKubernetesIsAccepted) {
  issuer_.issuer = "https://kubernetes.default.svc";
  issuer_.mapping = {.match = "system:serviceaccount:*", .principal = "k8s:*"};
  const KeyPair key(Signature::kRs256);
  const std::string claims =
      R"({"aud":["lockkeeper","api"],"exp":1800003600,"iat":1800000000,"nbf":1800000000,)"
      R"("iss":"https://kubernetes.default.svc","jti":"5b0d",)"
      R"("kubernetes.io":{"namespace":"jobs","pod":{"name":"w-0","uid":"1"},)"
      R"("serviceaccount":{"name":"worker","uid":"2"}},"sub":"system:serviceaccount:jobs:worker"})";
  const auto identity =
      Verifier(KeySetOf({key.Jwk("other"), key.Jwk("k")})).Verify(key.Jwt(claims), kNow);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->identity.principal, "k8s:jobs:worker");
}

TEST_F(JwtTest, AnyByteThatIsChangedIsNoticed) {
  const JwtVerifier verifier = Verifier(KeySetOf({key_.Jwk("k")}));
  const std::string token = key_.Jwt(kClaims);
  ASSERT_TRUE(verifier.Verify(token, kNow).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verifier.Verify(changed, kNow).ok()) << i;
    EXPECT_FALSE(verifier.Verify(token.substr(0, i), kNow).ok()) << i;
  }
}

TEST_F(JwtTest, HasOneFormOnly) {
  const JwtVerifier verifier = Verifier(KeySetOf({key_.Jwk("k")}));
  const std::string token = key_.Jwt(kClaims);
  ASSERT_TRUE(verifier.Verify(token, kNow).ok());
  for (const char* more : {"=", "==", " ", "\n"}) {
    EXPECT_FALSE(verifier.Verify(token + more, kNow).ok()) << more;
  }
}

TEST_F(JwtTest, KindOfSignatureIsNotTheTokensToChoose) {
  const KeyPair rsa(Signature::kRs256);
  const JwtVerifier verifier = Verifier(KeySetOf({rsa.Jwk("k"), key_.Jwk("k")}));
  for (const std::string alg : {"none", "None", "HS256", "RS384", "PS256", "ES512", ""}) {
    const std::string header = R"({"alg":")" + alg + R"(","kid":"k"})";
    EXPECT_THAT(verifier.Verify(rsa.Jwt(kClaims, header), kNow).status().message(),
                HasSubstr("its alg must be"))
        << alg;
  }
  // A key is only for its own kind.
  EXPECT_THAT(
      verifier.Verify(rsa.Jwt(kClaims, R"({"alg":"EdDSA","kid":"k"})"), kNow).status().message(),
      HasSubstr("no key of its issuer"));
  EXPECT_THAT(verifier.Verify(rsa.Jwt(kClaims, R"({"alg":"RS256","kid":"k","crit":["b64"]})"), kNow)
                  .status()
                  .message(),
              HasSubstr("(crit)"));
}

TEST_F(JwtTest, KeysComeFromTheFileOnly) {
  const KeyPair own(Signature::kEdDsa);
  const JwtVerifier verifier = Verifier(KeySetOf({key_.Jwk("k")}));
  const std::string header = R"({"alg":"EdDSA","jwk":)" + own.Jwk("k") + "}";
  EXPECT_FALSE(verifier.Verify(own.Jwt(kClaims, header), kNow).ok());
  EXPECT_TRUE(verifier.Verify(key_.Jwt(kClaims, R"({"alg":"EdDSA"})"), kNow).ok())
      << "without an id each key is tried";
  EXPECT_FALSE(verifier.Verify(key_.Jwt(kClaims, R"({"alg":"EdDSA","kid":"x"})"), kNow).ok());
}

TEST_F(JwtTest, EachCheckSaysWhichItWas) {
  const std::string rest = R"("iss":"https://issuer","aud":"lockkeeper","sub":"ann")";
  EXPECT_EQ(WhyNot(kClaims), "");
  EXPECT_THAT(WhyNot("{" + rest + "}"), HasSubstr("no expiry"));
  EXPECT_THAT(WhyNot("{" + rest + R"(,"exp":"1800000060"})"), HasSubstr("no expiry"));
  EXPECT_EQ(WhyNot("{" + rest + R"(,"exp":1799999971})"), "") << "within the leeway";
  EXPECT_THAT(WhyNot("{" + rest + R"(,"exp":1799999970})"), HasSubstr("has expired"));
  EXPECT_EQ(WhyNot("{" + rest + R"(,"exp":1800000060,"nbf":1800000030})"), "");
  EXPECT_THAT(WhyNot("{" + rest + R"(,"exp":1800000060,"nbf":1800000031})"),
              HasSubstr("not valid yet"));
  EXPECT_THAT(WhyNot("{" + rest + R"(,"exp":1800000060,"nbf":"x"})"), HasSubstr("nbf is no time"));
  EXPECT_THAT(WhyNot(R"({"iss":"https://other","aud":"lockkeeper","sub":"ann","exp":1800000060})"),
              HasSubstr("issuer (iss)"));
  EXPECT_THAT(WhyNot(R"({"iss":"https://issuer","aud":["a"],"sub":"ann","exp":1800000060})"),
              HasSubstr("audience (aud)"));
  EXPECT_THAT(WhyNot(R"({"iss":"https://issuer","sub":"ann","exp":1800000060})"),
              HasSubstr("audience (aud)"));
  for (const char* sub : {R"("anonymous")", R"("")", "7", R"("a\nb")"}) {
    EXPECT_THAT(
        WhyNot(absl::StrCat(R"({"iss":"https://issuer","aud":"lockkeeper","exp":1800000060,"sub":)",
                            sub, "}")),
        HasSubstr("\"sub\" does not give a principal"));
  }
}

TEST_F(JwtTest, WhatIsNoJwtIsRejected) {
  const JwtVerifier verifier = Verifier(KeySetOf({key_.Jwk("k")}));
  const std::string deep(5'000, '[');
  for (const std::string& token :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"),
        std::string("a.b.c"), std::string("a.b.c.d"),
        Base64Url("{}") + "." + Base64Url("{}") + ".=", std::string(9'000, 'a'),
        Base64Url("[]") + "." + Base64Url("{}") + ".AA",
        Base64Url(deep) + "." + Base64Url("{}") + ".AA"}) {
    EXPECT_EQ(verifier.Verify(token, kNow).status().code(), absl::StatusCode::kUnauthenticated)
        << token;
  }
}

TEST(KeySetTest, KeysThatAreWeakOrForOtherPurposesAreLeftOut) {
  const KeyPair good(Signature::kEs256);
  const KeyPair weak(Signature::kRs256, 1024);
  std::string encryption = good.Jwk("enc");
  encryption.insert(1, R"("use":"enc",)");
  std::string other_alg = good.Jwk("alg");
  other_alg.insert(1, R"("alg":"ES384",)");
  KeySet keys;
  const auto problem = KeySet::Parse(
      KeySetOf({weak.Jwk("weak"), encryption, other_alg, R"({"kty":"oct","k":"c2VjcmV0"})", "7",
                R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})", good.Jwk("k")}),
      keys);
  ASSERT_EQ(problem, std::nullopt);
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_THAT(KeySet::Parse(KeySetOf({weak.Jwk("weak")}), keys),
              Optional(HasSubstr("no key that can")));
  for (const char* text : {"", "[]", "{}", "{\"keys\":{}}", "not json", "{\"keys\":[]}"}) {
    EXPECT_NE(KeySet::Parse(text, keys), std::nullopt) << text;
  }
}

TEST(KeySetTest, KeysWithWhichEverybodyCouldSignAreLeftOut) {
  const std::string rsa = KeyPair(Signature::kRs256).Jwk("k");
  KeySet keys;
  ASSERT_EQ(KeySet::Parse(KeySetOf({rsa}), keys), std::nullopt);
  for (const char* exponent : {"AQ", "Ag", "AQAA"}) {  // 1, 2, 65536
    const std::string weak = rsa.substr(0, rsa.rfind("AQAB")) + exponent + "\"}";
    EXPECT_NE(KeySet::Parse(KeySetOf({weak}), keys), std::nullopt) << exponent;
  }
  // The neutral element, also with the sign bit; p, which stands for 0.
  for (const std::string& point :
       {"\1" + std::string(31, '\0'), "\1" + std::string(30, '\0') + "\x80",
        "\xed" + std::string(30, '\xff') + "\x7f"}) {
    const std::string weak = R"({"kty":"OKP","crv":"Ed25519","x":")" + Base64Url(point) + "\"}";
    EXPECT_NE(KeySet::Parse(KeySetOf({weak}), keys), std::nullopt);
  }
}

// RFC 8037, appendix A.4.
TEST(KeySetTest, SignatureOfTheStandardIsVerified) {
  KeySet keys;
  const auto problem = KeySet::Parse(
      KeySetOf(
          {R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})"}),
      keys);
  ASSERT_EQ(problem, std::nullopt);
  std::string signature;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
      &signature));
  const std::string text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  EXPECT_TRUE(keys.Verify(Signature::kEdDsa, "", text, signature));
  EXPECT_FALSE(keys.Verify(Signature::kEdDsa, "", text + "x", signature));
}

}  // namespace
}  // namespace lockkeeper::access
