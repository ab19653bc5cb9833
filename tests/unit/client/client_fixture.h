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

  // The next lease is extended as soon as it is granted: it has run for a while, as one that a
  // repeated acquire finds. No test has to wait for a third of a ttl, nor fear for a short one.
  void GrantWhatIsToBeExtendedAtOnce() {
    server_.acquire.Next([this](const support::FakeCall&, const auto& request, auto* response) {
      const grpc::Status status = server_.HonestAcquire(request, response);
      response->mutable_lease()->mutable_ttl()->set_seconds(30);
      response->mutable_lease()->mutable_remaining_ttl()->set_seconds(20);
      return status;
    });
  }

  // All extends fail .
  void RefuseExtends() {
    server_.extend.Always([](const support::FakeCall&, const auto&, auto*) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
    });
  }
  void MendExtends() {
    server_.extend.Always([this](const support::FakeCall&, const auto& request, auto* response) {
      return server_.HonestExtend(request, response);
    });
  }

  // The first lease is due at once, and is extended once extends are mended.
  void GrantWhatCannotBeExtended() {
    GrantWhatIsToBeExtendedAtOnce();
    RefuseExtends();
  }
  // Its holder hears of that from its next extend.
  void LoseReport() {
    server_.Steal("report");
    MendExtends();
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
