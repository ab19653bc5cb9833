// SPDX-License-Identifier: Apache-2.0
#include "config/store_assurance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::config {
namespace {

using core::Assurance;
using testing::HasSubstr;

TEST(StoreAssuranceTest, ThreeFormsAreRead) {
  EXPECT_EQ(*ParseStoreAssurance("primary"), StoreAssurance{});
  EXPECT_EQ(*ParseStoreAssurance("fsynced"), (StoreAssurance{Assurance::kDisk, 1}));
  EXPECT_EQ(*ParseStoreAssurance("replicas:1"), (StoreAssurance{Assurance::kReplicas, 1}));
  EXPECT_EQ(*ParseStoreAssurance("replicas:16"), (StoreAssurance{Assurance::kReplicas, 16}));
}

TEST(StoreAssuranceTest, AnythingElseIsRejectedWithWhatItMayBe) {
  for (const char* text : {"", "replicas", "replicas:", "replicas:0", "replicas:17", "replicas:-1",
                           "replicas: 1", "replicas:1 ", "Primary", "disk", "replicas:x"}) {
    const auto parsed = ParseStoreAssurance(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()),
                HasSubstr("must be primary, replicas:N with N from 1 to 16, or fsynced, is \""));
  }
}

}  // namespace
}  // namespace lockkeeper::config
