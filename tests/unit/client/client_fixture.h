// SPDX-License-Identifier: Apache-2.0
//
// A client and the service in this process that it talks to.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"

namespace lockkeeper {

class ClientTest : public testing::Test {
 protected:
  Client NewClient(ClientOptions options = {}) {
    options.addresses = {server_.address()};
    return *Client::Create(std::move(options));
  }

  support::FakeLockServer server_;
};

}  // namespace lockkeeper
