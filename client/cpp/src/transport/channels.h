// SPDX-License-Identifier: Apache-2.0
//
// The connections to the daemons. Each daemon has one for the session and two for unary calls,
// which are made when there is no session: acquires may stand in line for minutes, and extends and
// releases must never queue behind them. Observers have one, because events that a slow one does
// not read must hold up nothing else. A connection is opened when it is first used.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "transport/channel_security.h"
#include "transport/token_file.h"

namespace lockkeeper::client {

inline constexpr size_t kAddressesMax = 16;

// Checks `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`. The error says what is wrong
// with it.
absl::Status CheckAddress(std::string_view address);

// Whether only programs of this machine can be reached there. Requires: CheckAddress is OK.
bool IsOnThisMachine(std::string_view address);

// Whether the token, if there is a file of one, may be shown at these addresses: on a plain
// connection to another machine anybody on the way could read it. Requires: CheckAddress is OK for
// each.
absl::Status CheckTokenMayBeShown(const std::string& token_file,
                                  const std::vector<std::string>& addresses, const TlsOptions& tls);

// Which of the daemons behind one name a channel uses: one until it is gone, or all in turn.
enum class Spread { kOneDaemon, kAllDaemons };

// The gRPC settings that the service needs: pings, quick reconnects, no retries by gRPC of calls
// that a server may have seen, a separate connection for each channel.
grpc::ChannelArguments ChannelSettings(Spread spread = Spread::kOneDaemon);

// A channel with these settings.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address,
                                          const ChannelSecurity& security,
                                          Spread spread = Spread::kOneDaemon);

// Thread-safety: thread-safe.
class Channels {
 public:
  using Stub = v1::LockService::StubInterface;
  using AdminStub = admin::v1::AdminService::StubInterface;

  // One daemon.
  struct Endpoint {
    std::string address;
    std::unique_ptr<Stub> acquires;
    std::unique_ptr<Stub> others;  // Extend, Release, Fence.
    std::shared_ptr<grpc::Channel> others_channel;
    std::unique_ptr<Stub> sessions;  // Null if sessions are not used.
    std::unique_ptr<AdminStub> observers;
    std::shared_ptr<TokenFile> token;  // Null without a token.
  };
  enum class Sessions { kUsed, kNotUsed };

  // Requires: not empty.
  explicit Channels(std::vector<Endpoint> daemons);
  // `token`: shown with each call. May be null. Observers are not spread: one watch is one stream.
  static std::unique_ptr<Channels> Open(const std::vector<std::string>& addresses,
                                        Sessions sessions = Sessions::kUsed,
                                        const ChannelSecurity& security = {},
                                        const std::shared_ptr<TokenFile>& token = nullptr,
                                        Spread spread = Spread::kOneDaemon);

  size_t size() const { return daemons_.size(); }

  // Index of the daemon in use.
  size_t current() const { return current_.load(std::memory_order_relaxed); }
  const Endpoint& operator[](size_t number) const { return daemons_[number]; }

  // The daemon `number` did not serve. Moves on to the next one, unless that was already done.
  void Failed(size_t number);

 private:
  const std::vector<Endpoint> daemons_;
  std::atomic<size_t> current_{0};
};

}  // namespace lockkeeper::client
