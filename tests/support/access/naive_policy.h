// SPDX-License-Identifier: Apache-2.0
//
// A policy read as its documentation says it, without any thought of speed: a model for tests.
#pragma once

#include <string>
#include <string_view>

#include "access/policy.h"

namespace lockkeeper::support {

// `text` of a rule, as it stands for `principal`.
std::string NaivelyExpanded(std::string text, std::string_view principal);

// Requires: each role that a binding names exists.
bool NaivelyAllowed(const access::Policy::Parts& policy, const access::Identity& who,
                    access::Verb verb, const std::string& lock);

}  // namespace lockkeeper::support
