// SPDX-License-Identifier: Apache-2.0
//
// The command line against real daemons on one real redis-server.
#pragma once

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/process/cli_process.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {

// The object that a command printed last with --output json. A field that is not there is empty, 0
// or false.
class Json {
 public:
  explicit Json(const support::CliResult& result) {
    const size_t end = result.out.find_last_not_of('\n') + 1;
    const size_t line = result.out.rfind('\n', end == 0 ? 0 : end - 1);
    const size_t begin = line == std::string::npos || line >= end ? 0 : line + 1;
    const auto status = google::protobuf::util::JsonStringToMessage(
        result.out.substr(begin, end - begin), &object_);
    EXPECT_TRUE(status.ok()) << result.out << result.err;
  }

  Json() = default;

  Json Object(const std::string& field) const {
    Json object;
    object.object_ = Value(field).struct_value();
    return object;
  }
  Json Item(const std::string& list, int number) const {
    Json object;
    object.object_ = Value(list).list_value().values(number).struct_value();
    return object;
  }
  std::vector<std::string> Texts(const std::string& field) const {
    const google::protobuf::Value list = Value(field);
    std::vector<std::string> texts;
    for (const auto& item : list.list_value().values()) texts.push_back(item.string_value());
    return texts;
  }
  bool Has(const std::string& field) const { return object_.fields().contains(field); }
  std::string Text(const std::string& field) const { return Value(field).string_value(); }
  int64_t Number(const std::string& field) const {
    return static_cast<int64_t>(Value(field).number_value());
  }
  bool Flag(const std::string& field) const { return Value(field).bool_value(); }
  int ItemsOf(const std::string& field) const { return Value(field).list_value().values_size(); }

 private:
  google::protobuf::Value Value(const std::string& field) const {
    const auto found = object_.fields().find(field);
    return found == object_.fields().end() ? google::protobuf::Value() : found->second;
  }

  google::protobuf::Struct object_;
};

// Lets the test say when a shell script goes on that stands at `read line <PATH`.
class Gate {
 public:
  Gate() : path_(directory_.Path("gate")) {
    if (mkfifo(path_.c_str(), 0600) == 0) fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(fd_, 0);
  }
  ~Gate() { close(fd_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Shell words that stand at the gate.
  std::string Wait() const { return "read line <'" + path_ + "'"; }
  void Open() const { EXPECT_EQ(write(fd_, "\n", 1), 1); }

 private:
  support::TemporaryDirectory directory_;
  const std::string path_;
  int fd_ = -1;
};

class CliDaemonTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  std::unique_ptr<support::DaemonProcess> StartDaemon(const Words& more = {}) const {
    Words arguments = {"--redis",     redis_.unix_url(), "--listen",
                       "127.0.0.1:0", "--http-listen",   "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto daemon = std::make_unique<support::DaemonProcess>(
        support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM, .arguments = arguments});
    daemon->WaitUntilReady();
    return daemon;
  }

  support::CliResult Run(const Words& words) const {
    return support::RunCli(LOCKKEEPER_PROGRAM, daemon_->GrpcAddress(), words);
  }

  support::CliResult RunJson(Words words) const {
    words.insert(words.begin(), {"--output", "json"});
    return Run(words);
  }

  // Starts it; it has ended at the end of the test.
  std::unique_ptr<support::CliProcess> Start(const Words& words) const {
    return std::make_unique<support::CliProcess>(LOCKKEEPER_PROGRAM, daemon_->GrpcAddress(), words);
  }

  // Acquires and leaves the lock held. Returns its lease id.
  std::string Hold(const std::string& name, const std::string& ttl = "1m") const {
    const support::CliResult result = RunJson({"acquire", name, "--ttl", ttl});
    EXPECT_EQ(result.exit_code, 0) << result.out;
    return Json(result).Text("lease_id");
  }

  // What the daemon says of `name`.
  admin::v1::Lock Look(const std::string& name) const { return Look(*daemon_, name); }
  static admin::v1::Lock Look(const support::DaemonProcess& daemon, const std::string& name) {
    const auto stub = admin::v1::AdminService::NewStub(
        grpc::CreateChannel(daemon.GrpcAddress(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    admin::v1::GetLockRequest request;
    request.set_name(name);
    admin::v1::GetLockResponse response;
    const grpc::Status status = stub->GetLock(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.lock();
  }

  bool WaitForWaiters(const std::string& name, int count) const {
    return support::WaitUntil([&] { return Look(name).waiters() == count; });
  }

  support::RedisServer redis_;
  std::unique_ptr<support::DaemonProcess> daemon_ = StartDaemon();
};

}  // namespace lockkeeper
