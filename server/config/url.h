// SPDX-License-Identifier: Apache-2.0
//
// The store's URL, as far as the configuration has to understand it; redis/ reads the rest.
#pragma once

#include <string>
#include <string_view>

#include "text/problem.h"
#include "text/secret.h"

namespace lockkeeper::config {

// The URL with its password as ***. Where in doubt what the password is, more is masked.
std::string MaskUrl(const text::Secret& url);

// Whether a password stands in the URL.
bool HasPassword(const text::Secret& url);

// Whether the store is to be reached through TLS.
bool AsksForTls(const text::Secret& url);

// What is wrong with the beginning of a store's URL; the text itself is never shown.
text::Problem CheckStoreUrl(std::string_view url);

}  // namespace lockkeeper::config
