// SPDX-License-Identifier: Apache-2.0
// The server over real sockets: what it serves, where it listens, and that nobody can hold it up.
#include "http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <list>
#include <thread>

#include "config/listen_address.h"
#include "os/descriptor.h"
#include "support/telemetry/recorded_log.h"

namespace lockkeeper::http {
namespace {

using core::Millis;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class SystemClock : public core::Clock {
 public:
  core::Instant Now() const override { return telemetry::SystemLogTime().monotonic; }
};

// A client that sends what it is told to, over IPv4. What does not come within 10 s never comes.
class RawClient {
 public:
  RawClient() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  explicit RawClient(const config::ListenAddress& address) : RawClient() { Connect(address); }

  void Connect(const config::ListenAddress& address) {
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &target.sin_addr);
    ASSERT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&target), sizeof(target)), 0);
  }

  void Send(std::string_view bytes) {
    send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // Everything until the server closes.
  std::string ReadToEnd() {
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; (n = recv(socket_.get(), buffer.data(), buffer.size(), 0)) != 0;) {
      if (n < 0) return errno == ECONNRESET ? text : text + "<not closed>";
      text.append(buffer.data(), static_cast<size_t>(n));
    }
    return text;
  }

 private:
  os::Descriptor socket_;
};

class HttpServerTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<HttpServer>> TryStart(HttpServerOptions options = {}) {
    return HttpServer::Start(
        std::move(options),
        {.clock = clock_, .health = health_, .metrics = metrics_, .logger = log_.logger()});
  }

  std::unique_ptr<HttpServer> Start(HttpServerOptions options = {}) {
    auto server = TryStart(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }

  // A well-behaved client's view.
  static httplib::Result Get(const HttpServer& server, const std::string& path) {
    return httplib::Client("http://" + server.address().ToString()).Get(path);
  }

  void StoreIs(bool reachable, const std::string& problem = "") {
    health_.ReportStore({.reachable = reachable, .problem = problem});
  }

  const SystemClock clock_;
  support::RecordedLog log_;
  telemetry::Metrics metrics_{"1.0", "abc"};
  telemetry::HealthBoard health_{log_.logger(), metrics_};
};

TEST_F(HttpServerTest, HealthIsThatOfTheProcess) {
  const auto server = Start();

  for (const bool reachable : {false, true}) {
    StoreIs(reachable);
    const auto answer = Get(*server, "/healthz");
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "ok\n");
  }
}

TEST_F(HttpServerTest, ReadinessIsThatOfStoreAndDaemon) {
  const auto server = Start();
  const auto expect = [&](int status, const std::string& body) {
    const auto answer = Get(*server, "/readyz");
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->body, body);
    EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; charset=utf-8");
  };

  expect(503, "store away: not connected yet\n");
  StoreIs(false, "refused\r\nby 127.0.0.1");
  expect(503, "store away: refused  by 127.0.0.1\n");
  StoreIs(true);
  expect(200, "ready\n");
  health_.ReportGrants({.granting = false, .setting_problem = "may\nevict"});
  expect(200, "ready; nothing new is granted: the store may evict\n");
  health_.ReportGrants({});
  expect(200, "ready\n");
  health_.ReportGivenUp({"store.quarantine\nis off"});
  expect(200, "ready\nnote: store.quarantine is off\n");
  health_.StartDraining();
  expect(503, "draining: the daemon is about to stop\n");
}

TEST_F(HttpServerTest, MetricsComeInTheFormatOfPrometheus) {
  const auto server = Start();

  const auto answer = Get(*server, "/metrics");

  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer->body, HasSubstr("\nlockkeeper_store_up 0\n"));
  EXPECT_THAT(answer->body, EndsWith("\n"));
}

TEST_F(HttpServerTest, OtherPathsAreNotFound) {
  const auto server = Start();

  for (const std::string path : {"/", "/healthz/", "/metricsx", "/../etc/passwd", "/%2e%2e"}) {
    const auto answer = Get(*server, path);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, 404) << path;
    EXPECT_THAT(answer->body, HasSubstr("/healthz, /readyz and /metrics"));
  }
}

TEST_F(HttpServerTest, PostIsRefusedAndItsAnswerArrives) {
  const auto server = Start();

  const auto answer = httplib::Client("http://" + server->address().ToString())
                          .Post("/metrics", std::string(500'000, 'x'), "text/plain");

  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 405);
}

// --- where it listens -------------------------------------------------------------------------

TEST_F(HttpServerTest, AddressHasThePortThatWasChosen) {
  const auto server = Start({});

  EXPECT_EQ(server->address().host, "127.0.0.1");
  EXPECT_NE(server->address().port, 0);
}

TEST_F(HttpServerTest, NameIsResolved) {
  const auto server = Start({.listen = {.host = "localhost"}});

  EXPECT_TRUE(Get(*server, "/healthz"));
}

TEST_F(HttpServerTest, Ipv6IsServed) {
  const auto server = TryStart({.listen = {.host = "::1"}});
  if (!server.ok()) GTEST_SKIP() << "no IPv6 on this machine: " << server.status();

  EXPECT_EQ((*server)->address().host, "::1");
  EXPECT_TRUE(Get(**server, "/healthz"));
}

TEST_F(HttpServerTest, AddressInUseIsAnErrorThatNamesIt) {
  const auto first = Start();

  const auto second = TryStart({.listen = first->address()});

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(second.status().message(),
            "cannot listen on " + first->address().ToString() + ": Address already in use");
}

TEST_F(HttpServerTest, AddressOfAnotherMachineIsAnError) {
  const auto server = TryStart({.listen = {.host = "192.0.2.1"}});

  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message(),
            "cannot listen on 192.0.2.1:0: Cannot assign requested address");
}

// A label has at most 63 bytes, so nobody needs to be asked about this one.
TEST_F(HttpServerTest, UnknownNameIsAnError) {
  const std::string host(64, 'a');

  const auto server = TryStart({.listen = {.host = host}});

  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()),
              StartsWith("cannot listen on " + host + ":0: "));
}

TEST_F(HttpServerTest, PortIsFreeAtOnceAfterItStopped) {
  auto server = Start();
  const config::ListenAddress address = server->address();
  ASSERT_TRUE(Get(*server, "/healthz"));
  server.reset();

  server = Start({.listen = address});

  EXPECT_EQ(server->address(), address);
  EXPECT_TRUE(Get(*server, "/healthz"));
}

// --- nobody can hold it up --------------------------------------------------------------------

TEST_F(HttpServerTest, SilentAndSlowClientsDoNotDelayOthers) {
  const auto server = Start();
  std::list<RawClient> slow;
  for (int i = 0; i < 100; ++i) slow.emplace_back(server->address()).Send("GET /healthz HT");

  EXPECT_TRUE(Get(*server, "/healthz"));

  for (RawClient& client : slow) client.Send("TP/1.1\r\nHost: a\r\n\r\n");
  for (RawClient& client : slow) EXPECT_THAT(client.ReadToEnd(), EndsWith("\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, TheOldestClientsMakeRoomForNewOnes) {
  const auto server = Start({.connections_max = 4});
  std::list<RawClient> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(server->address());

  EXPECT_TRUE(Get(*server, "/healthz"));

  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(silent.front().ReadToEnd(), "") << i;
    silent.pop_front();
  }
}

TEST_F(HttpServerTest, ClientThatTakesTooLongIsCut) {
  const auto server = Start({.connection_time_max = Millis(20)});
  RawClient client(server->address());

  client.Send("GET /healthz HTTP/1.1\r\n");

  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(HttpServerTest, StopDoesNotWaitForClients) {
  auto server = Start({.connection_time_max = std::chrono::hours(1)});
  RawClient client(server->address());
  client.Send("GET /healthz HTTP/1.1\r\n");
  ASSERT_TRUE(Get(*server, "/healthz")) << "so that the first client is known to the server";

  server.reset();

  EXPECT_EQ(client.ReadToEnd(), "");
}

// Restores the limit of open files.
class FileLimit {
 public:
  FileLimit() { getrlimit(RLIMIT_NOFILE, &saved_); }
  ~FileLimit() { Restore(); }
  void Restore() { setrlimit(RLIMIT_NOFILE, &saved_); }

  // From now on nothing can be opened. (A limit of 0 would forbid poll() too.)
  void ForbidMore() {
    const os::Descriptor lowest(dup(STDERR_FILENO));
    rlimit none = saved_;
    none.rlim_cur = static_cast<rlim_t>(lowest.get());
    setrlimit(RLIMIT_NOFILE, &none);
  }

 private:
  rlimit saved_{};
};

ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Goal: neither does the listening end, nor does it spin. The first record tells that the shortage
// was met; the answer comes although nobody connects again.
TEST_F(HttpServerTest, ServesOnAfterAShortageOfDescriptors) {
  const auto server = Start();
  // The sanitizer opens descriptors when it first sees an object of a class: everything that has a
  // part in the shortage is seen before.
  const ptrdiff_t descriptors = OpenDescriptors();
  Get(*server, "/healthz");
  log_.logger().Info("test.began", "");
  while (OpenDescriptors() > descriptors) std::this_thread::yield();
  RawClient client;
  FileLimit limit;
  log_.Take();
  limit.ForbidMore();
  client.Connect(server->address());
  client.Send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  std::vector<std::string> records;
  while (records.empty()) records = log_.Take();

  limit.Restore();

  EXPECT_THAT(records, ElementsAre(AllOf(HasSubstr("event=http.shortage"),
                                         EndsWith("problem=\"Too many open files\""))));
  EXPECT_THAT(client.ReadToEnd(), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(log_.Take(), IsEmpty()) << "limited";
}

}  // namespace
}  // namespace lockkeeper::http
