// SPDX-License-Identifier: Apache-2.0
#include "redis/format/reassertion.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace lockkeeper::redis {
namespace {

const core::LeaseId kId = core::LeaseId::FromBits(1, 2);
const core::LeaseId kOtherId = core::LeaseId::FromBits(1, 3);
const ProvedTerms kTerms{
    core::Millis(30'000), core::Millis(1'000), {1'795'292'917'000'433}, {1'795'292'907'000'433}};

class ReassertionsTest : public testing::Test {
 protected:
  ReassertionsTest() { reassertions_.SetKey("73dac6cf9d7b10be627ce72498986a5d"); }

  const ProvedLease lease_{"report", kId, {7}, "alice"};
  Reassertions reassertions_;
};

TEST_F(ReassertionsTest, ProofCarriesItsTerms) {
  EXPECT_EQ(reassertions_.Check(lease_, reassertions_.Make(lease_, kTerms)), kTerms);
}

TEST_F(ReassertionsTest, ProofCarriesHoldAtLeastInAFormatOfItsOwn) {
  ProvedTerms terms = kTerms;
  terms.hold_end = {1'795'293'000'000'433};
  const std::string proof = reassertions_.Make(lease_, terms);

  EXPECT_EQ(reassertions_.Check(lease_, proof), terms);
  EXPECT_TRUE(proof.starts_with("3.")) << "an older daemon does not take it for one without";
  EXPECT_TRUE(reassertions_.Make(lease_, kTerms).starts_with("2."));
}

TEST_F(ReassertionsTest, ProofIsPrintableAndShort) {
  const std::string proof = reassertions_.Make(lease_, kTerms);

  EXPECT_EQ(proof.find_first_not_of("0123456789abcdef."), std::string::npos) << proof;
  EXPECT_LT(proof.size(), 120U);
}

TEST_F(ReassertionsTest, ProofIsOfThisVeryLease) {
  const std::string proof = reassertions_.Make(lease_, kTerms);

  EXPECT_FALSE(reassertions_.Check({"repor", kId, {7}, "alice"}, proof));
  EXPECT_FALSE(reassertions_.Check({"report", kOtherId, {7}, "alice"}, proof));
  EXPECT_FALSE(reassertions_.Check({"report", kId, {8}, "alice"}, proof));
  EXPECT_FALSE(reassertions_.Check({"report", kId, {7}, "bob"}, proof));
  EXPECT_FALSE(reassertions_.Check({"report", kId, {7}, ""}, proof));
}

TEST_F(ReassertionsTest, EveryChangedCharacterIsNoticed) {
  const std::string proof = reassertions_.Make(lease_, kTerms);
  for (size_t at = 0; at < proof.size(); ++at) {
    std::string forged = proof;
    forged[at] = forged[at] == '1' ? '2' : '1';
    EXPECT_FALSE(reassertions_.Check(lease_, forged)) << forged;
  }
  for (size_t length = 0; length < proof.size(); ++length) {
    EXPECT_FALSE(reassertions_.Check(lease_, proof.substr(0, length))) << length;
  }
}

TEST_F(ReassertionsTest, AnotherKeyProvesNothing) {
  const std::string proof = reassertions_.Make(lease_, kTerms);

  reassertions_.SetKey("00000000000000000000000000000000");

  EXPECT_FALSE(reassertions_.Check(lease_, proof));
}

TEST_F(ReassertionsTest, EveryDigitOfTheKeyMatters) {
  const std::string proof = reassertions_.Make(lease_, kTerms);
  std::string key = "73dac6cf9d7b10be627ce72498986a5d";
  for (char& digit : key) {
    const char right = std::exchange(digit, digit == '0' ? '1' : '0');
    reassertions_.SetKey(key);
    EXPECT_FALSE(reassertions_.Check(lease_, proof)) << key;
    digit = right;
  }
  reassertions_.SetKey(key);
  EXPECT_TRUE(reassertions_.Check(lease_, proof));
}

TEST_F(ReassertionsTest, WhatIsNoKeyProvesNothing) {
  for (const char* text : {"", "73dac6cf9d7b10be", "73dac6cf9d7b10be627ce72498986a5g",
                           "73dac6cf9d7b10be627ce72498986a5d0"}) {
    reassertions_.SetKey(text);
    EXPECT_EQ(reassertions_.Make(lease_, kTerms), "") << text;
  }
}

TEST_F(ReassertionsTest, AnotherObjectWithTheKeyAgrees) {
  Reassertions other;
  other.SetKey("73dac6cf9d7b10be627ce72498986a5d");

  EXPECT_EQ(other.Check(lease_, reassertions_.Make(lease_, kTerms)), kTerms);
}

TEST(ReassertionsWithoutKeyTest, GiveAndTakeNothing) {
  Reassertions none;

  EXPECT_EQ(none.Make({"report", kId, {7}, ""}, kTerms), "");
  EXPECT_FALSE(none.Check({"report", kId, {7}, ""}, ""));
  EXPECT_FALSE(none.Check({"report", kId, {7}, ""}, "1.30000.0.0."));
}

}  // namespace
}  // namespace lockkeeper::redis
