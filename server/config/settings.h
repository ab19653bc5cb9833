// SPDX-License-Identifier: Apache-2.0
//
// The table of all settings. File, environment, printing and the tests of the documentation follow
// from it; README.md says what a new setting needs.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "config/setting.h"

namespace lockkeeper::config {

// In the order of config/lockkeeper.yaml; the settings of a section stand together.
absl::Span<const Setting> Settings();

// Null if there is no setting with this key ("server.listen"), flag ("--listen") or environment
// variable.
const Setting* FindByKey(std::string_view key);
const Setting* FindByFlag(std::string_view flag);
const Setting* FindByEnvironment(std::string_view variable);

bool IsSection(std::string_view name);

// "; did you mean X?" with the known name that is most similar to `unknown`; empty if none is
// similar.
std::string SuggestKey(std::string_view unknown);
std::string SuggestSection(std::string_view unknown);
std::string SuggestVariable(std::string_view unknown);

}  // namespace lockkeeper::config
