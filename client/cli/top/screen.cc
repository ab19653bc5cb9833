// SPDX-License-Identifier: Apache-2.0
#include "cli/top/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace lockkeeper::cli {
namespace {

// ECMA-48, and the second screen of xterm, which every terminal of today has.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kToTopLeft = "\x1b[H";
constexpr std::string_view kEraseLineAndGoOn = "\x1b[K\n";
constexpr std::string_view kReverse = "\x1b[7m";
constexpr std::string_view kNormal = "\x1b[0m";
constexpr std::string_view kEraseRest = "\x1b[K\x1b[J";

bool Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Screen::Screen() { Enter(); }

Screen::~Screen() { Leave(); }

void Screen::Enter() {
  if (std::exchange(entered_, true)) return;
  tcgetattr(STDIN_FILENO, &modes_);
  termios modes = modes_;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  modes.c_cc[VMIN] = 0;
  modes.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
  Write(kEnter);
}

void Screen::Leave() {
  if (!std::exchange(entered_, false)) return;
  Write(kLeave);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_);
}

Screen::Size Screen::SizeNow() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

bool Screen::Show(const std::vector<std::string>& lines, std::optional<size_t> highlighted) {
  std::string text(kToTopLeft);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += kEraseLineAndGoOn;
    if (i == highlighted) text += kReverse;
    text += lines[i];
    if (i == highlighted) text += kNormal;
  }
  return Write(text + std::string(kEraseRest));
}

}  // namespace lockkeeper::cli
