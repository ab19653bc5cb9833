// SPDX-License-Identifier: Apache-2.0
// The server over real sockets: what it serves, where it listens, and that nobody can hold it up.
#include "http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <list>
#include <thread>

#include "config/listen_address.h"
#include "http/endpoints.h"
#include "os/descriptor.h"
#include "support/process/http_get.h"
#include "support/system_clock.h"
#include "support/telemetry/recorded_log.h"

namespace lockkeeper::http {
namespace {

using support::HttpAnswer;
using support::HttpGet;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

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

  void SendEnd() { shutdown(socket_.get(), SHUT_WR); }

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
    std::vector<Route> routes = OperatingPages(health_, metrics_, clock_);
    routes.push_back({"/long", [this] { return Page{.body = long_body_}; }});
    routes.push_back({"/throw", []() -> Page { throw std::runtime_error("must not be shown"); }});
    return HttpServer::Start(std::move(options), std::move(routes), clock_, log_.logger());
  }

  std::unique_ptr<HttpServer> Start(HttpServerOptions options = {}) {
    auto server = TryStart(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }

  static HttpAnswer Get(const HttpServer& server, const std::string& path) {
    return HttpGet(server.address().ToString(), path);
  }

  // What is answered to exactly these bytes.
  static HttpAnswer Ask(const HttpServer& server, std::string_view request) {
    RawClient client(server.address());
    client.Send(request);
    return support::ParseHttpAnswer(client.ReadToEnd());
  }

  static bool IsHealthy(const HttpServer& server) { return Get(server, "/healthz").body == "ok\n"; }

  void StoreIs(bool reachable, const std::string& problem = "") {
    health_.ReportStore([&](telemetry::StoreStatus& status) {
      status.reachable = reachable;
      status.problem = problem;
    });
  }

  const support::SystemClock clock_;
  support::RecordedLog log_;
  telemetry::Metrics metrics_{"1.0", "abc"};
  telemetry::HealthBoard health_{log_.logger(), metrics_};
  // Longer than what the kernel may keep for a client that does not read.
  const std::string long_body_ = std::string(16 << 20, 'b') + "end";
};

TEST_F(HttpServerTest, HealthIsThatOfTheProcess) {
  const auto server = Start();

  for (const bool reachable : {false, true}) {
    StoreIs(reachable);
    const HttpAnswer answer = Get(*server, "/healthz");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "ok\n");
  }
}

TEST_F(HttpServerTest, ReadinessIsThatOfStoreAndDaemon) {
  const auto server = Start();
  const auto expect = [&](int status, const std::string& body) {
    const HttpAnswer answer = Get(*server, "/readyz");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
  };

  expect(503, "store away: not connected yet\n");
  StoreIs(false, "refused\r\nby 127.0.0.1");
  expect(503, "store away: refused  by 127.0.0.1\n");
  StoreIs(true);
  expect(200, "ready\n");
  health_.ReportStore([](telemetry::StoreStatus& status) {
    status.grants = false;
    status.setting_problem = "may\nevict";
  });
  expect(200, "ready; nothing new is granted: the store may evict\n");
  health_.ReportStore([](telemetry::StoreStatus& status) { status.grants = true; });
  expect(200, "ready\n");
  health_.ReportGivenUp({"store.quarantine\nis off"});
  expect(200, "ready\nnote: store.quarantine is off\n");
  health_.ReportAudit("records cannot be written:\tdisk full");
  expect(200, "ready\nrecords cannot be written: disk full\nnote: store.quarantine is off\n");
  health_.StartDraining();
  expect(503, "draining: the daemon is about to stop\n");
}

TEST_F(HttpServerTest, MetricsComeInTheFormatOfPrometheus) {
  const auto server = Start();

  const HttpAnswer answer = Get(*server, "/metrics");

  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("\nlockkeeper_store_up 0\n"));
  EXPECT_THAT(answer.body, EndsWith("\n"));
}

TEST_F(HttpServerTest, OtherPathsAreNotFound) {
  const auto server = Start();

  for (const std::string path : {"/", "/healthz/", "/metricsx", "/../etc/passwd", "/%2e%2e"}) {
    const HttpAnswer answer = Get(*server, path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr("/healthz, /readyz, /metrics"));
  }
}

TEST_F(HttpServerTest, HeadIsAnsweredWithoutTheBody) {
  const auto server = Start();

  const HttpAnswer answer = HttpGet(server->address().ToString(), "/healthz", "HEAD");

  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-length"), "3");
  EXPECT_EQ(answer.body, "");
}

TEST_F(HttpServerTest, NewAndOldHttpAreAnsweredAndTheConnectionIsClosed) {
  const auto server = Start();

  for (const std::string version : {"1.0", "1.1"}) {
    const HttpAnswer answer =
        Ask(*server, "GET /healthz?a=b&c HTTP/" + version + "\r\nHost: a\r\n\r\n");
    EXPECT_EQ(answer.status, 200) << version;
    EXPECT_EQ(answer.headers.at("content-length"), "3") << version;
    EXPECT_EQ(answer.headers.at("connection"), "close") << version;
    EXPECT_EQ(answer.body, "ok\n") << version;
  }
}

TEST_F(HttpServerTest, OtherMethodsAreRefusedAndTheirAnswerArrives) {
  const auto server = Start();

  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"}) {
    const HttpAnswer answer = Ask(*server, method +
                                               " /metrics HTTP/1.1\r\nHost: a\r\n"
                                               "Content-Length: 500000\r\n\r\n" +
                                               std::string(500'000, 'x'));
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD") << method;
  }
}

TEST_F(HttpServerTest, BodyBeyondItsLimitEndsTheConnection) {
  const auto server = Start();

  const HttpAnswer answer =
      Ask(*server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" +
                       std::string(2 * kBodyBytesMax, 'x'));

  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(IsHealthy(*server));
}

TEST_F(HttpServerTest, WhatIsNoRequestGetsNoPage) {
  const auto server = Start({.idle_time_max = std::chrono::seconds(1)});

  for (const std::string request :
       {"\r\n\r\n\r\n", "hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n"}) {
    RawClient client(server->address());
    client.Send(request);
    client.SendEnd();
    const int status = support::ParseHttpAnswer(client.ReadToEnd()).status;
    EXPECT_TRUE(status == 0 || status >= 400) << status << " to " << request;
  }
  EXPECT_TRUE(IsHealthy(*server));
}

TEST_F(HttpServerTest, ExceptionOfAPageIsAnErrorThatShowsNothing) {
  const auto server = Start();

  const HttpAnswer answer = Get(*server, "/throw");

  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, Not(HasSubstr("must not be shown")));
}

TEST_F(HttpServerTest, RequestMayComeByteByByte) {
  const auto server = Start();
  RawClient client(server->address());

  for (const char byte : std::string_view("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")) {
    client.Send({&byte, 1});
  }

  EXPECT_THAT(client.ReadToEnd(), EndsWith("\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, HeadersAreBounded) {
  const auto server = Start();
  const auto request = [](size_t bytes) {
    std::string text = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
    while (text.size() + 1'000 < bytes) text += "X: " + std::string(995, 'x') + "\r\n";
    return text + "X: " + std::string(bytes - text.size() - 7, 'x') + "\r\n\r\n";
  };

  EXPECT_EQ(Ask(*server, request(kHeaderBytesMax)).status, 200);
  EXPECT_EQ(Ask(*server, request(3 * kHeaderBytesMax)).status, 431);
}

// The page is longer than what the system takes at once.
TEST_F(HttpServerTest, SlowReaderGetsTheWholePage) {
  const auto server = Start();
  RawClient client(server->address());
  client.Send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(IsHealthy(*server)) << "while the first client has not read";

  EXPECT_EQ(support::ParseHttpAnswer(client.ReadToEnd()).body, long_body_);
}

// A signal would end this process.
TEST_F(HttpServerTest, ClientThatLeavesBeforeItsAnswerRaisesNoSignal) {
  const auto server = Start();

  RawClient(server->address()).Send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_TRUE(IsHealthy(*server));
}

// --- where it listens -------------------------------------------------------------------------

TEST_F(HttpServerTest, AddressHasThePortThatWasChosen) {
  const auto server = Start({});

  EXPECT_EQ(server->address().host, "127.0.0.1");
  EXPECT_NE(server->address().port, 0);
}

TEST_F(HttpServerTest, NameIsResolved) {
  const auto server = Start({.listen = {.host = "localhost"}});

  EXPECT_TRUE(IsHealthy(*server));
}

TEST_F(HttpServerTest, Ipv6IsServed) {
  const auto server = TryStart({.listen = {.host = "::1"}});
  if (!server.ok()) GTEST_SKIP() << "no IPv6 on this machine: " << server.status();

  EXPECT_EQ((*server)->address().host, "::1");
  EXPECT_TRUE(IsHealthy(**server));
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
  // No other test listens on this address, so none can take the port in between.
  auto server = Start({.listen = {.host = "127.0.0.2"}});
  const config::ListenAddress address = server->address();
  ASSERT_TRUE(IsHealthy(*server));
  server.reset();

  server = Start({.listen = address});

  EXPECT_EQ(server->address(), address);
  EXPECT_TRUE(IsHealthy(*server));
}

// --- nobody can hold it up --------------------------------------------------------------------

TEST_F(HttpServerTest, SilentAndSlowClientsDoNotDelayOthers) {
  const auto server = Start();
  std::list<RawClient> slow;
  for (int i = 0; i < 100; ++i) slow.emplace_back(server->address()).Send("GET /healthz HT");

  EXPECT_TRUE(IsHealthy(*server));

  for (RawClient& client : slow) client.Send("TP/1.1\r\nHost: a\r\n\r\n");
  for (RawClient& client : slow) EXPECT_THAT(client.ReadToEnd(), EndsWith("\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, TheOldestClientsMakeRoomForNewOnes) {
  const auto server = Start({.connections_max = 4});
  std::list<RawClient> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(server->address());

  EXPECT_TRUE(IsHealthy(*server));

  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(silent.front().ReadToEnd(), "") << i;
    silent.pop_front();
  }
}

TEST_F(HttpServerTest, ClientsThatDoNotReadMakeRoomForNewOnes) {
  const auto server = Start({.connections_max = 4});
  std::list<RawClient> unread;
  for (int i = 0; i < 4; ++i) {
    unread.emplace_back(server->address()).Send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
  }

  EXPECT_TRUE(IsHealthy(*server));

  EXPECT_THAT(unread.front().ReadToEnd(), Not(EndsWith("end")));
}

// They do something all the time, so that they are never idle.
TEST_F(HttpServerTest, ClientsThatTrickleDoNotKeepOthersOut) {
  const auto server = Start({.connections_max = 4});
  std::list<RawClient> trickling;
  for (int i = 0; i < 4; ++i) trickling.emplace_back(server->address()).Send("GET /");

  for (int i = 0; i < 20; ++i) {
    for (RawClient& client : trickling) client.Send("x");
    ASSERT_TRUE(IsHealthy(*server)) << i;
  }
}

TEST_F(HttpServerTest, ClientThatStopsIsCut) {
  const auto server = Start({.idle_time_max = std::chrono::seconds(1)});
  RawClient client(server->address());

  client.Send("GET /healthz HTTP/1.1\r\n");

  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(HttpServerTest, StopDoesNotWaitForClients) {
  auto server = Start({.idle_time_max = std::chrono::hours(1)});
  RawClient client(server->address());
  client.Send("GET /healthz HTTP/1.1\r\n");
  ASSERT_TRUE(IsHealthy(*server)) << "so that the first client is known to the server";

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
