// SPDX-License-Identifier: Apache-2.0
//
// The addresses in the configuration: of the store, which may carry a password, and of listeners.
#include <string>

#include "config/listen_address.h"
#include "config/url.h"
#include "fuzz/target.h"
#include "redis/client/redis_url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace config = lockkeeper::config;
  namespace redis = lockkeeper::redis;
  using lockkeeper::fuzz::Require;
  const auto text = lockkeeper::fuzz::TextOf(data, size);

  const auto listen = config::ParseListenAddress(text);
  if (listen.ok()) {
    const auto again = config::ParseListenAddress(listen->ToString());
    Require(again.ok() && *again == *listen, "a listen address is read as it is shown");
  }

  const lockkeeper::text::Secret secret{std::string(text)};
  const std::string masked = config::MaskUrl(secret);
  config::HasPassword(secret);
  config::AsksForTls(secret);
  config::CheckStoreUrl(text);
  config::NamesSentinels(secret);
  const auto store = redis::ParseStoreUrl(text);
  if (!store.ok()) return 0;
  Require(!store->Address().empty(), "a store has an address");
  Require(store->has_sentinels() == config::NamesSentinels(secret), "the scheme names Sentinels");
  const std::string& password = store->server.password.reveal();
  const std::string rest =
      store->server.user + store->Address() + std::to_string(store->server.database);
  // A short one may stand in "redis://", too.
  if (password.size() >= 8 && rest.find(password) == std::string::npos) {
    Require(masked.find(password) == std::string::npos, "a masked URL has no password");
    Require(store->Display().find(password) == std::string::npos, "a shown URL has no password");
  }
  return 0;
}
