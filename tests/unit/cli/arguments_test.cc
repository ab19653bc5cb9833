// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "support/source_tree.h"

namespace lockkeeper::cli {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

class ArgumentsTest : public testing::Test {
 protected:
  ArgumentsTest() { ForgetVariables(); }
  ~ArgumentsTest() override { ForgetVariables(); }

  static void ForgetVariables() {
    unsetenv("LOCKKEEPER_SERVER");
    unsetenv("LOCKKEEPER_TOKEN_FILE");
  }

  static Arguments Parsed(const Words& words) {
    const ParsedArguments parsed = ParseArguments(words, "lockkeeper 1.2.3");
    if (const auto* error = std::get_if<UsageError>(&parsed)) ADD_FAILURE() << error->message;
    const auto* arguments = std::get_if<Arguments>(&parsed);
    return arguments == nullptr ? Arguments() : *arguments;
  }

  template <typename Command>
  static Command CommandOf(const Words& words) {
    const Arguments arguments = Parsed(words);
    const auto* command = std::get_if<Command>(&arguments.command);
    if (command == nullptr) ADD_FAILURE() << "another command";
    return command == nullptr ? Command() : *command;
  }

  static std::string HelpOf(const Words& words) {
    const ParsedArguments parsed = ParseArguments(words, "lockkeeper 1.2.3");
    const auto* help = std::get_if<HelpText>(&parsed);
    return help == nullptr ? "no help" : help->text;
  }

  static std::string ErrorOf(const Words& words) {
    const ParsedArguments parsed = ParseArguments(words, "lockkeeper 1.2.3");
    const auto* error = std::get_if<UsageError>(&parsed);
    return error == nullptr ? "no error" : error->message;
  }
};

TEST_F(ArgumentsTest, AcquireTakesAllItsOptions) {
  const auto command = CommandOf<AcquireCommand>(
      {"acquire", "report", "--ttl", "10s", "--wait=1m", "--lease-id", "abc", "--owner",
       "me and you", "--label", "a=b", "--label", "c=d=e", "--lock-delay", "2s", "--max-hold", "1h",
       "--hold-at-least", "5m"});

  EXPECT_EQ(command.name, "report");
  EXPECT_EQ(command.ttl, 10s);
  EXPECT_EQ(command.wait, 1min);
  EXPECT_EQ(command.lease_id, "abc");
  EXPECT_EQ(command.owner, "me and you");
  EXPECT_EQ(command.labels, (std::map<std::string, std::string>{{"a", "b"}, {"c", "d=e"}}));
  EXPECT_EQ(command.lock_delay, 2s);
  EXPECT_EQ(command.max_hold, 1h);
  EXPECT_EQ(command.hold_at_least, 5min);
}

TEST_F(ArgumentsTest, RunTakesWhatGoesWithALeaseToo) {
  const auto command = CommandOf<RunCommand>(
      {"run", "x", "--owner", "me", "--label", "a=b", "--lock-delay", "2s", "--max-hold", "1h",
       "--hold-at-least", "5m", "--wait", "2h", "--", "true"});

  EXPECT_EQ(command.owner, "me");
  EXPECT_EQ(command.labels, (std::map<std::string, std::string>{{"a", "b"}}));
  EXPECT_EQ(command.lock_delay, 2s);
  EXPECT_EQ(command.max_hold, 1h);
  EXPECT_EQ(command.hold_at_least, 5min);
  EXPECT_EQ(command.wait, 2h);
}

TEST_F(ArgumentsTest, TimeoutAndQuietAreForAllCommands) {
  const Arguments defaults = Parsed({"get", "x"});
  EXPECT_EQ(defaults.service.timeout, 5s);
  EXPECT_FALSE(defaults.service.quiet);

  for (const Words& words : {Words{"--timeout", "20s", "--quiet", "run", "x", "--", "true"},
                             Words{"run", "x", "--timeout=20s", "--quiet", "--", "true"}}) {
    const Arguments arguments = Parsed(words);
    EXPECT_EQ(arguments.service.timeout, 20s);
    EXPECT_TRUE(arguments.service.quiet);
  }
}

TEST_F(ArgumentsTest, LabelTakesOneWordOnly) {
  const auto command =
      CommandOf<AcquireCommand>({"acquire", "--label", "a=b", "report", "--label", "c=d"});

  EXPECT_EQ(command.name, "report");
  EXPECT_EQ(command.labels, (std::map<std::string, std::string>{{"a", "b"}, {"c", "d"}}));
}

TEST_F(ArgumentsTest, DefaultsAreTheServers) {
  const Arguments arguments = Parsed({"acquire", "report"});

  EXPECT_EQ(arguments.service.servers, Words{"127.0.0.1:7600"});
  EXPECT_EQ(arguments.output, OutputFormat::kText);
  EXPECT_EQ(std::get<AcquireCommand>(arguments.command).ttl, std::nullopt);
}

TEST_F(ArgumentsTest, OptionsOfAllCommandsStandBeforeOrAfterTheCommand) {
  for (const Words& words : {Words{"--server", "db:1", "--output", "json", "get", "x"},
                             Words{"get", "x", "--server", "db:1", "--output", "json"},
                             Words{"get", "--server=db:1", "x", "--output=json"}}) {
    const Arguments arguments = Parsed(words);
    EXPECT_EQ(arguments.service.servers, Words{"db:1"});
    EXPECT_EQ(arguments.output, OutputFormat::kJson);
    EXPECT_EQ(std::get<GetCommand>(arguments.command).name, "x");
    EXPECT_EQ(OutputAskedFor(words), OutputFormat::kJson);
  }
}

TEST_F(ArgumentsTest, OutputForAShellIsNotForRun) {
  for (const Words& words :
       {Words{"get", "x", "--output", "shell"}, Words{"--output=shell", "get", "x"}}) {
    EXPECT_EQ(Parsed(words).output, OutputFormat::kShell);
    EXPECT_EQ(OutputAskedFor(words), OutputFormat::kShell);
  }
  const ParsedArguments run =
      ParseArguments({"--output", "shell", "run", "x", "--", "true"}, "lockkeeper 1.2.3");
  EXPECT_TRUE(std::holds_alternative<UsageError>(run));
}

TEST_F(ArgumentsTest, ServerComesFromTheEnvironmentUnlessGiven) {
  setenv("LOCKKEEPER_SERVER", "unix:/run/lk.sock,db:2", 1);

  EXPECT_EQ(Parsed({"health"}).service.servers, (Words{"unix:/run/lk.sock", "db:2"}));
  EXPECT_EQ(Parsed({"health", "--server", "db:1"}).service.servers, Words{"db:1"});
}

TEST_F(ArgumentsTest, TokenFileComesFromTheEnvironmentUnlessGiven) {
  EXPECT_EQ(Parsed({"health"}).service.token_file, "");
  setenv("LOCKKEEPER_TOKEN_FILE", "/run/token", 1);

  EXPECT_EQ(Parsed({"health"}).service.token_file, "/run/token");
  EXPECT_EQ(Parsed({"health", "--token-file", "mine"}).service.token_file, "mine");
}

TEST_F(ArgumentsTest, FileWithAnEmptyNameIsAMistakeOfTheCommandLineOnly) {
  for (const Words& words : {Words{"backup-check", "--since", ""},
                             {"backup-check", "--save", ""},
                             {"token", "create", "--name", "ci", "--out", ""},
                             {"health", "--token-file", ""},
                             {"health", "--tls-ca", ""},
                             {"health", "--tls-cert", ""},
                             {"health", "--tls-key", ""}}) {
    const std::string& option = words[words.size() - 2];
    EXPECT_TRUE(ErrorOf(words).starts_with(option + ": the name of the file is empty"))
        << ErrorOf(words);
  }
  EXPECT_TRUE(ErrorOf({"health", "--server-name", ""}).starts_with("--server-name: is empty"));

  setenv("LOCKKEEPER_TOKEN_FILE", "", 1);
  EXPECT_EQ(Parsed({"health"}).service.token_file, "") << "as if it were not set";
}

TEST_F(ArgumentsTest, SeveralServersComeWithCommasOrOneByOne) {
  const Words all = {"a:1", "b:2", "unix:/c"};
  for (const Words& words :
       {Words{"get", "x", "--server", "a:1,b:2,unix:/c"},
        Words{"--server", "a:1", "--server=b:2,unix:/c", "get", "x"},
        Words{"--server", "a:1", "get", "--server", "b:2", "x", "--server", "unix:/c"}}) {
    const Arguments arguments = Parsed(words);
    EXPECT_EQ(arguments.service.servers, all) << testing::PrintToString(words);
    EXPECT_EQ(std::get<GetCommand>(arguments.command).name, "x");
  }
  const auto run = CommandOf<RunCommand>(
      {"--server", "a:1", "--server", "b:2", "run", "x", "--", "echo", "--server", "c:3"});
  EXPECT_EQ(run.command, (Words{"echo", "--server", "c:3"}));
}

TEST_F(ArgumentsTest, OtherCommandsTakeTheirOptions) {
  const auto extend = CommandOf<ExtendCommand>(
      {"extend", "x", "id", "--ttl", "5s", "--token", "7", "--reassertion", "1.proof"});
  EXPECT_EQ(extend.lease_id, "id");
  EXPECT_EQ(extend.ttl, 5s);
  EXPECT_EQ(extend.token, 7);
  EXPECT_EQ(extend.reassertion, "1.proof");
  EXPECT_EQ(CommandOf<ReleaseCommand>({"release", "x", "id"}).lease_id, "id");
  const auto fence = CommandOf<FenceCommand>({"fence", "x", "-5", "--require-live-lease"});
  EXPECT_EQ(fence.token, -5) << "the server says what is wrong with it";
  EXPECT_TRUE(fence.require_live_lease);
  const auto list = CommandOf<ListCommand>({"list", "--prefix", "app/", "--limit", "7"});
  EXPECT_EQ(list.prefix, "app/");
  EXPECT_EQ(list.limit, 7);
  const auto force =
      CommandOf<ForceReleaseCommand>({"force-release", "x", "--reason", "r", "--now"});
  EXPECT_EQ(force.reason, "r");
  EXPECT_TRUE(force.now);
  const auto end = CommandOf<EndQuarantineCommand>(
      {"end-quarantine", "--epoch", "7", "--reason", "r", "--accept-two-holders"});
  EXPECT_EQ(end.epoch, 7);
  EXPECT_EQ(end.reason, "r");
}

TEST_F(ArgumentsTest, WhatFollowsTheDashesIsTheCommandWhateverItLooksLike) {
  const Words command = {"--ttl", "5", "--", "get", "--output=json", "\xFF"};
  Words words = {"--server", "run", "run", "x", "--grace", "1s", "--"};
  words.insert(words.end(), command.begin(), command.end());

  const auto run = CommandOf<RunCommand>(words);

  EXPECT_EQ(run.name, "x");
  EXPECT_EQ(run.grace, 1s);
  EXPECT_EQ(run.ttl, 30s);
  EXPECT_EQ(run.conflict_exit_code, 75);
  EXPECT_EQ(run.command, command);
  EXPECT_EQ(OutputAskedFor(words), OutputFormat::kText);
}

TEST_F(ArgumentsTest, NamesThatLookLikeOptionsComeAfterTheDashes) {
  EXPECT_EQ(CommandOf<GetCommand>({"get", "--", "--ttl"}).name, "--ttl");
}

TEST_F(ArgumentsTest, MistakesAreExplained) {
  struct Case {
    Words words;
    std::string said;
  };
  for (const Case& each : {
           Case{{}, "a command is missing"},
           Case{{"aquire", "x"}, "did you mean `acquire`?"},
           Case{{"frobnicate"}, "unknown command `frobnicate` ("},
           Case{{"help", "frobnicate"}, "unknown command `frobnicate` (see `lockkeeper --help`)"},
           Case{{"help", "aquire"}, "did you mean `acquire`?"},
           Case{{"aquire", "--help"}, "did you mean `acquire`?"},
           Case{{"--help", "aquire"}, "did you mean `acquire`?"},
           Case{{"aquire", "x", "--ttl", "3s"},
                "unknown command `aquire`; did you mean `acquire`?"},
           Case{{"acquire", "x", "--ttl"}, "`--ttl` needs a value"},
           Case{{"acquire", "x", "--ttl", "1s", "--ttl", "2s"}, "`--ttl` is given twice"},
           Case{{"get", "x", "--token-file", "a", "--token-file=b"},
                "`--token-file` is given twice"},
           Case{{"--server", "a:1", "--server", "b:1", "get", "x", "--server"},
                "`--server` needs a value"},
           Case{{"fence", "x", "99999999999999999999"}, "`99999999999999999999` is too large"},
           Case{{"extend", "x", "id", "--token", "7x"}, "`7x` is not a whole number"},
           Case{{"list", "--limit", "abc"}, "--limit: `abc` is not a whole number"},
           Case{{"get", "x", "--timeout", "0s"}, "--timeout: must be more than 0s"},
           Case{{"acquire"}, "NAME is required"},
           Case{{"--ttl", "5s", "acquire", "x"},
                "`--ttl` is an option of `acquire` and belongs behind it, before any `--` (see"},
           Case{{"--ttl=5s", "run", "x", "--", "true"},
                "`--ttl` is an option of `run` and belongs behind it, before any `--` (see"},
           Case{{"acquire", "x", "--tll", "5s"}, "unknown option `--tll`; did you mean `--ttl`?"},
           Case{{"acquire", "--tll=5s"}, "unknown option `--tll=5s`; did you mean `--ttl`?"},
           Case{{"--sever", "x", "health"}, "did you mean `--server`?"},
           Case{{"acquire", "x", "--ttl", "5"}, R"(--ttl: "5" is a bare number)"},
           Case{{"acquire", "x", "--ttl", "1001h"}, R"(--ttl: "1001h" is over 1000h)"},
           Case{{"acquire", "x", "--label", "ab"}, "`ab` is not of the form KEY=VALUE"},
           Case{{"acquire", "x", "--label", "a=1", "--label", "a=2"}, "`a` is given twice"},
           Case{{"acquire", "x", "y"}, "unexpected argument `y`"},
           Case{{"acquire", "\xFF"}, "not valid UTF-8"},
           Case{{"end-quarantine", "--epoch", "0", "--reason", "r", "--accept-two-holders"},
                "--epoch: must be at least 1: the epoch that `lockkeeper health` shows"},
           Case{{"fence", "x", "seven"}, "TOKEN: `seven` is not a whole number"},
           Case{{"force-release", "x"}, "--reason is required"},
           Case{{"list", "--limit", "0"}, "at least 1"},
           Case{{"run", "x", "true"}, "unexpected argument `true`"},
           Case{{"run", "x"}, "`run` needs `--` before the command"},
           Case{{"run", "x", "--"}, "the command after `--` is missing"},
           Case{{"run", "x", "--conflict-exit-code", "256", "--", "true"}, "--conflict-exit-code"},
           Case{{"get", "x", "--output", "xml"}, "--output"},
       }) {
    EXPECT_NE(ErrorOf(each.words).find(each.said), std::string::npos)
        << "said `" << ErrorOf(each.words) << "` instead of `" << each.said << "`";
  }
}

TEST_F(ArgumentsTest, HelpOfACommandHasTheOptionsOfAllAndItsOwnExitCodes) {
  for (const char* command : {"acquire", "extend",         "release",      "fence",
                              "get",     "is-held",        "list",         "who",
                              "top",     "force-release",  "history",      "contended",
                              "watch",   "end-quarantine", "drain",        "health",
                              "info",    "doctor",         "backup-check", "whoami",
                              "can",     "token",          "run"}) {
    const std::string help = HelpOf({command, "--help"});
    for (const char* part :
         {"--server ADDRESS", "--output FORMAT", "--timeout DURATION", "--quiet", "Exit codes: "}) {
      EXPECT_NE(help.find(part), std::string::npos) << part << " is not in " << help;
    }
  }
  EXPECT_EQ(HelpOf({"get", "--help"}).find("75"), std::string::npos) << "a code it never has";
  const std::string run = HelpOf({"run", "--help"});
  for (const char* part : {"NAME -- COMMAND", "LOCKKEEPER_FENCING_TOKEN", "126", "127", "70"}) {
    EXPECT_NE(run.find(part), std::string::npos) << part << " is not in " << run;
  }
}

TEST_F(ArgumentsTest, TopAndWhoTakeTheirOptions) {
  const auto top = CommandOf<TopCommand>(
      {"top", "--prefix", "jobs/", "--sort", "left", "--filter", "db", "--once"});
  EXPECT_EQ(top.prefix, "jobs/");
  EXPECT_EQ(top.sort, SortBy::kLeft);
  EXPECT_EQ(top.filter, "db");
  EXPECT_TRUE(top.once);
  EXPECT_EQ(CommandOf<TopCommand>({"top"}).sort, SortBy::kName);
  EXPECT_FALSE(CommandOf<TopCommand>({"top"}).once);
  EXPECT_TRUE(CommandOf<TopCommand>({"top", "--output", "json"}).once) << "no live JSON";

  const auto who = CommandOf<WhoCommand>({"who", "ci", "--prefix", "jobs/"});
  EXPECT_EQ(who.principal, "ci");
  EXPECT_EQ(who.prefix, "jobs/");
  EXPECT_EQ(CommandOf<WhoCommand>({"who"}).principal, "");
}

TEST_F(ArgumentsTest, HelpAndPageNameEachKeyThatTopSortsBy) {
  const std::string help = HelpOf({"top", "--help"});
  EXPECT_NE(help.find("name, holder, age, left, line or rate (default name)"), std::string::npos)
      << help;
  EXPECT_NE(support::ReadSourceFile("docs/reference/cli.md")
                .find("[--sort name|holder|age|left|line|rate]"),
            std::string::npos);
  EXPECT_EQ(CommandOf<TopCommand>({"top", "--sort", "rate"}).sort, SortBy::kRate);
  EXPECT_NE(HelpOf({"can", "--help"}).find("drain or admin"), std::string::npos);
}

TEST_F(ArgumentsTest, HelpOfHistorySaysWhatTheListLacks) {
  const std::string help = HelpOf({"history", "--help"});
  EXPECT_NE(help.find("released within 100 ms is left out"), std::string::npos) << help;
  EXPECT_NE(help.find("has the token of the forced"), std::string::npos) << help;
}

TEST_F(ArgumentsTest, ContendedTakesItsOptions) {
  const auto contended = CommandOf<ContendedCommand>(
      {"contended", "--prefix", "jobs/", "--by", "time", "--limit", "5"});
  EXPECT_EQ(contended.prefix, "jobs/");
  EXPECT_EQ(contended.by, ContendedBy::kTime);
  EXPECT_EQ(contended.limit, 5);
  EXPECT_EQ(CommandOf<ContendedCommand>({"contended"}).by, ContendedBy::kWaits);
  EXPECT_EQ(CommandOf<ContendedCommand>({"contended", "--by", "waits"}).limit, 20);
  EXPECT_NE(ErrorOf({"contended", "--by", "age"}).find("--by"), std::string::npos);
  for (const char* limit : {"0", "257"}) {
    EXPECT_NE(ErrorOf({"contended", "--limit", limit}).find("1 to 256"), std::string::npos);
  }
}

TEST_F(ArgumentsTest, DrainIsForOneServer) {
  const auto drain = CommandOf<DrainCommand>({"drain", "--reason", "new kernel", "--wait"});
  EXPECT_EQ(drain.reason, "new kernel");
  EXPECT_TRUE(drain.wait);
  EXPECT_NE(ErrorOf({"drain"}).find("--reason"), std::string::npos);
  EXPECT_NE(ErrorOf({"drain", "--reason", "r", "--server", "a:1,b:1"}).find("exactly one"),
            std::string::npos);
}

// The words of each line of `text` that begins with two spaces, between two headings.
std::vector<std::string> FirstWords(const std::string& text, const std::string& from,
                                    const std::string& to) {
  std::vector<std::string> words;
  const size_t begin = text.find(from);
  if (begin == std::string::npos) return words;
  std::istringstream lines(text.substr(begin, text.find(to, begin) - begin));
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 2 && line.starts_with("  ") && line[2] != ' ') {
      words.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return words;
}

TEST_F(ArgumentsTest, PageHasEachCommandWithItsOptions) {
  const std::string page = support::ReadSourceFile("docs/reference/cli.md");
  const size_t block = page.find("```\nacquire");
  ASSERT_NE(block, std::string::npos);
  const std::string synopsis = page.substr(block, page.find("\n```", block + 3) - block);

  const std::vector<std::string> commands = FirstWords(HelpOf({"--help"}), "Subcommands:", "\n\n");
  ASSERT_GT(commands.size(), 15U);
  for (const std::string& command : commands) {
    const size_t line = synopsis.find("\n" + command);
    ASSERT_NE(line, std::string::npos) << command;
    // Up to the next line that is not indented.
    size_t end = line;
    do {
      end = synopsis.find('\n', end + 1);
    } while (end != std::string::npos && synopsis.substr(end, 2) == "\n ");
    const std::string entry = synopsis.substr(line, end - line);
    for (std::string option : FirstWords(HelpOf({command, "--help"}), "Options:", "\n\n")) {
      if (!option.starts_with("--")) continue;
      option.erase(std::min(option.find(','), option.size()));
      EXPECT_NE(entry.find(option), std::string::npos) << option << " of " << command;
    }
  }
}

TEST_F(ArgumentsTest, HelpAndVersionAreTextToPrint) {
  for (const Words& words : {Words{"--help"}, Words{"run", "--help"}, Words{"acquire", "-h"}}) {
    const ParsedArguments parsed = ParseArguments(words, "lockkeeper 1.2.3");
    ASSERT_TRUE(std::holds_alternative<HelpText>(parsed));
    EXPECT_NE(std::get<HelpText>(parsed).text.find("Usage: lockkeeper"), std::string::npos);
  }
  EXPECT_EQ(HelpOf({"help", "run"}), HelpOf({"run", "--help"}));
  EXPECT_EQ(HelpOf({"help"}), HelpOf({"--help"}));
  EXPECT_EQ(HelpOf({"help", "--server", "a:1", "run"}), HelpOf({"run", "--help"}));
  EXPECT_EQ(HelpOf({"help", "run", "x", "--", "true"}), HelpOf({"run", "--help"}));
  EXPECT_EQ(HelpOf({"help", "help"}), HelpOf({"help", "--help"}));
  EXPECT_NE(HelpOf({"--help"}).find("\n  help "), std::string::npos);
  EXPECT_EQ(std::get<HelpText>(ParseArguments({"--version"}, "lockkeeper 1.2.3")).text,
            "lockkeeper 1.2.3");
}

TEST_F(ArgumentsTest, CompletionIsPrintedForEachShell) {
  EXPECT_NE(HelpOf({"completion", "bash"}).find("complete -F _lockkeeper lockkeeper"),
            std::string::npos);
  EXPECT_EQ(HelpOf({"completion", "zsh"}).rfind("#compdef lockkeeper", 0), 0U);
  EXPECT_NE(HelpOf({"completion", "fish"}).find("complete -c lockkeeper -f"), std::string::npos);
  EXPECT_NE(ErrorOf({"completion", "tcsh"}).find("tcsh"), std::string::npos);
  EXPECT_NE(ErrorOf({"completion"}).find("SHELL"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::cli
