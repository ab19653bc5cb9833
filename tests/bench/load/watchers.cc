// SPDX-License-Identifier: Apache-2.0
#include "bench/load/watchers.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace lockkeeper::bench {
namespace {

using admin::v1::LockEvent;

// A deaf watch finds its gap behind what was kept for it. If it was told of none, it gives up then.
constexpr std::chrono::duration<double> kPatience{10};

// gRPC would read megabytes ahead of its caller.
std::shared_ptr<grpc::Channel> ConnectWithoutReadingAhead(const LoadOptions& options) {
  if (!options.tls.ca.empty()) throw std::runtime_error("deaf watchers use no TLS");
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

class Watchers::One {
 public:
  One(const LoadOptions& options, const std::shared_ptr<grpc::Channel>& channel)
      : stub_(admin::v1::AdminService::NewStub(channel)) {
    const std::chrono::duration<double> limit(options.seconds);
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::ceil<std::chrono::seconds>(limit + kPatience));
    admin::v1::WatchLocksRequest request;
    request.set_prefix(options.watch_prefix);
    reader_ = stub_->WatchLocks(&context_, request);
    admin::v1::WatchLocksResponse started;
    if (!reader_->Read(&started)) throw std::runtime_error(reader_->Finish().error_message());
  }
  ~One() {
    context_.TryCancel();
    if (thread_.joinable()) thread_.join();
  }
  One(const One&) = delete;
  One& operator=(const One&) = delete;

  void ReadOnThread() {
    thread_ = std::thread([this] {
      while (Read()) {
      }
    });
  }
  void ReadUntilGap() {
    while (gaps_ == 0 && Read()) {
    }
  }

  int64_t events() const { return events_; }
  int64_t gaps() const { return gaps_; }

 private:
  bool Read() {
    if (!reader_->Read(&response_)) return false;
    int64_t gaps = 0;
    for (const LockEvent& event : response_.events()) {
      if (event.kind() == admin::v1::LOCK_EVENT_KIND_GAP) ++gaps;
    }
    events_ += response_.events_size();
    gaps_ += gaps;
    return true;
  }

  const std::unique_ptr<admin::v1::AdminService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<admin::v1::WatchLocksResponse>> reader_;
  admin::v1::WatchLocksResponse response_;
  std::atomic<int64_t> events_ = 0;
  std::atomic<int64_t> gaps_ = 0;
  std::thread thread_;
};

Watchers::Watchers(const LoadOptions& options) : begin_(SteadyClock::now()) {
  for (size_t i = 0; i < options.watchers; ++i) {
    reading_.push_back(std::make_unique<One>(options, ConnectAlone(options.address, options.tls)));
    reading_.back()->ReadOnThread();
  }
  for (size_t i = 0; i < options.deaf_watchers; ++i) {
    deaf_.push_back(std::make_unique<One>(options, ConnectWithoutReadingAhead(options)));
  }
}

Watchers::~Watchers() = default;

void Watchers::Print() {
  const std::chrono::duration<double> elapsed = SteadyClock::now() - begin_;
  int64_t events = 0, gaps = 0, deaf_gaps = 0;
  for (const auto& each : reading_) {
    events += each->events();
    gaps += each->gaps();
  }
  if (!reading_.empty()) {
    const auto watches = static_cast<double>(reading_.size());
    PrintFigure("watched_events_per_s", static_cast<double>(events) / elapsed.count() / watches);
    PrintFigure("watched_gaps", static_cast<double>(gaps));
  }
  for (const auto& each : deaf_) {
    each->ReadUntilGap();
    deaf_gaps += each->gaps();
  }
  if (!deaf_.empty()) PrintFigure("deaf_gaps", static_cast<double>(deaf_gaps));
}

}  // namespace lockkeeper::bench
