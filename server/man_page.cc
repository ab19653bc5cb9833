// SPDX-License-Identifier: Apache-2.0
#include "man_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/settings.h"
#include "man/option_items.h"
#include "man/roff.h"

namespace lockkeeper {
namespace {

void AddSettings(man::Roff& page) {
  page.Section("settings");
  page.Paragraph(
      "Each can be set in the file of --config, and in the variable that stands behind it. An "
      "option "
      "counts more than a variable, and that more than the file.");
  const config::Config defaults;
  for (const config::Setting& setting : config::Settings()) {
    const std::string usual = absl::StrJoin(config::Show(setting, defaults).texts, ",");
    page.Item(
        absl::StrCat(std::string(setting.key), " (", config::EnvironmentName(setting), ")"),
        absl::StrCat(std::string(setting.meaning), " Values: ", config::DescribeValues(setting),
                     usual.empty() ? "" : "; default: " + usual));
  }
}

void AddSignals(man::Roff& page) {
  page.Section("signals");
  page.Item("SIGTERM, SIGINT",
            "drain: work in flight ends, for drain.timeout at most, and then the process. A second "
            "one ends it at once. Locks are not released.");
  page.Item("SIGHUP",
            "opens the file of the audit trail again and looks at once whether the configuration "
            "file or a TLS or token file has changed. With neither an audit trail nor a "
            "configuration file it ends the process at once, unless a service manager has started "
            "it.");
}

}  // namespace

std::string ManPage(const CLI::App& app, const std::string& version) {
  man::Roff page("lockkeeperd", 8, version);
  page.Section("name");
  page.Paragraph("lockkeeperd - the lock daemon of the lockkeeper service");
  page.Section("synopsis");
  page.Paragraph("lockkeeperd [OPTIONS]");
  page.Section("description");
  page.Paragraph(app.get_description());
  page.Section("options");
  man::AddOptions(app, page);
  AddSettings(page);
  AddSignals(page);
  page.Section("exit status");
  page.Paragraph(app.get_footer());
  page.Section("see also");
  page.Paragraph("lockkeeper(1)");
  return std::move(page).Take();
}

}  // namespace lockkeeper
