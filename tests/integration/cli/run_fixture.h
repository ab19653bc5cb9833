// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run` with a shell command, and the service in this process that it talks to.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/client/fake_lock_server.h"
#include "support/process/cli_process.h"

namespace lockkeeper {

class CliRunTest : public testing::Test {
 protected:
  // Words of `run OPTIONS report -- sh -c SCRIPT`.
  static std::vector<std::string> Words(const std::string& script,
                                        std::vector<std::string> options = {}) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"report", "--", "/bin/sh", "-c", script});
    return options;
  }

  support::CliResult Run(const std::string& script, const std::vector<std::string>& options = {}) {
    return support::RunCli(LOCKKEEPER_PROGRAM, server_.address(), Words(script, options));
  }

  // Starts it; its script says `up PID` when it is ready to be looked at.
  support::CliProcess Start(const std::string& script,
                            const std::vector<std::string>& options = {}) {
    return {LOCKKEEPER_PROGRAM, server_.address(), Words(script, options)};
  }

  // Number that the script printed after `word`. Waits for it; 0 if it does not come.
  static pid_t NumberAfter(const support::CliProcess& process, const std::string& word) {
    if (!process.WaitForOutput(word + " ")) return 0;
    pid_t number = 0;
    support::WaitUntil([&] {
      const std::string out = process.out();
      const size_t at = out.find(word + " ") + word.size() + 1;
      if (out.find('\n', at) == std::string::npos) return false;
      number = std::stoi(out.substr(at));
      return true;
    });
    return number;
  }

  support::FakeLockServer server_;
};

}  // namespace lockkeeper
