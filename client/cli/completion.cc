// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/options.h"

namespace lockkeeper::cli {
namespace {

using Words = std::vector<std::string>;

// What may stand for a value.
enum class Value { kNone, kFile, kChoice, kOther };

struct Word {
  std::string name;  // "--ttl"
  Value value = Value::kNone;
  Words choices;
  std::string meaning;
};

struct CommandWords {
  std::string name;
  std::string meaning;
  std::vector<Word> options;
  Words choices;  // For its first argument.
};

// Up to what explains more than a line can show.
std::string FirstPart(const std::string& text) {
  std::string part = text.substr(0, text.find_first_of(";("));
  part.erase(part.find_last_not_of(' ') + 1);
  return part;
}

Words ChoicesOf(const CLI::Option& option) {
  const std::string name = option.get_name(/*positional=*/option.get_lnames().empty());
  const auto list = [](const auto& words) { return Words(words.begin(), words.end()); };
  if (name == "--output") return list(kOutputFormats);
  if (name == "--sort") return list(kSortKeys);
  if (name == "--by") return list(kContendedOrders);
  if (name == "--event") return list(kEventKinds);
  if (name == "ACTION") return list(kTokenActions);
  if (name == "SHELL") return list(kShells);
  if (name == "VERB") return list(kVerbs);
  return {};
}

std::vector<Word> OptionsOf(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      Word word{.name = "--" + name, .meaning = FirstPart(option->get_description())};
      word.choices = ChoicesOf(*option);
      if (option->get_items_expected_max() > 0) word.value = Value::kOther;
      if (option->get_type_name() == "FILE") word.value = Value::kFile;
      if (!word.choices.empty()) word.value = Value::kChoice;
      if (app.get_parent() == nullptr || name != "help") words.push_back(std::move(word));
    }
  }
  return words;
}

Words NamesOf(const std::vector<CommandWords>& commands) {
  Words names;
  for (const CommandWords& command : commands) names.push_back(command.name);
  return names;
}

std::vector<CommandWords> CommandsOf(const CLI::App& app) {
  std::vector<CommandWords> commands;
  for (const CLI::App* each : app.get_subcommands({})) {
    CommandWords command{.name = each->get_name(),
                         .meaning = FirstPart(each->get_description()),
                         .options = OptionsOf(*each)};
    for (const CLI::Option* option : each->get_options()) {
      if (option->get_lnames().empty() && command.choices.empty()) {
        command.choices = ChoicesOf(*option);
      }
    }
    commands.push_back(std::move(command));
  }
  for (CommandWords& command : commands) {
    if (command.name == "help") command.choices = NamesOf(commands);
  }
  return commands;
}

// Each of `items` as `format` writes it.
template <typename Items, typename Format>
std::string Each(const Items& items, const Format& format) {
  return absl::StrJoin(
      items, "", [&](std::string* out, const auto& item) { absl::StrAppend(out, format(item)); });
}

std::string Spaced(const Words& words) { return absl::StrJoin(words, " "); }

// `text` as one word of bash and zsh.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

constexpr char kBashScript[] =
    R"(# bash completion for lockkeeper: source <(lockkeeper completion bash)

# Adds the options of the command, with a = behind those that take a value, and sets the choices
# for its first argument.
_lockkeeper_command() {
  command=$1
  case $command in
@COMMANDS@  esac
}

# Sets the choices for the value of an option. Readline completes files itself.
_lockkeeper_value() {
  choices=''
  case "$command $1" in
@VALUES@  esac
}

_lockkeeper() {
  local options=' @OPTIONS@ ' choices='@NAMES@'
  local command='' prefix='' line=$COMP_LINE words=() i
  # Bash parts words at = and : too: what no blank parts is one word.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    ((i > 0)) && [[ $line != [[:blank:]]* ]] || words+=('')
    words[-1]+=${COMP_WORDS[i]}
    line=${line#*"${COMP_WORDS[i]}"}
  done

  local last=$((${#words[@]} - 1)) word=${words[-1]}
  for ((i = 1; i < last; ++i)); do
    if [[ $command == run && ${words[i]} == -- ]]; then
      compopt -o default
      [[ $i -lt $((last - 1)) || $word == */* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$word")
      return
    elif [[ ${words[i]} == -* ]]; then
      [[ $options != *" ${words[i]}= "* ]] || ((++i))
    else
      choices=''
      [ -n "$command" ] || _lockkeeper_command "${words[i]}"
    fi
  done

  if ((i > last)); then
    _lockkeeper_value "${words[last - 1]}"
  elif [[ $word == -*=* ]]; then
    _lockkeeper_value "${word%%=*}"
    # Readline replaces only what stands behind the =, where that parts words.
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=${word%%=*}=
    word=${word#*=}
  elif [[ $word == -* ]]; then
    choices=${options//=/}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$choices" -- "$word")
}
complete -F _lockkeeper lockkeeper
)";

std::string BashOptions(const std::vector<Word>& options) {
  return absl::StrJoin(options, " ", [](std::string* out, const Word& word) {
    absl::StrAppend(out, word.name, word.value == Value::kNone ? "" : "=");
  });
}

std::string BashCommand(const CommandWords& command) {
  if (command.options.empty() && command.choices.empty()) return "";
  std::string line = absl::StrCat("    ", command.name, ")");
  if (!command.options.empty()) {
    absl::StrAppend(&line, " options+='", BashOptions(command.options), " '");
  }
  if (!command.choices.empty()) {
    absl::StrAppend(&line, " choices='", Spaced(command.choices), "'");
  }
  return line + " ;;\n";
}

// What completes the values of `options`. `begin`: what stands before them in the pattern.
std::string BashValues(const std::string& begin, const std::vector<Word>& options) {
  return Each(options, [&](const Word& word) -> std::string {
    const std::string pattern = absl::StrCat("    ", begin, " ", word.name, "') ");
    if (word.value == Value::kFile) return pattern + "compopt -o default ;;\n";
    if (word.value != Value::kChoice) return "";
    return absl::StrCat(pattern, "choices='", Spaced(word.choices), "' ;;\n");
  });
}

std::string BashScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  const auto values = [](const CommandWords& each) {
    return BashValues("'" + each.name, each.options);
  };
  return absl::StrReplaceAll(kBashScript,
                             {{"@COMMANDS@", Each(commands, BashCommand)},
                              {"@VALUES@", BashValues("*'", common) + Each(commands, values)},
                              {"@OPTIONS@", BashOptions(common)},
                              {"@NAMES@", Spaced(NamesOf(commands))}});
}

// A package has it as a file, which zsh runs when the function is first called.
constexpr char kZshScript[] = R"(#compdef lockkeeper
# zsh completion for lockkeeper: source <(lockkeeper completion zsh)

_lockkeeper() {
  local curcontext=$curcontext state state_descr line
  local -A opt_args
  local -a names=(
@NAMES@  )
  local -a specs=(
@OPTIONS@  )
  _arguments -C -S -A '-*' : $specs '1: :->command' '*:: :->argument'
  case $state in
    command) _describe command names ;;
    argument)
      local -i dashes=$words[(i)--]
      if [[ $words[1] == run ]] && ((dashes < CURRENT)); then
        shift $dashes words
        ((CURRENT -= dashes))
        _normal
        return
      fi
      case $words[1] in
@COMMANDS@      esac
      _arguments -S : $specs '*: :()'
      ;;
  esac
}

if [[ $funcstack[1] == _lockkeeper ]]; then
  _lockkeeper "$@"
else
  compdef _lockkeeper lockkeeper
fi
)";

std::string ZshOption(const Word& word) {
  const bool has_value = word.value != Value::kNone;
  const std::string meaning = absl::StrReplaceAll(word.meaning, {{"[", "\\["}, {"]", "\\]"}});
  std::string spec = absl::StrCat("*", word.name, has_value ? "=[" : "[", meaning, "]");
  if (has_value) absl::StrAppend(&spec, ": :");
  if (word.value == Value::kFile) spec += "_files";
  if (word.value == Value::kChoice) absl::StrAppend(&spec, "(", Spaced(word.choices), ")");
  return Quoted(spec);
}

std::string ZshCommand(const CommandWords& command) {
  if (command.options.empty() && command.choices.empty()) return "";
  std::string specs = Each(command.options, [](const Word& word) {
    return absl::StrCat("            ", ZshOption(word), "\n");
  });
  if (!command.choices.empty()) {
    absl::StrAppend(&specs, "            '1: :(", Spaced(command.choices), ")'\n");
  }
  return absl::StrCat("        ", command.name, ")\n          specs+=(\n", specs,
                      "          )\n          ;;\n");
}

std::string ZshScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  const auto name = [](const CommandWords& each) {
    return absl::StrCat("    ", Quoted(absl::StrCat(each.name, ":", each.meaning)), "\n");
  };
  const auto option = [](const Word& word) { return absl::StrCat("    ", ZshOption(word), "\n"); };
  return absl::StrReplaceAll(kZshScript, {{"@NAMES@", Each(commands, name)},
                                          {"@OPTIONS@", Each(common, option)},
                                          {"@COMMANDS@", Each(commands, ZshCommand)}});
}

constexpr char kFishScript[] =
    R"(# fish completion for lockkeeper: lockkeeper completion fish | source

# Whether the line has this command: the first word that is neither an option nor its value.
function __lockkeeper_is
    set --local words (commandline -opc)
    set words $words[2..]
    while string match -q -- '-*' "$words[1]"
        if contains -- $words[1] @WITH_VALUE@
            set words $words[2..]
        end
        set words $words[2..]
    end
    test "$words[1]" = "$argv"
end

# Whether this is the word before.
function __lockkeeper_follows
    set --local words (commandline -opc)
    test "$words[-1]" = "$argv"
end

# What may follow in the command of run, behind --.
function __lockkeeper_command
    set --local words (commandline -opc)
    set --local dashes (contains --index -- -- $words)
    or return
    set words (string escape -- $words[(math $dashes + 1)..]) (commandline -ct)
    complete -C (string join -- ' ' $words)
end

complete -c lockkeeper -f
complete -c lockkeeper -n '__lockkeeper_is run' -a '(__lockkeeper_command)'
)";

std::string FishQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// The options, for when `condition` holds.
std::string FishOptions(const std::string& condition, const std::vector<Word>& options) {
  return Each(options, [&](const Word& word) {
    std::string line =
        absl::StrCat("complete -c lockkeeper", condition, " -l ", word.name.substr(2));
    if (word.value == Value::kFile) line += " -rF";
    if (word.value == Value::kOther) line += " -x";
    if (word.value == Value::kChoice) {
      absl::StrAppend(&line, " -xa ", FishQuoted(Spaced(word.choices)));
    }
    return absl::StrCat(line, " -d ", FishQuoted(word.meaning), "\n");
  });
}

std::string FishCommand(const CommandWords& command) {
  const std::string condition = absl::StrCat(" -n '__lockkeeper_is ", command.name, "'");
  std::string lines =
      absl::StrCat("complete -c lockkeeper -n __lockkeeper_is -a ", command.name, " -d ",
                   FishQuoted(command.meaning), "\n", FishOptions(condition, command.options));
  if (!command.choices.empty()) {
    absl::StrAppend(&lines, "complete -c lockkeeper -n '__lockkeeper_is ", command.name,
                    "; and __lockkeeper_follows ", command.name, "' -a ",
                    FishQuoted(Spaced(command.choices)), "\n");
  }
  return lines;
}

std::string FishScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  Words with_value;
  for (const Word& word : common) {
    if (word.value != Value::kNone) with_value.push_back(word.name);
  }
  return absl::StrCat(absl::StrReplaceAll(kFishScript, {{"@WITH_VALUE@", Spaced(with_value)}}),
                      FishOptions("", common), Each(commands, FishCommand));
}

}  // namespace

std::string CompletionScript(const CLI::App& app, std::string_view shell) {
  const std::vector<Word> common = OptionsOf(app);
  const std::vector<CommandWords> commands = CommandsOf(app);
  if (shell == "fish") return FishScript(common, commands);
  return shell == "zsh" ? ZshScript(common, commands) : BashScript(common, commands);
}

}  // namespace lockkeeper::cli
