// SPDX-License-Identifier: Apache-2.0
//
// The parts of the store's URL that the configuration must understand; redis/ reads the rest.
#pragma once

#include <string>
#include <string_view>

#include "text/problem.h"
#include "text/secret.h"

namespace lockkeeper::config {

// The URL with *** in place of the password. Masks more if it is not clear where the password ends.
std::string MaskUrl(const text::Secret& url);

// Whether the URL has a password.
bool HasPassword(const text::Secret& url);

// Whether the URL asks for TLS.
bool AsksForTls(const text::Secret& url);

// Whether the URL names Sentinels.
bool NamesSentinels(const text::Secret& url);

// Checks the beginning of a store's URL. The problem never shows the text itself.
text::Problem CheckStoreUrl(std::string_view url);

}  // namespace lockkeeper::config
