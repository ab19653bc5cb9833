// SPDX-License-Identifier: Apache-2.0
// Certificates that change while clients call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "rpc/server.h"
#include "support/process/read_text.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/in_process_server.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/secure_channel.h"
#include "support/tls/certificate_volume.h"
#include "support/tls/test_authority.h"
#include "tls/server_identity.h"

namespace lockkeeper::rpc {
namespace {

using support::CertificateVolume;
using support::LockClient;
using support::TestAuthority;
using support::TlsFiles;

class ServerTlsTest : public testing::Test {
 protected:
  // A file with the certificates of both CAs.
  std::string Bundle(const TestAuthority& one, const TestAuthority& other) {
    const std::string path = directory_.Path("ca" + std::to_string(++bundles_) + ".pem");
    std::ofstream(path) << support::ReadText(one.ca_file()) << support::ReadText(other.ca_file());
    return path;
  }

  support::TemporaryDirectory directory_;
  int bundles_ = 0;
  support::InProcessServer server_;
  TestAuthority authority_;
};

// Goal: no request fails because of a change, and each change is used. Method: clients that make a
// new connection for each request, and one that keeps its connection, all the time, while
// certificate, key and CAs are exchanged 100 times, by a watch that looks as often as it can. The
// CA of the clients is among those of each version, and the others and the daemon's own CA change.
TEST_F(ServerTlsTest, HundredChangesUnderLoadFailNoRequest) {
  const TlsFiles client = authority_.Issue({.common_name = "client"});
  TestAuthority second("second authority");
  TestAuthority third("third authority");
  const std::array own = {&second, &third};
  const support::ClientFiles files{Bundle(second, third), client.certificate, client.key};
  const std::array bundles = {Bundle(authority_, second), Bundle(third, authority_)};
  CertificateVolume volume(second.IssueForLocalhost(), bundles[0]);
  const auto identity =
      tls::ServerIdentity::Load({.authorities = {"ca", volume.ca_file()},
                                 .certificate = {"certificate", volume.files().certificate},
                                 .key = {"key", volume.files().key}});
  ASSERT_TRUE(identity.ok()) << identity.status();
  const auto server =
      Server::Start({{.host = "127.0.0.1", .security = config::Security::kMutualTls}},
                    server_.Deps(), {.identity = *identity});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = (*server)->addresses().front().ToString();

  std::atomic<int> changes = 0;
  std::atomic<int> problems = 0;
  std::vector<os::WatchedFiles> sets;
  sets.emplace_back((*identity)->files(), (*identity)->contents(),
                    [&](const os::Contents& contents) { return (*identity)->Take(contents); },
                    [&](const text::Problem& problem) {
                      ++(problem ? problems : changes);
                      changes.notify_one();
                    });
  const os::FileWatch watch(std::move(sets), std::chrono::milliseconds(1));

  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::vector<std::thread> clients;
  const LockClient lasting(support::SecureChannel(address, files), std::chrono::seconds(20));
  for (const bool keeps : {true, false, false}) {
    clients.emplace_back([&, keeps] {
      while (!stop) {
        LockClient fresh(keeps ? lasting.channel() : support::SecureChannel(address, files),
                         std::chrono::seconds(20));
        const auto answer = fresh.GetServerInfo();
        EXPECT_TRUE(answer.ok()) << answer.status.error_message();
        ++calls;
        calls.notify_one();
      }
    });
  }
  calls.wait(0);
  for (size_t i = 1; i <= 100; ++i) {
    const int before = changes;
    const int calls_before = calls;
    volume.Publish(own[i % 2]->IssueForLocalhost(), bundles[i % 2]);
    changes.wait(before);
    calls.wait(calls_before);
  }
  stop = true;
  for (std::thread& each : clients) each.join();

  EXPECT_EQ(changes, 100);
  EXPECT_EQ(problems, 0);
  EXPECT_GT(calls, 100) << "there was load";
}

}  // namespace
}  // namespace lockkeeper::rpc
