// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run` on a terminal: Ctrl-C, Ctrl-Z, fg and bg do what their users expect. Method: a
// real bash on a real terminal, typed at by the test.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "support/client/fake_lock_server.h"
#include "support/process/cli_process.h"
#include "support/process/terminal_session.h"

namespace lockkeeper {
namespace {

using support::IsAlive;
using support::StateOf;
using support::TerminalSession;
using support::WaitUntil;

class CliRunTerminalTest : public testing::Test {
 protected:
  // Types `run OPTIONS report -- COMMAND` and Enter.
  void TypeRun(const std::string& command, const std::string& options = "") {
    shell_.Type(std::string(LOCKKEEPER_PROGRAM) + " run " + options + " report -- " + command +
                "\n");
  }

  // The shell is at its prompt again and $? is `status`. The quotes keep what is typed from being
  // taken for what is printed.
  bool PromptIsBackWithStatus(int status) {
    shell_.Type("echo sta''tus=$?.\n");
    return shell_.WaitFor("status=" + std::to_string(status) + ".");
  }

  support::FakeLockServer server_;
  TerminalSession shell_{{"/bin/bash", "--norc", "--noprofile", "-i"},
                         {{"LOCKKEEPER_SERVER", server_.address()}, {"PS1", "prompt> "}}};
};

TEST_F(CliRunTerminalTest, CommandReadsFromTheTerminal) {
  TypeRun("sh -c 'read line; echo \"it read: <$line>\"'");
  ASSERT_TRUE(server_.acquire.WaitForCalls(1));

  shell_.Type("hello\n");

  EXPECT_TRUE(shell_.WaitFor("it read: <hello>")) << shell_.screen();
  EXPECT_TRUE(PromptIsBackWithStatus(0)) << shell_.screen();
}

TEST_F(CliRunTerminalTest, CtrlCGoesToTheCommand) {
  TypeRun("sh -c 'trap \"echo tra''pped; exit 9\" INT; echo up $$; while :; do sleep 0.01; done'");
  ASSERT_NE(shell_.NumberAfter("up"), 0);

  shell_.Type("\x03");

  EXPECT_TRUE(shell_.WaitFor("trapped")) << shell_.screen();
  EXPECT_TRUE(PromptIsBackWithStatus(9)) << shell_.screen();
  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST_F(CliRunTerminalTest, CtrlCEndsACommandThatDoesNotMind) {
  TypeRun("sh -c 'echo up $$; exec sleep 1000'");
  ASSERT_NE(shell_.NumberAfter("up"), 0);

  shell_.Type("\x03");

  EXPECT_TRUE(PromptIsBackWithStatus(130)) << shell_.screen();
}

TEST_F(CliRunTerminalTest, CtrlZStopsTheCommandAndFgGoesOn) {
  TypeRun("sh -c 'echo up $$; while read line; do echo \"it read: <$line>\"; done'");
  const pid_t command = shell_.NumberAfter("up");

  shell_.Type("\x1a");
  EXPECT_TRUE(shell_.WaitFor("Stopped")) << shell_.screen();
  EXPECT_EQ(StateOf(command), 'T');
  shell_.Type("echo the she''ll\n");
  EXPECT_TRUE(shell_.WaitFor("the shell")) << shell_.screen();

  shell_.Type("fg\n");
  EXPECT_TRUE(WaitUntil([&] { return StateOf(command) != 'T'; }));
  shell_.Type("again\n");
  EXPECT_TRUE(shell_.WaitFor("it read: <again>")) << shell_.screen();
  shell_.Type("\x04");
  EXPECT_TRUE(PromptIsBackWithStatus(0)) << shell_.screen();
}

TEST_F(CliRunTerminalTest, BgLetsTheCommandGoOnWithoutTheTerminal) {
  TypeRun("sh -c 'echo up $$; exec sleep 1000'");
  const pid_t command = shell_.NumberAfter("up");
  shell_.Type("\x1a");
  ASSERT_TRUE(shell_.WaitFor("Stopped")) << shell_.screen();

  shell_.Type("bg\n");
  EXPECT_TRUE(WaitUntil([&] { return StateOf(command) != 'T'; }));
  EXPECT_TRUE(PromptIsBackWithStatus(0)) << shell_.screen();

  shell_.Type("kill %1; wait %1; echo en''ded=$?.\n");
  EXPECT_TRUE(shell_.WaitFor("ended=143.")) << shell_.screen();
  EXPECT_FALSE(IsAlive(command));
}

TEST_F(CliRunTerminalTest, BackgroundCommandThatReadsStopsUntilFg) {
  TypeRun("sh -c 'echo up $$; read line; echo \"it read: <$line>\"' &");
  const pid_t command = shell_.NumberAfter("up");
  ASSERT_TRUE(WaitUntil([&] { return StateOf(command) == 'T'; })) << "SIGTTIN";
  // Run follows the command; the shell says so at its next prompt.
  EXPECT_TRUE(WaitUntil([&] {
    shell_.Type("\n");
    return shell_.screen().find("Stopped") != std::string::npos || !shell_.WaitFor("prompt>");
  }));

  shell_.Type("fg\n");
  EXPECT_TRUE(WaitUntil([&] { return StateOf(command) != 'T'; }));
  shell_.Type("hello\n");

  EXPECT_TRUE(shell_.WaitFor("it read: <hello>")) << shell_.screen();
}

TEST_F(CliRunTerminalTest, CommandThatStandsStillLongerThanItsLeaseIsKilled) {
  TypeRun("sh -c 'trap \"\" TERM; echo up $$; exec sleep 1000'", "--ttl 3s --grace 100ms");
  const pid_t command = shell_.NumberAfter("up");
  shell_.Type("\x1a");
  ASSERT_TRUE(shell_.WaitFor("Stopped")) << shell_.screen();

  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(-command); })) << "while all stand still";
  shell_.Type("fg\n");

  EXPECT_TRUE(shell_.WaitFor("was lost")) << shell_.screen();
  EXPECT_TRUE(PromptIsBackWithStatus(70)) << shell_.screen();
}

TEST_F(CliRunTerminalTest, TerminalModesOfAKilledCommandAreUndone) {
  TypeRun("sh -c 'stty raw -echo; kill -KILL $$'");
  ASSERT_TRUE(server_.release.WaitForCalls(1));

  shell_.Type(
      "case \" $(stty -a) \" in *' echo '*) echo mo''de=on.;; *) echo mo''de=off.;; esac\n");

  EXPECT_TRUE(shell_.WaitFor("mode=on.")) << shell_.screen();
}

TEST_F(CliRunTerminalTest, TerminalIsBackWithTheShellAfterTheCommand) {
  TypeRun("true");
  EXPECT_TRUE(PromptIsBackWithStatus(0)) << shell_.screen();

  shell_.Type("sh -c 'echo up $$; exec sleep 1000'\n");
  ASSERT_NE(shell_.NumberAfter("up"), 0);
  shell_.Type("\x03");

  EXPECT_TRUE(PromptIsBackWithStatus(130)) << "the shell's own jobs get Ctrl-C again";
}

// Without a shell that could continue it, Ctrl-Z must not leave the command standing for ever.
TEST(CliRunBareTerminalTest, CtrlZWithoutJobControlDoesNotStopTheCommandForGood) {
  support::FakeLockServer server;
  TerminalSession terminal({LOCKKEEPER_PROGRAM, "run", "report", "--", "sh", "-c",
                            "echo up $$; while read line; do echo \"it read: <$line>\"; done"},
                           {{"LOCKKEEPER_SERVER", server.address()}});
  ASSERT_NE(terminal.NumberAfter("up"), 0);

  terminal.Type("\x1a");
  terminal.Type("hello\n");

  EXPECT_TRUE(terminal.WaitFor("it read: <hello>")) << terminal.screen();
}

}  // namespace
}  // namespace lockkeeper
