// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/completion.h"
#include "cli/help.h"
#include "cli/http_health.h"
#include "cli/man_page.h"
#include "cli/options.h"
#include "text/near_miss.h"
#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

// It is known to the grammar for help, man page and completion only: ReplaceHelp() takes its place.
constexpr char kHelpCommand[] = "help";
constexpr char kServerVariable[] = "LOCKKEEPER_SERVER";
constexpr char kTokenVariable[] = "LOCKKEEPER_TOKEN_FILE";
constexpr char kDefaultServer[] = "127.0.0.1:7600";

// The common options that take a value. FindCommand must skip their values.
bool TakesValue(std::string_view word) {
  return word == "--server" || word == "--output" || word == "--timeout" || word == "--tls-ca" ||
         word == "--tls-cert" || word == "--tls-key" || word == "--server-name" ||
         word == "--token-file";
}

// The index of the command in `words`. Their number if there is none.
size_t FindCommand(const std::vector<std::string>& words) {
  size_t at = 0;
  while (at < words.size() && words[at].starts_with("-")) at += TakesValue(words[at]) ? 2 : 1;
  return std::min(at, words.size());
}

// Makes `help COMMAND` the same as `--help COMMAND`. `help --help` is about help itself.
void ReplaceHelp(std::vector<std::string>& words) {
  const size_t at = FindCommand(words);
  const bool asks_twice = at + 1 < words.size() && words[at + 1] == "--help";
  if (at < words.size() && words[at] == kHelpCommand && !asks_twice) words[at] = "--help";
}

// Splits the words of `run` at the first `--`; the words after it are the command's. Returns
// whether there is a `--`.
bool TakeCommandOfRun(std::vector<std::string>& words, std::vector<std::string>& command) {
  const size_t at = FindCommand(words);
  if (at == words.size() || words[at] != "run") return false;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return false;
  command.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return true;
}

// The commands. Each fills its own struct; the one that was used is returned.
struct Grammar {
  explicit Grammar(const std::string& version);

  CLI::App* AddCommand(const std::string& name, const std::string& text) {
    CLI::App* command = app.add_subcommand(name, text);
    command->fallthrough();
    command->allow_extras();
    command->footer("\n" + std::string(FooterOf(name)));
    return command;
  }
  void AddTls();
  void AddLeaseCommands();
  void AddLookCommands();
  void AddOperatorCommands();
  void AddAccessCommands();
  void AddRun();
  void AddCompletion();
  void AddMan();
  void AddHelp();
  Command Used(CLI::App& command) const;

  CLI::App app{"Takes, keeps and shows locks of the lockkeeper service.", "lockkeeper"};
  Service service;
  std::string output = "text";
  AcquireCommand acquire;
  ExtendCommand extend;
  ReleaseCommand release;
  FenceCommand fence;
  GetCommand get;
  HistoryCommand history;
  IsHeldCommand is_held;
  ListCommand list;
  WhoCommand who;
  ContendedCommand contended;
  TopCommand top;
  WatchCommand watch;
  ForceReleaseCommand force_release;
  EndQuarantineCommand end_quarantine;
  DrainCommand drain;
  HealthCommand health;
  BackupCheckCommand backup_check;
  CanCommand can;
  TokenCommand make_token;
  RunCommand run;
  std::string shell;  // Of `completion`.
  std::string topic;  // Of `help`.
};

Grammar::Grammar(const std::string& version) {
  app.formatter(NewHelpFormatter());
  app.fallthrough();
  app.allow_extras();
  app.set_version_flag("--version", version);
  app.add_option("--server", service.servers,
                 "daemon: host:port, [v6]:port, unix:/path or tls://host:port; repeatable, or "
                 "several with commas: the next one is used when one is away or stopping")
      ->envname(kServerVariable)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("ADDRESS")
      ->default_str(kDefaultServer);
  AddTls();
  AddFile(app, "--token-file", service.token_file,
          "file with the token or JWT that proves who you are; read again when it changes")
      ->envname(kTokenVariable);
  OneOf(app.add_option("--output", output, "text, json, or shell: variables for eval"),
        kOutputFormats)
      ->type_name("FORMAT")
      ->capture_default_str();
  AddDuration(app, "--timeout",
              "how long to wait for the service, on top of --wait; acquire, extend, release, fence "
              "and run retry that long (default 5s)",
              [this](milliseconds timeout) {
                if (timeout <= milliseconds(0)) {
                  throw CLI::ValidationError("--timeout", "must be more than 0s");
                }
                service.timeout = timeout;
              });
  app.add_flag("--quiet", service.quiet, "print nothing while waiting and retrying");
  AddLeaseCommands();
  AddLookCommands();
  AddOperatorCommands();
  AddAccessCommands();
  AddRun();
  AddCompletion();
  AddMan();
  AddHelp();
  app.footer(
      "\nDurations: 500ms 30s 5m 1h. More about a command: lockkeeper COMMAND --help.\n"
      "Exit codes: 0 done, 64 usage, 65 bad field, 69 unavailable or outcome unknown, 70 lease "
      "lost,\n"
      "74 answer not written, 75 not acquired, 76 not released, not held, stale, expired, unknown "
      "token\n"
      "or not found, 77 not allowed, 128 + N ended by signal N before the lock was acquired, 1 "
      "other.");
}

void Grammar::AddTls() {
  AddFile(app, "--tls-ca", service.tls.ca_file,
          "CAs that may sign the daemon's certificate (PEM; default: the system's); this and the "
          "next three ask for TLS")
      ->envname("LOCKKEEPER_TLS_CA");
  AddFile(app, "--tls-cert", service.tls.certificate_file,
          "certificate to show to the daemon, with its chain (PEM)")
      ->envname("LOCKKEEPER_TLS_CERT");
  AddFile(app, "--tls-key", service.tls.key_file, "key of that certificate (PEM)")
      ->envname("LOCKKEEPER_TLS_KEY");
  app.add_option("--server-name", service.tls.server_name,
                 "name that the daemon's certificate must be for (default: the host of --server)")
      ->check([](const std::string& name) { return std::string(name.empty() ? "is empty" : ""); })
      ->envname("LOCKKEEPER_SERVER_NAME")
      ->type_name("NAME");
}

void Grammar::AddLeaseCommands() {
  CLI::App* command = AddCommand("acquire", "acquire a lock and print its lease id and token");
  AddName(*command, acquire.name);
  AddDuration(*command, "--ttl", "length of the lease (default: the server's, 30s)",
              [this](milliseconds ttl) { acquire.ttl = ttl; });
  AddDuration(*command, "--wait", "time to stand in line (default 0s: try once)",
              [this](milliseconds wait) { acquire.wait = wait; });
  command->add_option("--lease-id", acquire.lease_id, "32 hex digits or a UUID (default: random)")
      ->type_name("ID");
  AddLeaseOptions(*command, "user@host/pid, that of the calling process", acquire);

  command = AddCommand("extend", "extend a lease");
  AddName(*command, extend.name);
  AddLeaseId(*command, extend.lease_id);
  AddDuration(*command, "--ttl", "new length from now (default: as granted)",
              [this](milliseconds ttl) { extend.ttl = ttl; });
  AddInteger(*command, "--token", "fencing token of the lease", [this](int64_t token) {
    extend.token = token;
  })->type_name("TOKEN");
  command
      ->add_option("--reassertion", extend.reassertion,
                   "what acquire printed; with --token the lease is also extended after the store "
                   "has lost its state")
      ->type_name("TEXT");

  command = AddCommand("release", "release a lease");
  AddName(*command, release.name);
  AddLeaseId(*command, release.lease_id);

  command = AddCommand("fence", "ask whether a fencing token is the newest one of its lock");
  AddName(*command, fence.name);
  AddInteger(*command, "TOKEN", "fencing token", [this](int64_t token) { fence.token = token; })
      ->required()
      ->type_name("");
  command->add_flag("--require-live-lease", fence.require_live_lease,
                    "the token's lease must be live as well");
}

void Grammar::AddLookCommands() {
  CLI::App* command = AddCommand("get", "show one lock");
  AddName(*command, get.name);

  command = AddCommand("history", "show who held a lock lately, and how each lease ended");
  AddName(*command, history.name);

  command = AddCommand("is-held", "tell by the exit code whether somebody holds a lock");
  AddName(*command, is_held.name);

  command = AddCommand("list", "list the locks that are held, closed or waited for");
  AddPrefix(*command, list.prefix);
  AddInteger(*command, "--limit", "most locks to list (default: all)", [this](int64_t limit) {
    if (limit < 1) throw CLI::ValidationError("--limit", "must be at least 1");
    list.limit = limit;
  })->type_name("N");

  command = AddCommand("who", "show who holds which locks");
  command->add_option("PRINCIPAL", who.principal, "only this one; anonymous: who proved nothing")
      ->type_name("");
  AddPrefix(*command, who.prefix);

  command = AddCommand("contended", "show which locks were waited for most lately at one daemon");
  AddPrefix(*command, contended.prefix);
  AddChoice(*command, "--by", "waits: how many, or time: how long together (default waits)",
            kContendedOrders, contended.by);
  AddInteger(*command, "--limit", "most locks to show, 1 to 256 (default 20)",
             [this](int64_t limit) {
               if (limit < 1 || limit > 256) {
                 throw CLI::ValidationError("--limit", "must be 1 to 256");
               }
               contended.limit = limit;
             })
      ->type_name("N");

  command = AddCommand("top", "show a live table of the locks");
  AddPrefix(*command, top.prefix);
  AddChoice(*command, "--sort", Listed(kSortKeys) + " (default name)", kSortKeys, top.sort);
  command->add_option("--filter", top.filter, "show only locks with this in their name or holder")
      ->type_name("TEXT");
  command->add_flag("--once", top.once, "print the table once and end");

  command = AddCommand("watch", "tell what happens to locks, as it happens");
  CLI::Option* const watched =
      command->add_option("NAME", watch.name, "only this lock")->type_name("");
  AddPrefix(*command, watch.prefix)->excludes(watched);
  OneOf(command->add_option("--event", watch.kinds, "print only events of this kind; repeatable")
            ->allow_extra_args(false)
            ->take_all(),
        kEventKinds)
      ->type_name("KIND");
  AddInteger(*command, "--count", "end after so many events (default: go on)",
             [this](int64_t count) {
               if (count < 1) throw CLI::ValidationError("--count", "must be at least 1");
               watch.count = count;
             })
      ->type_name("N");
}

void Grammar::AddOperatorCommands() {
  CLI::App* command =
      AddCommand("force-release", "end the lease of somebody else; leaves an audit record");
  AddName(*command, force_release.name);
  command->add_option("--reason", force_release.reason, "why, for the audit record")
      ->required()
      ->type_name("TEXT");
  command->add_flag("--now", force_release.now,
                    "open the lock at once, although its holder may still be working");

  command = AddCommand("end-quarantine",
                       "let locks be granted before a quarantine is over; leaves an audit record");
  AddInteger(*command, "--epoch", "which quarantine: the epoch that `health` shows",
             [this](int64_t epoch) {
               if (epoch < 1) {
                 throw CLI::ValidationError(
                     "--epoch", "must be at least 1: the epoch that `lockkeeper health` shows");
               }
               end_quarantine.epoch = epoch;
             })
      ->required()
      ->type_name("N");
  command->add_option("--reason", end_quarantine.reason, "why, for the audit record")
      ->required()
      ->type_name("TEXT");
  command
      ->add_flag("--accept-two-holders", end_quarantine.accepts_two_holders,
                 "yes: if a holder still works whose lease Redis has forgotten, its lock is given "
                 "to a second one")
      ->required();

  command =
      AddCommand("drain", "let the daemon drain and end, as SIGTERM does; leaves an audit record");
  command->add_option("--reason", drain.reason, "why, for the audit record")
      ->required()
      ->type_name("TEXT");
  command->add_flag("--wait", drain.wait, "end only when the daemon is gone");

  command = AddCommand("health", "show whether the daemon serves");
  command
      ->add_option("--http", health.http,
                   "ask the daemon's HTTP port instead of gRPC, which may need a certificate")
      ->type_name("HOST:PORT")
      ->check(ProblemOfHttpAddress);
  AddCommand("info", "show what the daemon is, does and is set to");
  AddCommand("doctor", "look at each server, and say what is wrong and what to do");

  command = AddCommand("backup-check",
                       "say what a backup of the store is worth, or what a restored one lacks");
  AddFile(*command, "--save", backup_check.save,
          "write what the store has now to this file, for a later --since");
  AddFile(*command, "--since", backup_check.since,
          "say whether the store has lost anything since --save wrote this file");
}

void Grammar::AddAccessCommands() {
  AddCommand("whoami", "show who you are to the daemon");

  CLI::App* command =
      AddCommand("can", "tell by the exit code whether the daemon allows something");
  command->add_option("VERB", can.verb, Listed(kVerbs))->required()->type_name("");
  command->add_option("NAME", can.name, "name of the lock; for list the prefix of the names")
      ->type_name("");

  command = AddCommand("token", "make a token for the file of `lockkeeperd --tokens`");
  OneOf(command->add_option_function<std::string>(
            "ACTION",
            [this](const std::string& action) {
              make_token.action =
                  action == "hash" ? TokenCommand::Action::kHash : TokenCommand::Action::kCreate;
            },
            "create: a new token and its entry; hash: the entry of the token on standard input"),
        kTokenActions)
      ->required()
      ->type_name("");
  command->add_option("--name", make_token.name, "the principal that the token proves")
      ->required()
      ->type_name("TEXT");
  command->add_option("--expires", make_token.expires, "when it ends, as in 2027-01-31T00:00:00Z")
      ->type_name("TIME");
  AddFile(*command, "--out", make_token.out,
          "create: write the token to this new file, which only you can read, and print only its "
          "entry");
}

void Grammar::AddCompletion() {
  CLI::App* command = AddCommand("completion", "print a script that completes this command line");
  OneOf(command->add_option("SHELL", shell, Listed(kShells)), kShells)->required()->type_name("");
}

void Grammar::AddMan() {
  AddCommand("man", "print the manual page of this program, to be read by `man -l`");
}

void Grammar::AddHelp() {
  CLI::App* command = AddCommand(kHelpCommand, "print the help of a command");
  command->add_option("COMMAND", topic, "whose help; without it, all commands are listed")
      ->type_name("");
}

void Grammar::AddRun() {
  CLI::App* command = AddCommand("run", "run a command while holding a lock");
  AddName(*command, run.name);
  AddDuration(*command, "--ttl", "length of the lease, which is renewed (default 30s)",
              [this](milliseconds ttl) { run.ttl = ttl; });
  AddDuration(*command, "--wait", "time to stand in line (default 0s: try once)",
              [this](milliseconds wait) { run.wait = wait; });
  AddDuration(
      *command, "--grace",
      "time between SIGTERM and SIGKILL if the lease is lost (default: a quarter of the ttl, at "
      "most 5s)",
      [this](milliseconds grace) { run.grace = grace; });
  command
      ->add_option("--conflict-exit-code", run.conflict_exit_code,
                   "exit code if somebody else has the lock (default 75)")
      ->check(CLI::Range(0, 255).description(""))
      ->type_name("N");
  AddLeaseOptions(*command, "user@host/pid and the program", run);
}

Command Grammar::Used(CLI::App& command) const {
  const std::string& name = command.get_name();
  if (name == "acquire") return acquire;
  if (name == "extend") return extend;
  if (name == "release") return release;
  if (name == "fence") return fence;
  if (name == "get") return get;
  if (name == "history") return history;
  if (name == "is-held") return is_held;
  if (name == "list") return list;
  if (name == "who") return who;
  if (name == "contended") return contended;
  if (name == "top") return top;
  if (name == "watch") return watch;
  if (name == "force-release") return force_release;
  if (name == "end-quarantine") return end_quarantine;
  if (name == "drain") return drain;
  if (name == "info") return InfoCommand();
  if (name == "doctor") return DoctorCommand();
  if (name == "backup-check") return backup_check;
  if (name == "whoami") return WhoamiCommand();
  if (name == "can") return can;
  if (name == "token") return make_token;
  if (name == "run") return run;
  return health;
}

OutputFormat FormatOf(std::string_view name) {
  if (name == "json") return OutputFormat::kJson;
  return name == "shell" ? OutputFormat::kShell : OutputFormat::kText;
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The error for a word that is neither an option, a command nor an argument.
std::string Unexpected(const std::string& word, const CLI::App& app, const CLI::App* command) {
  std::vector<std::string> known = OptionNames(app);
  const std::string option = word.substr(0, word.find('='));
  if (command != nullptr) {
    const std::vector<std::string> own = OptionNames(*command);
    if (std::find(own.begin(), own.end(), option) != own.end()) {
      return "`" + option + "` is an option of `" + command->get_name() +
             "` and belongs behind it, before any `--`";
    }
    known.insert(known.end(), own.begin(), own.end());
  }
  const bool is_option = word.starts_with("-");
  if (!is_option && command == nullptr) {
    known.clear();
    for (const CLI::App* each : app.get_subcommands({})) known.push_back(each->get_name());
  }
  std::string message = is_option            ? "unknown option `" + word + "`"
                        : command == nullptr ? "unknown command `" + word + "`"
                                             : "unexpected argument `" + word + "`";
  if (const auto nearest = text::NearMiss(option, known)) {
    message += "; did you mean `" + *nearest + "`?";
  }
  return message;
}

// What is wrong with the number of values of an option. CLI11 begins its text with the name.
std::string MismatchText(const std::string& said, const CLI::App& app, const CLI::App* command) {
  const std::string name = said.substr(0, said.find(':'));
  const CLI::Option* option = command == nullptr ? nullptr : command->get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw(name);
  const bool is_given_twice = option != nullptr && option->count() > 1 &&
                              option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
  return "`" + name + (is_given_twice ? "` is given twice" : "` needs a value");
}

UsageError WithHint(std::string message, const CLI::App* command) {
  const std::string help =
      command == nullptr ? "lockkeeper --help" : "lockkeeper " + command->get_name() + " --help";
  return {std::move(message) + " (see `" + help + "`)"};
}

// The addresses in `given`, in its order; the default if it is empty.
std::vector<std::string> ServersOf(const std::vector<std::string>& given) {
  if (given.empty()) return {kDefaultServer};
  std::vector<std::string> servers;
  for (const std::string& text : given) {
    size_t begin = 0;
    while (begin <= text.size()) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      servers.push_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return servers;
}

// Parses `words` into `grammar`. Catches the exceptions of CLI11.
std::optional<ParsedArguments> Parse(Grammar& grammar, const std::vector<std::string>& words) {
  const auto used = [&]() -> const CLI::App* {
    const auto commands = grammar.app.get_subcommands();
    return commands.empty() ? nullptr : commands.front();
  };
  try {
    grammar.app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    std::vector<std::string> unknown = grammar.app.remaining();
    std::erase(unknown, "--");
    if (used() == nullptr && !unknown.empty()) {
      return WithHint(Unexpected(unknown[0], grammar.app, nullptr), nullptr);
    }
    std::string help = grammar.app.help();
    help.erase(help.find_last_not_of('\n') + 1);
    return HelpText{std::move(help)};
  } catch (const CLI::CallForVersion& version) {
    return HelpText{version.what()};
  } catch (const CLI::ArgumentMismatch& error) {
    return WithHint(MismatchText(error.what(), grammar.app, used()), used());
  } catch (const CLI::ParseError& error) {
    // An unknown word is the better explanation for a missing argument.
    for (const std::string& word : grammar.app.remaining(true)) {
      if (word.starts_with("-") && word != "--") {
        return WithHint(Unexpected(word, grammar.app, used()), used());
      }
    }
    return WithHint(error.what(), used());
  }
  std::vector<std::string> remaining = grammar.app.remaining(true);
  std::erase(remaining, "--");  // It only separates options from names.
  if (used() != nullptr) {      // Otherwise the first word should have been the command.
    std::stable_partition(remaining.begin(), remaining.end(),
                          [](const std::string& word) { return word.starts_with("-"); });
  }
  if (!remaining.empty()) return WithHint(Unexpected(remaining[0], grammar.app, used()), used());
  if (used() == nullptr) return WithHint("a command is missing", nullptr);
  return std::nullopt;
}

}  // namespace

OutputFormat OutputAskedFor(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--output";
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string_view value = words[i];
    if (!value.starts_with(kOption)) continue;
    value.remove_prefix(kOption.size());
    if (value.empty() && i + 1 < words.size()) value = words[i + 1];
    if (value.starts_with("=")) value.remove_prefix(1);
    if (FormatOf(value) != OutputFormat::kText) return FormatOf(value);
  }
  return OutputFormat::kText;
}

ParsedArguments ParseArguments(const std::vector<std::string>& words, const std::string& version) {
  std::vector<std::string> ours = words;
  std::vector<std::string> command;
  ReplaceHelp(ours);
  const bool has_command = TakeCommandOfRun(ours, command);
  for (const std::string& word : ours) {
    if (!text::IsUtf8(word)) return UsageError{"an argument is not valid UTF-8"};
  }

  Grammar grammar(version);
  if (std::optional<ParsedArguments> end = Parse(grammar, ours)) return *std::move(end);
  CLI::App* used = grammar.app.get_subcommands().front();
  if (used->get_name() == "completion" || used->get_name() == "man") {
    std::string text = used->get_name() == "man" ? ManPage(grammar.app, version)
                                                 : CompletionScript(grammar.app, grammar.shell);
    text.pop_back();
    return HelpText{std::move(text)};
  }
  if (used->get_name() == "run") {
    if (!has_command) return WithHint("`run` needs `--` before the command", used);
    if (command.empty()) return WithHint("the command after `--` is missing", used);
    if (grammar.output == "shell") {
      return WithHint(
          "`run` has no --output shell: its command has the variables in its environment", used);
    }
    grammar.run.command = std::move(command);
  }
  if (grammar.output != "text") grammar.top.once = true;
  grammar.service.servers = ServersOf(grammar.service.servers);
  if (used->get_name() == "drain" && grammar.service.servers.size() > 1) {
    return WithHint("`drain` needs exactly one --server: the one that is to end", used);
  }
  return Arguments{.service = std::move(grammar.service),
                   .output = FormatOf(grammar.output),
                   .command = grammar.Used(*used)};
}

}  // namespace lockkeeper::cli
