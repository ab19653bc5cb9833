// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include "absl/strings/str_cat.h"
#include "cli/help.h"
#include "man/option_items.h"
#include "man/roff.h"

namespace lockkeeper::cli {
namespace {

// "acquire [OPTIONS] NAME"
std::string UsageOf(const CLI::App& command) {
  std::string arguments;
  bool has_options = false;
  for (const CLI::Option* option : command.get_options()) {
    if (man::IsArgument(*option)) {
      const std::string name = man::TermOf(*option);
      absl::StrAppend(&arguments, " ", option->get_required() ? name : "[" + name + "]");
    } else {
      has_options = has_options || !option->check_lname("help");
    }
  }
  return absl::StrCat(command.get_name(), has_options ? " [OPTIONS]" : "", arguments,
                      command.get_name() == "run" ? " -- COMMAND [ARGUMENT]..." : "");
}

void AddCommand(const CLI::App& command, man::Roff& page) {
  page.Subsection(UsageOf(command));
  page.Paragraph(command.get_description());
  man::AddOptions(command, page);
  page.Paragraph(FooterOf(command.get_name()));
}

void AddEnvironment(const CLI::App& app, man::Roff& page) {
  page.Section("environment");
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_envname().empty()) continue;
    page.Item(option->get_envname(), absl::StrCat("the same as ", man::TermOf(*option)));
  }
}

}  // namespace

std::string ManPage(const CLI::App& app, const std::string& version) {
  man::Roff page("lockkeeper", 1, version);
  page.Section("name");
  page.Paragraph("lockkeeper - takes, keeps and shows locks of the lockkeeper service");
  page.Section("synopsis");
  page.Paragraph("lockkeeper [OPTIONS] COMMAND ...");
  page.Section("description");
  page.Paragraph(
      "Talks to the daemon lockkeeperd over gRPC. The options of all commands may stand before or "
      "after the command.");
  page.Section("commands");
  for (const CLI::App* command : app.get_subcommands({})) AddCommand(*command, page);
  page.Section("options of all commands");
  man::AddOptions(app, page);
  AddEnvironment(app, page);
  page.Section("exit status");
  page.Paragraph(app.get_footer());
  page.Section("see also");
  page.Paragraph("lockkeeperd(8)");
  return std::move(page).Take();
}

}  // namespace lockkeeper::cli
