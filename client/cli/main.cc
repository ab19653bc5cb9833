// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

int main(int argc, char** argv) { return lockkeeper::cli::RunCommandLine({argv + 1, argv + argc}); }
