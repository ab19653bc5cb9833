// SPDX-License-Identifier: Apache-2.0
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <unistd.h>

namespace lockkeeper::cli {

Terminal::Terminal() : descriptor_(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  termios modes{};
  if (exists() && tcgetattr(descriptor_.get(), &modes) == 0) modes_ = modes;
}

bool Terminal::IsOurs() const { return exists() && tcgetpgrp(descriptor_.get()) == getpgrp(); }

void Terminal::Lend(pid_t group) {
  if (IsOurs()) tcsetpgrp(descriptor_.get(), group);
}

void Terminal::TakeBack(pid_t group) {
  if (exists() && tcgetpgrp(descriptor_.get()) == group) {
    tcsetpgrp(descriptor_.get(), getpgrp());
  }
}

void Terminal::RestoreModes() {
  if (modes_ && IsOurs()) tcsetattr(descriptor_.get(), TCSADRAIN, &*modes_);
}

}  // namespace lockkeeper::cli
