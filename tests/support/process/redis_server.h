// SPDX-License-Identifier: Apache-2.0
//
// A private redis-server for a test: fresh directory, unix socket, optionally a TCP port that the
// system chose. It can be killed, paused, restarted with or without its data, and queried as by
// redis-cli. It ends with the test, even if the test crashes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "redis/node/reply.h"
#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// With TLS the port speaks nothing else; the settings name the certificates.
enum class Listening { kUnixSocket, kUnixSocketAndTcp, kUnixSocketAndTls };
enum class Durability { kNone, kDiskAlways };  // Nothing is kept; `appendfsync always`.
enum class Data { kKeep, kLose };
enum class Readiness { kAnswers, kListens };  // Listens: it may still be loading its data.

struct RedisServerOptions {
  std::string program = "redis-server";
  bool sentinel = false;    // Runs as a Sentinel.
  bool in_cluster = false;  // Runs in cluster mode.
  Listening listening = Listening::kUnixSocket;
  Durability durability = Durability::kNone;
  std::vector<std::string> settings;  // Further lines of its configuration file.
  std::vector<std::pair<std::string, std::string>> environment;
};

// Errors: throws std::runtime_error with the server's last output, which fails the test.
// Thread-safety: not thread-safe; start it on the test's main thread (see ChildProcess).
class RedisServer {
 public:
  // Starts the server and waits until it answers.
  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();

  // "redis://127.0.0.1:port" if it listens on TCP, "rediss://..." with TLS, otherwise that of the
  // unix socket.
  std::string url() const;
  std::string unix_url() const { return "unix://" + socket_path(); }
  std::string socket_path() const { return directory_.Path("redis.sock"); }
  uint16_t port() const { return port_; }
  uint16_t cluster_port() const { return cluster_port_; }  // Where others of its Cluster reach it.
  pid_t pid() const { return process_->pid(); }

  // Runs a command on a connection of its own, authenticated with the `requirepass` of the
  // settings if there is one. An error reply is a reply.
  redis::Reply Run(const std::vector<std::string>& words) const;

  // What INFO `section` says of `field`; empty if nothing.
  std::string Info(const std::string& section, const std::string& field) const;

  // Waits until INFO `section` says `value` of `field`.
  void AwaitInfo(const std::string& section, const std::string& field,
                 const std::string& value) const;

  // Whether it ends within this time.
  bool EndsWithin(std::chrono::milliseconds time) const;

  void Kill();       // SIGKILL, and waits.
  void Terminate();  // SIGTERM, and waits.
  void Pause();      // Paused; its sockets stay open.
  void Resume();
  // Ends the connections of its replicas. One that stands still has nothing then of what is written
  // from now on; otherwise its socket would keep that for it.
  void CutReplicasOff() const;

  // Starts it again, on the same addresses, after ending it with SIGKILL if it runs.
  // `extra_settings` hold for this run only.
  void Restart(Data data, const std::vector<std::string>& extra_settings = {},
               Readiness readiness = Readiness::kAnswers);

  // What it has written so far.
  std::string Output() const;

 private:
  void Start(const std::vector<std::string>& extra_settings, Readiness readiness);
  void ChoosePorts();
  void WriteConfiguration(const std::vector<std::string>& extra_settings) const;
  enum class Began { kYes, kPortTaken };
  Began WaitUntilItAnswers(Readiness readiness);

  const RedisServerOptions options_;
  TemporaryDirectory directory_;
  uint16_t port_ = 0;
  uint16_t cluster_port_ = 0;
  std::string password_;
  std::unique_ptr<ChildProcess> process_;
};

// Those of redis-server and valkey-server that this machine has in PATH.
std::vector<std::string> InstalledServers();

}  // namespace lockkeeper::support
