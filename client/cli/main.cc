// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"
#include "cli/standard_streams.h"

int main(int argc, char** argv) {
  lockkeeper::cli::OccupyClosedStandardDescriptors();
  return lockkeeper::cli::RunCommandLine({argv + 1, argv + argc});
}
