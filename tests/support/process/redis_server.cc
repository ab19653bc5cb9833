// SPDX-License-Identifier: Apache-2.0
#include "support/process/redis_server.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/process/free_port.h"
#include "support/process/redis_connection.h"

namespace lockkeeper::support {
namespace {

using std::chrono::milliseconds;
using Reply = redis::Reply;

constexpr milliseconds kStartLimit{30'000};
constexpr milliseconds kStopLimit{30'000};
constexpr milliseconds kPollInterval{5};
constexpr int kPortTries = 20;

// Nothing if nobody listens, or not yet.
std::optional<Reply> Ping(const std::string& socket_path) {
  try {
    return RedisConnection(socket_path).Run({"PING"});
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

std::string PasswordIn(const std::vector<std::string>& settings) {
  constexpr std::string_view kSetting = "requirepass ";
  for (const std::string& line : settings) {
    if (line.starts_with(kSetting)) return line.substr(kSetting.size());
  }
  return "";
}

}  // namespace

RedisServer::RedisServer(RedisServerOptions options)
    : options_(std::move(options)), password_(PasswordIn(options_.settings)) {
  if (options_.listening != Listening::kUnixSocket) ChoosePorts();
  Start({}, Readiness::kAnswers);
}

RedisServer::~RedisServer() = default;

std::string RedisServer::url() const {
  if (port_ == 0) return unix_url();
  const std::string scheme =
      options_.listening == Listening::kUnixSocketAndTls ? "rediss" : "redis";
  return scheme + "://127.0.0.1:" + std::to_string(port_);
}

Reply RedisServer::Run(const std::vector<std::string>& words) const {
  RedisConnection connection(socket_path());
  if (!password_.empty()) connection.Run({"AUTH", password_});
  return connection.Run({words.begin(), words.end()});
}

std::string RedisServer::Info(const std::string& section, const std::string& field) const {
  std::istringstream lines(Run({"INFO", section}).text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(field + ":")) return line.substr(field.size() + 1);
  }
  return "";
}

void RedisServer::AwaitInfo(const std::string& section, const std::string& field,
                            const std::string& value) const {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  while (Info(section, field) != value) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("redis-server: " + field + " does not become " + value + ":\n" +
                               Output());
    }
    std::this_thread::yield();
  }
}

bool RedisServer::EndsWithin(milliseconds time) const {
  return process_->WaitForEnd(time).has_value();
}

void RedisServer::Kill() { process_->Kill(); }

void RedisServer::Terminate() {
  process_->Signal(SIGTERM);
  if (!process_->WaitForEnd(kStopLimit)) throw std::runtime_error("redis-server ignores SIGTERM");
}

void RedisServer::Pause() { process_->Pause(); }

void RedisServer::Resume() { process_->Resume(); }

void RedisServer::CutReplicasOff() const { Run({"CLIENT", "KILL", "TYPE", "replica"}); }

void RedisServer::Restart(Data data, const std::vector<std::string>& extra_settings,
                          Readiness readiness) {
  process_->Kill();
  if (data == Data::kLose) directory_.Clear();
  Start(extra_settings, readiness);
}

std::string RedisServer::Output() const {
  std::ostringstream text;
  text << std::ifstream(directory_.Path("output")).rdbuf();
  return text.str();
}

void RedisServer::Start(const std::vector<std::string>& extra_settings, Readiness readiness) {
  const bool first = process_ == nullptr;
  for (int i = 0; i < kPortTries; ++i) {
    WriteConfiguration(extra_settings);
    unlink(socket_path().c_str());  // Of a killed predecessor: nobody listens there.
    std::vector<std::string> command = {options_.program, directory_.Path("redis.conf")};
    if (options_.sentinel) command.emplace_back("--sentinel");
    process_ =
        std::make_unique<ChildProcess>(ChildProcessOptions{.command = std::move(command),
                                                           .output_file = directory_.Path("output"),
                                                           .working_directory = directory_.path(),
                                                           .environment = options_.environment});
    if (WaitUntilItAnswers(readiness) == Began::kYes) return;
    if (first) ChoosePorts();
  }
  throw std::runtime_error("redis-server gets no port:\n" + Output());
}

void RedisServer::ChoosePorts() {
  port_ = FreePort();
  if (options_.in_cluster) cluster_port_ = FreePort();
}

void RedisServer::WriteConfiguration(const std::vector<std::string>& extra_settings) const {
  std::ofstream file(directory_.Path("redis.conf"));
  const bool tls = options_.listening == Listening::kUnixSocketAndTls;
  if (tls) file << "port 0\ntls-";
  file << "port " << port_ << "\nbind 127.0.0.1\nunixsocket " << socket_path()
       << "\nsave \"\"\nmaxmemory-policy noeviction\nenable-debug-command yes\n";
  if (options_.durability == Durability::kDiskAlways) {
    file << "appendonly yes\nappendfsync always\nno-appendfsync-on-rewrite no\n";
  }
  if (options_.in_cluster) {
    file << "cluster-enabled yes\ncluster-port " << cluster_port_ << "\n";
  }
  for (const std::string& line : options_.settings) file << line << "\n";
  for (const std::string& line : extra_settings) file << line << "\n";
}

RedisServer::Began RedisServer::WaitUntilItAnswers(Readiness readiness) {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  while (!process_->WaitForEnd(kPollInterval)) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("redis-server does not answer:\n" + Output());
    }
    const std::optional<Reply> reply = Ping(socket_path());
    if (reply && (readiness == Readiness::kListens || !reply->text.starts_with("LOADING"))) {
      return Began::kYes;
    }
  }
  const std::string output = Output();
  if (output.find("Address already in use") != std::string::npos) return Began::kPortTaken;
  throw std::runtime_error("redis-server ended at once:\n" + output);
}

std::vector<std::string> InstalledServers() {
  std::vector<std::string> found;
  for (const std::string program : {"redis-server", "valkey-server"}) {
    std::istringstream folders(std::getenv("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (access(folder.append("/").append(program).c_str(), X_OK) != 0) continue;
      found.push_back(program);
      break;
    }
  }
  return found;
}

}  // namespace lockkeeper::support
