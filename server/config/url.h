// SPDX-License-Identifier: Apache-2.0
//
// The store's URL, as far as the configuration has to understand it; redis/ reads the rest.
#pragma once

#include <string>
#include <string_view>

#include "config/problem.h"
#include "config/secret.h"

namespace lockkeeper::config {

// The URL with its password as ***. Where in doubt what the password is, more is masked.
std::string MaskUrl(const Secret& url);

// Whether a password stands in the URL.
bool HasPassword(const Secret& url);

// Whether the store is to be reached through TLS.
bool AsksForTls(const Secret& url);

// What is wrong with the beginning of a store's URL; the text itself is never shown.
Problem CheckStoreUrl(std::string_view url);

}  // namespace lockkeeper::config
