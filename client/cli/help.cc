// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace lockkeeper::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(26); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (app->get_name() != "run") return CLI::Formatter::make_usage(app, std::move(name));
    return "Usage: " + name + " [OPTIONS] NAME -- COMMAND [ARGUMENT]...\n";
  }

  std::string make_footer(const CLI::App* app) const override {
    const CLI::App* parent = app->get_parent();
    if (parent == nullptr) return CLI::Formatter::make_footer(app);
    return make_group("Options of all commands", false,
                      parent->get_options([](const CLI::Option* option) {
                        return !option->check_lname("help") && !option->check_lname("version");
                      })) +
           CLI::Formatter::make_footer(app);
  }
};

constexpr auto kFooters = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"acquire",
     "Exit codes: 0 acquired, 69 unavailable or outcome unknown, 74 acquired, but the answer could "
     "not be\nwritten and the lock was released, 75 not acquired, 128 + N ended by signal N "
     "before."},
    {"extend", "Exit codes: 0 extended, 69 unavailable or outcome unknown, 70 lease lost."},
    {"release", "Exit codes: 0 released, 69 unavailable or outcome unknown, 76 not released."},
    {"fence", "Exit codes: 0 admitted, 69 unavailable, 76 stale, expired or unknown."},
    {"get",
     "Exit codes: 0 shown, 69 unavailable, 76 there is no record of it.\n"
     "A free lock is shown for a while after it was held. Use is-held in scripts."},
    {"history",
     "The last three to eight leases that have ended, the newest first, as long as the lock's "
     "record is kept:\n"
     "a minute after the last one. A lease that was released within 100 ms is left out, unless "
     "its\n"
     "hold_at_least kept the lock closed. Of owners the first 32 bytes are kept, of the first\n"
     "holder of a lock about 10. A lease that was ended by force has the token of the forced\n"
     "release, which is higher than the one its holder had.\n"
     "Exit codes: 0 shown, 69 unavailable, 76 there is no record of the lock."},
    {"is-held", "Exit codes: 0 held, 69 unavailable, 76 not held."},
    {"list", "Exit codes: 0 listed, 69 unavailable."},
    {"who", "Exit codes: 0 shown, 69 unavailable."},
    {"contended",
     "Each daemon counts the waits in line that have ended at it in the last 5 to 10 minutes.\n"
     "Exit codes: 0 listed, 69 unavailable, 77 not allowed (it needs the right list)."},
    {"top",
     "Keys: n h a l w r sort by name, holder, age, time left, line and grants per second, and\n"
     "again the other way; / filters, Esc shows all; arrows and Page Up and Down select a lock, "
     "whose\n"
     "whole name and holder stand at the foot; space asks again; q ends. If input or output is no\n"
     "terminal, or with --output json, the table is printed once.\n"
     "Exit codes: 0 shown, 69 unavailable, 128 + N ended by signal N other than INT."},
    {"watch",
     "Events: started, gap (something may be missing: look with list), granted, offered, extended, "
     "released,\nexpired, lost, forced, taken_back, waiting, left, quarantine_began, "
     "quarantine_ended. When the\nconnection breaks, it connects again, to the next server if "
     "there are several, and prints a gap.\nWith --output json each event is an object on a line "
     "of its own.\n"
     "Exit codes: 0 ended by INT or after --count events, 69 unavailable at the start, 77 not "
     "allowed,\n128 + N ended by signal N other than INT."},
    {"force-release", "Exit codes: 0 ended or opened, 69 unavailable, 76 no lease was live."},
    {"end-quarantine", "Exit codes: 0 ended, 69 unavailable, 76 no quarantine of this epoch runs."},
    {"drain",
     "Kubernetes starts it again. systemd, with the unit of the package, does not:\n"
     "systemctl start lockkeeperd.\n"
     "Exit codes: 0 it drains, or with --wait it is gone; 69 unavailable, or still there after\n"
     "drain.timeout; 77 not allowed (it needs the right drain)."},
    {"health",
     "With --http it says no more than whether the daemon serves: for health checks of "
     "containers.\n"
     "Exit codes: 0 serving, 69 not serving or unavailable."},
    {"info", "Exit codes: 0 shown, 69 unavailable, 77 not allowed (it needs the right admin)."},
    {"doctor", "Exit codes: 0 all is well, 1 there are warnings, 2 there are errors."},
    {"backup-check",
     "Exit codes: 0 all is well, 1 there are warnings, 2 there are errors, 69 unavailable, 77 not\n"
     "allowed (it needs the right admin, and list and inspect for all locks)."},
    {"whoami", "Exit codes: 0 shown, 69 unavailable, 77 the credentials are rejected."},
    {"can",
     "Exit codes: 0 allowed, 69 unavailable, 77 not allowed, or the credentials are rejected."},
    {"token",
     "The first line of `token create` is the token, for a file of its own that only its user can "
     "read.\nThe other lines are its entry in the list `tokens` of the daemon's file.\n"
     "Exit codes: 0 made."},
    {"completion",
     "For this shell: source <(lockkeeper completion bash), or the same with zsh; in fish\n"
     "lockkeeper completion fish | source. For good: write it where your shell looks for it, such "
     "as\n"
     "~/.local/share/bash-completion/completions/lockkeeper or "
     "~/.config/fish/completions/lockkeeper.fish.\n"
     "Exit codes: 0 printed."},
    {"man",
     "lockkeeper man >lockkeeper.1 && man -l lockkeeper.1 shows it. The daemon has its own: "
     "lockkeeperd\n--man-page.\nExit codes: 0 printed."},
    {"help", "Exit codes: 0 printed, 64 there is no such command."},
    {"run",
     "COMMAND gets LOCKKEEPER_LOCK, LOCKKEEPER_FENCING_TOKEN and LOCKKEEPER_LEASE_ID in its "
     "environment.\n"
     "Exit codes: that of COMMAND, 128 + N if signal N ended it, or\n"
     "  70   the lease was lost, and COMMAND was stopped\n"
     "  75   not acquired: somebody else has the lock (or --conflict-exit-code)\n"
     "  69   unavailable or outcome unknown; COMMAND did not run\n"
     "  126  COMMAND cannot be started, 127 it was not found"},
});

}  // namespace

std::shared_ptr<CLI::FormatterBase> NewHelpFormatter() { return std::make_shared<HelpFormatter>(); }

std::string_view FooterOf(std::string_view command) {
  const auto* footer = std::find_if(kFooters.begin(), kFooters.end(),
                                    [&](const auto& each) { return each.first == command; });
  return footer == kFooters.end() ? "" : footer->second;
}

}  // namespace lockkeeper::cli
