// SPDX-License-Identifier: Apache-2.0
//
// A client and the service in this process that it talks to: by sessions, and by unary calls with a
// service that knows no sessions.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"

namespace lockkeeper {

class ClientTest : public testing::TestWithParam<support::FakeLockServer::Sessions> {
 protected:
  Client NewClient(ClientOptions options = {}) {
    options.addresses = {server_.address()};
    return *Client::Create(std::move(options));
  }

  support::FakeLockServer server_{"", GetParam()};
};

inline std::string NameOfWay(const testing::TestParamInfo<support::FakeLockServer::Sessions>& way) {
  return way.param == support::FakeLockServer::Sessions::kServed ? "Session" : "Unary";
}

// For INSTANTIATE_TEST_SUITE_P.
inline const auto kBothWays = testing::Values(support::FakeLockServer::Sessions::kServed,
                                              support::FakeLockServer::Sessions::kUnimplemented);

}  // namespace lockkeeper
