// SPDX-License-Identifier: Apache-2.0
//
// Acquires and releases locks with our own scripts straight on a Redis, pipelined: what the store
// gives if there were no daemon. The same locks again and again, each time with a new lease id, as
// clients do. One connection; Redis has one thread for all of them.
#include <hiredis/hiredis.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/load/load.h"
#include "core/requests.h"
#include "redis/format/key_layout.h"
#include "redis/format/lock_record.h"
#include "redis/node/command.h"
#include "redis/scripts.h"

namespace lockkeeper::bench {
namespace {

using std::chrono::duration;

constexpr std::string_view kMarkerKey = "bench:store";  // Which nobody writes,
constexpr std::string_view kNoMarker;                   // as the scripts are told.
constexpr std::string_view kNoTime = "0000000000000000";
constexpr std::string_view kEndOfTime = "9999999999999999";
constexpr std::string_view kEpoch = "0000000001";
constexpr int64_t kRetentionMs = 60'000;
constexpr int64_t kKeysPerLock = 1;
constexpr std::string_view kDoNotWait = "000000";
constexpr size_t kAcquireReplyWidth = 4;
constexpr size_t kReleaseReplyWidth = 4;
constexpr size_t kLocks = 1024;
constexpr duration<double> kWarmUp{0.3};
constexpr timeval kReplyLimit{10, 0};

struct Options {
  std::string socket;
  size_t locks_per_call = 1;
  size_t calls_in_flight = 1;
  double seconds = 1;
};

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, FreeReply>;

class Connection {
 public:
  explicit Connection(const std::string& socket)
      : context_(redisConnectUnixWithTimeout(socket.c_str(), kReplyLimit)) {
    if (!context_ || context_->err != 0) throw std::runtime_error("cannot connect to " + socket);
    redisSetTimeout(context_.get(), kReplyLimit);
  }

  void Append(const redis::Command& command) {
    redisAppendFormattedCommand(context_.get(), command.wire().data(), command.wire().size());
  }

  // Flushes what was appended if no reply is there yet.
  ReplyPtr Read() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
      throw std::runtime_error(std::string("redis: ") + context_->errstr);
    }
    ReplyPtr owned(static_cast<redisReply*>(reply));
    if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error("redis: " + Text(*owned));
    return owned;
  }

  std::string Ask(const redis::Command& command) {
    Append(command);
    return Text(*Read());
  }

 private:
  static std::string Text(const redisReply& reply) { return {reply.str, reply.len}; }

  std::unique_ptr<redisContext, FreeContext> context_;
};

// Processor time that the server's main thread has used, in seconds.
double ServerCpuSeconds(Connection& connection) {
  redis::Command command(2);
  const std::string info = connection.Ask(command.Word("INFO").Word("cpu"));
  double seconds = 0;
  for (const std::string_view field : {"used_cpu_user_main_thread:", "used_cpu_sys_main_thread:"}) {
    const size_t at = info.find(field);
    if (at == std::string::npos) throw std::runtime_error("INFO cpu lacks a field");
    seconds += std::stod(info.substr(at + field.size()));
  }
  return seconds;
}

// Makes the calls, group of locks by group of locks, and checks their replies.
class Load {
 public:
  Load(Connection& connection, const Options& options)
      : connection_(connection), options_(options), ids_(options.locks_per_call) {
    for (const redis::ScriptSource* script : {&redis::kAcquireScript, &redis::kReleaseScript}) {
      redis::Command command(3);
      connection.Ask(command.Word("SCRIPT").Word("LOAD").Word(script->text));
    }
    acquire_.ttl = core::Millis(30'000);
    acquire_.owner = "bench";
    acquire_.keeper = core::Keeper(1, 1);
    text_ = redis::EncodeText(acquire_);
    for (size_t i = 0; i < kLocks; ++i) {
      keys_.push_back(
          layout_.RecordKey("bench/lock/" + redis::Digits(static_cast<int64_t>(i), 13)));
    }
  }

  void RunFor(duration<double> length) {
    const auto end = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(length);
    while (SteadyClock::now() < end) {
      while (calls_.size() < options_.calls_in_flight) SendNext();
      ReadOne();
    }
    if (next_ == Kind::kRelease) SendNext();
    while (!calls_.empty()) ReadOne();
  }

  void StartCounting() {
    cycles_ = 0;
    acquires_ = {};
    releases_ = {};
  }

  uint64_t cycles() const { return cycles_; }
  Latencies& acquires() { return acquires_; }
  Latencies& releases() { return releases_; }

 private:
  enum class Kind { kAcquire, kRelease };
  struct Call {
    Kind kind;
    SteadyClock::time_point sent;
  };

  // A release follows the acquire of the same locks on the same connection, so in order.
  void SendNext() {
    if (next_ == Kind::kAcquire) {
      SendAcquire();
    } else {
      SendRelease();
    }
    calls_.push_back({next_, SteadyClock::now()});
    next_ = next_ == Kind::kAcquire ? Kind::kRelease : Kind::kAcquire;
  }

  redis::Command Begin(const redis::ScriptSource& script, size_t arguments) {
    const size_t count = options_.locks_per_call;
    redis::Command command(3 + count + 1 + 9 + arguments * count);
    command.Word("EVALSHA").Word(script.sha1).Number(static_cast<int64_t>(count + 1));
    for (size_t i = 0; i < count; ++i) command.Word(keys_[(first_lock_ + i) % kLocks]);
    command.Word(kMarkerKey).Number(1).Number(kRetentionMs).Word(kEpoch);
    command.Number(kKeysPerLock).Word(layout_.ChannelPrefix());
    command.Word(kNoMarker).Word(kNoTime).Word(kNoTime).Word(kEndOfTime);
    return command;
  }

  void SendAcquire() {
    redis::Command command = Begin(redis::kAcquireScript, 3);
    for (core::LeaseId& id : ids_) {
      id = core::LeaseId::FromBits(random_(), random_());
      acquire_.lease_id = id;
      command.Word(redis::EncodeRequest(acquire_, text_.size())).Word(text_).Word(kDoNotWait);
    }
    connection_.Append(command);
  }

  void SendRelease() {
    redis::Command command = Begin(redis::kReleaseScript, 2);
    for (const core::LeaseId& id : ids_) command.Word(redis::EncodeLeaseId(id)).Word("");
    connection_.Append(command);
    first_lock_ = (first_lock_ + options_.locks_per_call) % kLocks;
  }

  void ReadOne() {
    const ReplyPtr reply = connection_.Read();
    const Call call = calls_.front();
    calls_.pop_front();
    const auto latency = SteadyClock::now() - call.sent;
    const size_t width = call.kind == Kind::kAcquire ? kAcquireReplyWidth : kReleaseReplyWidth;
    if (reply->elements != 1 + width * options_.locks_per_call) {
      throw std::runtime_error("a script answered in another shape");
    }
    for (size_t i = 1; i < reply->elements; i += width) {
      if (reply->element[i]->integer != 1) throw std::runtime_error("a lock was not granted");
    }
    (call.kind == Kind::kAcquire ? acquires_ : releases_).Add(latency);
    if (call.kind == Kind::kRelease) cycles_ += options_.locks_per_call;
  }

  Connection& connection_;
  const Options& options_;
  const redis::KeyLayout layout_{"lk:"};
  std::vector<std::string> keys_;
  core::AcquireRequest acquire_;
  std::string text_;
  std::mt19937_64 random_{std::random_device()()};
  std::vector<core::LeaseId> ids_;
  size_t first_lock_ = 0;
  Kind next_ = Kind::kAcquire;
  std::deque<Call> calls_;
  uint64_t cycles_ = 0;
  Latencies acquires_, releases_;
};

void Run(const Options& options) {
  Connection connection(options.socket);
  Load load(connection, options);
  load.RunFor(kWarmUp);
  load.StartCounting();
  const double cpu_before = ServerCpuSeconds(connection);
  const auto start = SteadyClock::now();
  load.RunFor(duration<double>(options.seconds));
  const duration<double> elapsed = SteadyClock::now() - start;
  const auto cycles = static_cast<double>(load.cycles());
  PrintFigure("cycles_per_s", cycles / elapsed.count());
  PrintFigure("redis_cpu_us_per_cycle", (ServerCpuSeconds(connection) - cpu_before) * 1e6 / cycles);
  load.acquires().Print("acquire");
  load.releases().Print("release");
}

}  // namespace

void AddRedis(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("redis", "Our scripts straight on a Redis");
  const auto options = std::make_shared<Options>();
  command.add_option("--socket", options->socket, "Unix socket of the Redis")->required();
  command.add_option("--locks-per-call", options->locks_per_call)->check(CLI::Range(1, 64));
  command.add_option("--calls-in-flight", options->calls_in_flight)->check(CLI::Range(1, 1024));
  command.add_option("--seconds", options->seconds)->check(CLI::Range(0.01, 600.0));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
