// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/postgres.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/load/process_stat.h"
#include "bench/program.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{30};
constexpr std::chrono::seconds kStopLimit{10};
constexpr std::chrono::milliseconds kPollInterval{20};
constexpr const char* kUser = "postgres";

bool IsRoot() { return geteuid() == 0; }

// `command` as a user who may run it, in `folder`, which that user can enter.
std::vector<std::string> InFolder(const std::string& folder, std::vector<std::string> command) {
  std::vector<std::string> words = {"env", "--chdir=" + folder};
  if (IsRoot()) {
    // A new user would be spared when the parent dies; SIGINT ends all of PostgreSQL.
    for (const char* word :
         {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=INT"}) {
      words.emplace_back(word);
    }
  }
  std::move(command.begin(), command.end(), std::back_inserter(words));
  return words;
}

void GiveToUser(const std::string& folder) {
  const passwd* user = getpwnam(kUser);
  if (user == nullptr || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot give PostgreSQL its folder");
  }
}

}  // namespace

std::string PostgresProgram(const std::string& name) {
  int newest = 0;
  std::string program;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const std::string path = version.path() / "bin" / name;
    const int number = std::atoi(version.path().filename().c_str());
    if (number <= newest || access(path.c_str(), X_OK) != 0) continue;
    newest = number;
    program = path;
  }
  return program;
}

Peer PostgresPeer() {
  std::string missing;
  for (const char* program : {"postgres", "initdb", "pgbench", "pg_isready"}) {
    if (PostgresProgram(program).empty()) missing = std::string("there is no ") + program;
  }
  if (missing.empty() && IsRoot() && getpwnam(kUser) == nullptr) missing = "no user postgres";
  return {.missing = missing, .versions = [] {
            return std::map<std::string, std::string>{
                {"postgresql", VersionIn(OutputOf({PostgresProgram("postgres"), "--version"}))}};
          }};
}

PostgresServer::PostgresServer() {
  if (IsRoot()) GiveToUser(directory_.path());
  const std::string data = directory_.Path("data");
  OutputOf(InFolder(directory_.path(), {PostgresProgram("initdb"), "--pgdata=" + data,
                                        "--auth=trust", "--username=" + user(), "--locale=C"}));
  process_ = std::make_unique<support::ChildProcess>(support::ChildProcessOptions{
      .command = InFolder(directory_.path(),
                          {PostgresProgram("postgres"), "-D", data, "-c", "listen_addresses=", "-c",
                           "unix_socket_directories=" + directory_.path()}),
      .output_file = directory_.Path("log")});
  WaitUntilItAnswers();
}

PostgresServer::~PostgresServer() {
  process_->Signal(SIGINT);  // At once, and with all of its processes.
  process_->WaitForEnd(kStopLimit);
}

double PostgresServer::CpuSeconds() const {
  return CpuMicros(process_->pid(), Counting::kEndedChildrenToo) / 1e6;
}

void PostgresServer::WaitUntilItAnswers() {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  for (;;) {
    support::ChildProcess probe(
        {.command = {PostgresProgram("pg_isready"), "--quiet", "--host=" + socket_folder()}});
    const auto end = probe.WaitForEnd(kStartLimit);
    if (end && end->exit_code == 0) return;
    if (process_->WaitForEnd(kPollInterval) || std::chrono::steady_clock::now() > until) {
      std::ifstream log(directory_.Path("log"));
      throw std::runtime_error("PostgreSQL does not start:\n" +
                               std::string(std::istreambuf_iterator<char>(log), {}));
    }
  }
}

}  // namespace lockkeeper::bench
