// SPDX-License-Identifier: Apache-2.0
//
// Standard input, output and error.
#pragma once

#include <cstdio>
#include <string_view>

#include "absl/status/status.h"

namespace lockkeeper::cli {

// Opens those of the descriptors 0 to 2 that are closed, so that no socket or pipe of ours gets
// such a number. Reading from such an input and writing to such an output still fail as with a
// closed descriptor: input is opened for writing only, output and error for reading only. Call it
// before anything is opened.
void OccupyClosedStandardDescriptors();

// Writes `text` and a line break to `stream`. The error names the cause.
absl::Status WriteLine(std::FILE* stream, std::string_view text);

}  // namespace lockkeeper::cli
