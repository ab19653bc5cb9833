// SPDX-License-Identifier: Apache-2.0
// What a policy allows, beside a model that does the same without any thought of speed.
#include "access/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/access/naive_policy.h"
#include "support/random.h"

namespace lockkeeper::access {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RandomPolicy {
 public:
  Policy::Parts Make() {
    Policy::Parts parts;
    for (const char* role : {"a", "b", "c"}) {
      for (size_t i = Below(3); i > 0; --i) parts.roles[role].rules.push_back(MakeRule());
      parts.roles[role];
    }
    for (size_t i = Below(4); i > 0; --i) parts.bindings.push_back(MakeBinding());
    return parts;
  }

  Identity MakeIdentity() {
    Identity who;
    who.proof = static_cast<Proof>(Below(kProofs));
    who.principal = who.proof == Proof::kNone ? std::string(kAnonymous) : Pick(kPrincipals);
    if (who.proof == Proof::kJwt) who.issuer = Pick(kIssuers);
    return who;
  }

  Verb MakeVerb() { return static_cast<Verb>(Below(kVerbs)); }
  std::string MakeLock() { return Pick(kLocks); }

 private:
  static constexpr const char* kPrincipals[] = {"ann",  "anna",  "team/ann",
                                                "100%", "{ann}", "spiffe://a/b"};
  static constexpr const char* kIssuers[] = {"one", "two"};
  static constexpr const char* kLocks[] = {"jobs/1", "jobs/ann/1",        "jobs/anna/1",
                                           "jobs/",  "home/team%2Fann/x", "home/100%25/x",
                                           "other",  "jobs/ann",          "home/%7Bann%7D/x"};
  static constexpr const char* kPrefixes[] = {"", "jobs/", "jobs/{principal}/", "home/{principal}/",
                                              "o"};
  static constexpr const char* kNames[] = {"jobs/1", "other", "jobs/{principal}"};
  static constexpr const char* kPatterns[] = {"*",    "ann",      "ann*",      "team/*",
                                              "100%", "spiffe:*", "anonymous", "anon*"};

  size_t Below(size_t end) { return random_.Below(end); }
  template <size_t kSize>
  std::string Pick(const char* const (&words)[kSize]) {
    return words[Below(kSize)];
  }

  Rule MakeRule() {
    Rule rule;
    for (size_t i = 1 + Below(3); i > 0; --i) rule.verbs.insert(MakeVerb());
    for (size_t i = Below(3); i > 0; --i) rule.prefixes.push_back(Pick(kPrefixes));
    for (size_t i = Below(3); i > 0; --i) rule.names.push_back(Pick(kNames));
    return rule;
  }

  Binding MakeBinding() {
    static constexpr const char* kRoles[] = {"a", "b", "c"};
    Binding binding;
    for (size_t i = 1 + Below(2); i > 0; --i) binding.roles.push_back(Pick(kRoles));
    for (size_t i = 1 + Below(2); i > 0; --i) binding.principals.push_back(Pick(kPatterns));
    if (Below(3) == 0) binding.proofs.insert(static_cast<Proof>(Below(kProofs)));
    if (Below(4) == 0) binding.issuers.push_back(Pick(kIssuers));
    return binding;
  }

  support::SeededRandom random_;
};

TEST(PolicyTest, RandomPoliciesAllowWhatTheModelAllows) {
  RandomPolicy random;
  size_t allowed = 0;
  size_t denied = 0;
  for (int policies = 0; policies < 10'000; ++policies) {
    const Policy::Parts parts = random.Make();
    const Policy policy(parts);
    const Identity who = random.MakeIdentity();
    const auto rights = policy.RightsOf(who);
    for (int i = 0; i < 20; ++i) {
      const Verb verb = random.MakeVerb();
      const std::string lock = random.MakeLock();
      const bool expected = support::NaivelyAllowed(parts, who, verb, lock);
      ASSERT_EQ(rights->Allows(verb, lock), expected)
          << policies << ": " << NameOf(verb) << " " << lock << " by " << who.principal;
      if (expected && IsAboutLock(verb)) {
        ASSERT_TRUE(rights->AllowsBelow(verb, lock.substr(0, lock.size() / 2)));
      }
      ++(expected ? allowed : denied);
    }
  }
  EXPECT_GT(allowed, 1'000U) << "else the policies are no test";
  EXPECT_GT(denied, 1'000U);
}

Policy Of(Rule rule, Quotas quotas = {}) {
  return Policy(
      {.roles = {{"role", {.rules = {std::move(rule)}, .quotas = quotas}}},
       .bindings = {{.roles = {"role"}, .principals = {"*"}, .proofs = {}, .issuers = {}}},
       .quotas = {}});
}

TEST(PolicyTest, WithoutABindingNothingIsAllowed) {
  const auto rights = Policy(Policy::Parts()).RightsOf({});
  EXPECT_FALSE(rights->AllowsAnything());
  EXPECT_FALSE(rights->Allows(Verb::kAcquire, "a"));
  EXPECT_FALSE(rights->Allows(Verb::kAdmin, ""));
  EXPECT_THAT(rights->roles(), IsEmpty());
}

TEST(PolicyTest, AllIsAllowedWithoutAPolicy) {
  for (size_t verb = 0; verb < kVerbs; ++verb) {
    EXPECT_TRUE(Rights::All()->Allows(static_cast<Verb>(verb), "any"));
  }
  EXPECT_EQ(Rights::All()->quotas(), Quotas());
}

// Each has a folder of its own, whatever the names are.
TEST(PolicyTest, NoPrincipalReachesIntoTheFolderOfAnother) {
  const Policy policy =
      Of({.verbs = {Verb::kAcquire}, .prefixes = {"home/{principal}/"}, .names = {}});
  const auto ann = policy.RightsOf({.principal = "ann", .proof = Proof::kToken, .issuer = ""});
  const auto below = policy.RightsOf({.principal = "ann/x", .proof = Proof::kToken, .issuer = ""});
  EXPECT_TRUE(ann->Allows(Verb::kAcquire, "home/ann/x/y"));
  EXPECT_FALSE(below->Allows(Verb::kAcquire, "home/ann/x/y"));
  EXPECT_TRUE(below->Allows(Verb::kAcquire, "home/ann%2Fx/y"));
  EXPECT_FALSE(ann->Allows(Verb::kAcquire, "home/anna/x"));
}

TEST(PolicyTest, BelowIsWhatSomeLockOfThePrefixAllows) {
  const auto rights =
      Of({.verbs = {Verb::kList}, .prefixes = {"jobs/"}, .names = {"other"}}).RightsOf({});
  for (const char* prefix : {"", "j", "jobs/", "jobs/x", "oth", "other"}) {
    EXPECT_TRUE(rights->AllowsBelow(Verb::kList, prefix)) << prefix;
  }
  for (const char* prefix : {"k", "jobs", "others", "other/"}) {
    EXPECT_EQ(rights->AllowsBelow(Verb::kList, prefix), std::string(prefix) == "jobs") << prefix;
  }
  EXPECT_FALSE(rights->AllowsBelow(Verb::kInspect, ""));
  EXPECT_TRUE(rights->AllowsAllBelow(Verb::kList, "jobs/"));
  EXPECT_TRUE(rights->AllowsAllBelow(Verb::kList, "jobs/x"));
  for (const char* prefix : {"", "job", "jobs", "other"}) {
    EXPECT_FALSE(rights->AllowsAllBelow(Verb::kList, prefix)) << prefix;
  }
}

TEST(PolicyTest, LargestQuotaOfItsRolesCountsAndElseThatOfThePolicy) {
  Policy::Parts parts;
  parts.roles["small"].quotas = {.leases = 1, .waiters = 5};
  parts.roles["large"].quotas = {.leases = 10};
  parts.quotas = {.leases = 3, .sessions = 2};
  parts.bindings.push_back(
      {.roles = {"small", "large"}, .principals = {"ann"}, .proofs = {}, .issuers = {}});
  const Policy policy(parts);

  const auto ann = policy.RightsOf({.principal = "ann", .proof = Proof::kToken, .issuer = ""});
  EXPECT_EQ(ann->quotas(), (Quotas{.leases = 10, .waiters = 5, .sessions = 2}));
  EXPECT_THAT(ann->roles(), ElementsAre("large", "small"));
  EXPECT_EQ(policy.RightsOf({})->quotas(), (Quotas{.leases = 3, .sessions = 2}));
}

TEST(PolicyTest, EachVerbHasAName) {
  for (size_t verb = 0; verb < kVerbs; ++verb) {
    EXPECT_EQ(VerbOf(NameOf(static_cast<Verb>(verb))), static_cast<Verb>(verb));
  }
  EXPECT_EQ(VerbOf("nothing"), std::nullopt);
}

}  // namespace
}  // namespace lockkeeper::access
