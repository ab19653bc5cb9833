// SPDX-License-Identifier: Apache-2.0
#include "man/option_items.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockkeeper::man {

bool IsArgument(const CLI::Option& option) {
  return option.get_lnames().empty() && option.get_snames().empty();
}

std::string TermOf(const CLI::Option& option) {
  if (IsArgument(option)) return option.get_name(/*positional=*/true);
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string term = absl::StrJoin(names, ", ");
  if (option.get_items_expected_max() > 0) absl::StrAppend(&term, " ", option.get_type_name());
  return term;
}

void AddOptions(const CLI::App& app, Roff& page) {
  for (const CLI::Option* option : app.get_options()) {
    if (app.get_parent() != nullptr && option->check_lname("help")) continue;
    const std::string& usual = option->get_default_str();
    page.Item(TermOf(*option),
              option->get_description() + (usual.empty() ? "" : " (default: " + usual + ")"));
  }
}

}  // namespace lockkeeper::man
