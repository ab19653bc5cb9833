// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/options.h"

namespace lockkeeper::cli {
namespace {

// What may stand for a value.
enum class Value { kNone, kFile, kChoice, kOther };

struct Word {
  std::string name;  // "--ttl"
  Value value = Value::kNone;
  std::vector<std::string> choices;
  std::string meaning;
};

struct CommandWords {
  std::string name;
  std::string meaning;
  std::vector<Word> options;
  std::vector<std::string> choices;  // For its first argument.
};

// Up to what explains more than a line can show.
std::string FirstPart(const std::string& text) {
  std::string part = text.substr(0, text.find_first_of(";("));
  part.erase(part.find_last_not_of(' ') + 1);
  return part;
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string name = option.get_name(/*positional=*/option.get_lnames().empty());
  const auto list = [](const auto& words) {
    return std::vector<std::string>(words.begin(), words.end());
  };
  if (name == "--output") return list(kOutputFormats);
  if (name == "--sort") return list(kSortKeys);
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
  return commands;
}

std::string NamesOf(const std::vector<Word>& options, const char* between) {
  return absl::StrJoin(options, between,
                       [](std::string* out, const Word& word) { out->append(word.name); });
}

// All options of one kind of value, of all commands.
std::vector<Word> WithValue(const std::vector<Word>& common,
                            const std::vector<CommandWords>& commands, Value value) {
  std::vector<Word> found;
  const auto take = [&](const std::vector<Word>& options) {
    for (const Word& word : options) {
      const bool is_known = std::any_of(found.begin(), found.end(),
                                        [&](const Word& other) { return other.name == word.name; });
      if (word.value == value && !is_known) found.push_back(word);
    }
  };
  take(common);
  for (const CommandWords& command : commands) take(command.options);
  return found;
}

// Behind `--` stands the command of `run`, which the shell completes as it does any other.
std::string BashScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  const std::vector<Word> files = WithValue(common, commands, Value::kFile);
  const std::vector<Word> choices = WithValue(common, commands, Value::kChoice);
  const std::vector<Word> others = WithValue(common, commands, Value::kOther);
  std::vector<Word> with_value = files;
  with_value.insert(with_value.end(), choices.begin(), choices.end());
  with_value.insert(with_value.end(), others.begin(), others.end());

  std::string script =
      "# bash completion for lockkeeper: source <(lockkeeper completion bash)\n"
      "_lockkeeper() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
      "command='' given=0 i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in\n";
  absl::StrAppend(&script, "      ", NamesOf(with_value, " | "), ") ((++i)) ;;\n");
  absl::StrAppend(&script,
                  "      --)\n"
                  "        COMPREPLY=($(compgen -c -f -- \"$word\"))\n"
                  "        return\n"
                  "        ;;\n"
                  "      -*) ;;\n"
                  "      *)\n"
                  "        [ -n \"$command\" ] && ((++given))\n"
                  "        command=${command:-${COMP_WORDS[i]}}\n"
                  "        ;;\n"
                  "    esac\n"
                  "  done\n"
                  "  case $before in\n");
  absl::StrAppend(&script, "    ", NamesOf(files, " | "),
                  ")\n      COMPREPLY=($(compgen -f -- \"$word\"))\n      return\n      ;;\n");
  for (const Word& choice : choices) {
    absl::StrAppend(&script, "    ", choice.name, ")\n      COMPREPLY=($(compgen -W \"",
                    absl::StrJoin(choice.choices, " "),
                    "\" -- \"$word\"))\n      return\n      ;;\n");
  }
  absl::StrAppend(&script, "    ", NamesOf(others, " | "), ") return ;;\n  esac\n",
                  "  local options=\"", NamesOf(common, " "),
                  "\" words=''\n  case $command in\n    '') words=\"");
  for (const CommandWords& command : commands) absl::StrAppend(&script, command.name, " ");
  absl::StrAppend(&script, "\" ;;\n");
  for (const CommandWords& command : commands) {
    absl::StrAppend(&script, "    ", command.name, ")\n");
    if (!command.options.empty()) {
      absl::StrAppend(&script, "      options+=\" ", NamesOf(command.options, " "), "\"\n");
    }
    if (!command.choices.empty()) {
      absl::StrAppend(&script, "      ((given > 0)) || words=\"",
                      absl::StrJoin(command.choices, " "), "\"\n");
    }
    absl::StrAppend(&script, "      ;;\n");
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "  [[ $word != -* ]] || words=$options\n"
                  "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "}\n"
                  "complete -F _lockkeeper lockkeeper\n");
  return script;
}

// zsh runs the functions of bash.
std::string ZshScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  return absl::StrCat(
      "#compdef lockkeeper\n# zsh completion for lockkeeper: source <(lockkeeper completion zsh)\n"
      "autoload -U +X bashcompinit && bashcompinit\n",
      BashScript(common, commands));
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishScript(const std::vector<Word>& common, const std::vector<CommandWords>& commands) {
  std::string script =
      "# fish completion for lockkeeper: lockkeeper completion fish | source\n"
      "complete -c lockkeeper -f\n";
  const auto add_options = [&script](const std::string& condition,
                                     const std::vector<Word>& options) {
    for (const Word& word : options) {
      absl::StrAppend(&script, "complete -c lockkeeper", condition, " -l ", word.name.substr(2));
      if (word.value == Value::kFile) absl::StrAppend(&script, " -rF");
      if (word.value == Value::kOther) absl::StrAppend(&script, " -x");
      if (word.value == Value::kChoice) {
        absl::StrAppend(&script, " -xa ", Quoted(absl::StrJoin(word.choices, " ")));
      }
      absl::StrAppend(&script, " -d ", Quoted(word.meaning), "\n");
    }
  };
  add_options("", common);
  for (const CommandWords& command : commands) {
    absl::StrAppend(&script, "complete -c lockkeeper -n __fish_use_subcommand -a ", command.name,
                    " -d ", Quoted(command.meaning), "\n");
    const std::string condition =
        absl::StrCat(" -n '__fish_seen_subcommand_from ", command.name, "'");
    add_options(condition, command.options);
    if (!command.choices.empty()) {
      absl::StrAppend(&script, "complete -c lockkeeper", condition, " -a ",
                      Quoted(absl::StrJoin(command.choices, " ")), "\n");
    }
  }
  return script;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, std::string_view shell) {
  const std::vector<Word> common = OptionsOf(app);
  const std::vector<CommandWords> commands = CommandsOf(app);
  if (shell == "fish") return FishScript(common, commands);
  return shell == "zsh" ? ZshScript(common, commands) : BashScript(common, commands);
}

}  // namespace lockkeeper::cli
