// SPDX-License-Identifier: Apache-2.0
//
// How `ps` shows this process.
#pragma once

#include <string_view>

namespace lockkeeper::cli {

// Shows `title` instead of the command line, cut to its length. Without effect where /proc is not
// to be had. Requires: nobody reads main's argv any more.
void SetProcessTitle(std::string_view title);

}  // namespace lockkeeper::cli
