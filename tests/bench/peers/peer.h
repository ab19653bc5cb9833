// SPDX-License-Identifier: Apache-2.0
//
// A lock of others that a row measures. It may be missing here: then its rows are left out.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace lockkeeper::bench {

struct Peer {
  std::string missing;  // What this machine lacks for it. Empty: nothing.
  // Its version and those of what it runs on, by name.
  std::function<std::map<std::string, std::string>()> versions;
};

// Path of the program `name` that PATH leads to. Empty: there is none.
std::string ProgramInPath(const std::string& name);

// The first thing in `text` that looks like a version, such as 3.4.23. Empty: nothing does.
std::string VersionIn(const std::string& text);

}  // namespace lockkeeper::bench
