// SPDX-License-Identifier: Apache-2.0
//
// What daemons tell each other of watched locks over Redis.
#include "redis/format/watch_message.h"

#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockkeeper;  // NOLINT(google-build-using-namespace)
  const auto text = fuzz::TextOf(data, size);
  if (const auto interest = redis::ReadInterest(text)) {
    const auto again = redis::ReadInterest(redis::WriteInterest(*interest));
    fuzz::Require(again && again->filters == interest->filters, "an interest is read as written");
  }
  if (const auto batch = redis::ReadBatch(text)) {
    const std::string written = redis::WriteBatch(*batch);
    const auto again = redis::ReadBatch(written);
    fuzz::Require(again && redis::WriteBatch(*again) == written, "a batch is read as written");
  }
  return 0;
}
