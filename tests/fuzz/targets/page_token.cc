// SPDX-License-Identifier: Apache-2.0
//
// The page token of ListLocks, which a caller sends back.
#include "redis/format/page_token.h"
#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lockkeeper::redis::PageToken;
  const auto text = lockkeeper::fuzz::TextOf(data, size);
  const auto token = PageToken::Decode(text);
  if (token && !text.empty()) {
    lockkeeper::fuzz::Require(token->Encode() == text, "only what Encode() made is a page token");
  }
  return 0;
}
