// SPDX-License-Identifier: Apache-2.0
//
// What daemons tell each other about waiters over Redis, and an offer in a reply.
#include "redis/format/line_message.h"
#include "fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto text = lockkeeper::fuzz::TextOf(data, size);
  const lockkeeper::redis::KeyLayout keys("lk:");
  const auto message = lockkeeper::redis::ReadLineMessage(text, keys);
  if (message && message->offer) {
    lockkeeper::fuzz::Require(message->offer->name == message->name, "an offer is of its lock");
    lockkeeper::fuzz::Require(message->offer->lease_id == message->lease_id,
                              "an offer is for the waiter that is told");
  }
  lockkeeper::redis::ReadOffer(text, "orders/7");
  return 0;
}
