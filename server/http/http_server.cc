// SPDX-License-Identifier: Apache-2.0
#include "http/http_server.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "http/tls_handshakes.h"
#include "listen/accept_loop.h"
#include "listen/listener.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::http {
namespace {

// Of a connection: the request's headers, as text and parsed, and the headers of the answer.
constexpr size_t kConnectionMemory = 2 * kHeaderBytesMax;

// GnuTLS' words for TLS 1.2 or later.
constexpr char kTlsVersions[] = "NORMAL:-VERS-TLS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct Connection {
  int socket;
  bool begun = false;  // The headers of its request are complete.
  size_t body_bytes = 0;
};

MHD_Result Send(MHD_Connection* connection, const Page& page) {
  std::string body = page.body;  // The library asks for bytes that it might change.
  MHD_Response* const response =
      MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result =
      MHD_queue_response(connection, static_cast<unsigned>(page.status), response);
  MHD_destroy_response(response);
  return result;
}

}  // namespace

// Libmicrohttpd reads requests and writes answers. It runs on the thread that accepts, so that
// nothing here needs a lock.
class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, std::vector<Route> routes, telemetry::Logger logger)
      : options_(std::move(options)), routes_(std::move(routes)), logger_(logger) {}

  absl::Status Start(const core::Clock& clock);

  const config::ListenAddress& address() const { return address_; }

 private:
  // Callbacks of the library; `self` is the Impl.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* body,
                              size_t* body_bytes, void** request);
  static void OnNotice(void* self, MHD_Connection* connection, void** place,
                       MHD_ConnectionNotificationCode code);

  void Accept(os::Descriptor socket);
  void CloseOldest();
  // Lets the library work. Answers for how long it may wait.
  core::Millis Run();
  Page PageFor(std::string_view method, std::string_view path) const;
  Page NotFound() const;

  const HttpServerOptions options_;
  const std::vector<Route> routes_;
  const telemetry::Logger logger_;
  telemetry::LogLimit shortage_limit_;
  config::ListenAddress address_;
  std::list<Connection> connections_;  // The oldest first.

  // From the last to the first: the loop uses the library, which closes its connections at its end.
  std::unique_ptr<MHD_Daemon, void (*)(MHD_Daemon*)> library_{nullptr, MHD_stop_daemon};
  std::optional<listen::AcceptLoop> loop_;
};

absl::Status HttpServer::Impl::Start(const core::Clock& clock) {
  absl::StatusOr<listen::Listener> listener = listen::Listen(options_.listen);
  if (!listener.ok()) return listener.status();
  address_ = listener->address;
  address_.security = options_.listen.security;
  unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET;
  std::vector<MHD_OptionItem> more;
  if (options_.listen.security != config::Security::kNone) {
    flags |= MHD_USE_TLS;
    more.push_back(
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, reinterpret_cast<void*>(&PrepareHandshake)});
    more.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});
  library_.reset(MHD_start_daemon(
      flags, 0, nullptr, nullptr, &OnRequest, this, MHD_OPTION_CONNECTION_LIMIT,
      static_cast<unsigned>(options_.connections_max), MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(options_.idle_time_max.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionMemory, MHD_OPTION_NOTIFY_CONNECTION, &OnNotice, this, MHD_OPTION_ARRAY,
      more.data(), MHD_OPTION_END));
  if (library_ == nullptr) return {absl::StatusCode::kUnavailable, "HTTP cannot start"};
  const int wake = MHD_get_daemon_info(library_.get(), MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  loop_.emplace(
      "http", std::move(listener->sockets), wake,
      listen::AcceptHandlers{
          .on_connection = [this](os::Descriptor socket, size_t) { Accept(std::move(socket)); },
          .on_shortage =
              [this](int error) {
                CloseOldest();
                logger_.WriteLimited(shortage_limit_, telemetry::LogLevel::kWarn, "http.shortage",
                                     "A connection could not be accepted",
                                     {telemetry::field::Problem(std::strerror(error))});
              },
          .before_wait = [this] { return Run(); }},
      clock);
  return absl::OkStatus();
}

void HttpServer::Impl::Accept(os::Descriptor socket) {
  if (connections_.size() >= options_.connections_max) CloseOldest();
  const sockaddr peer{.sa_family = AF_UNSPEC, .sa_data = {}};  // Nobody asks who it is.
  MHD_add_connection(library_.get(), socket.Release(), &peer, sizeof(peer));
}

void HttpServer::Impl::CloseOldest() {
  if (connections_.empty()) return;
  shutdown(connections_.front().socket, SHUT_RDWR);
  Run();
}

core::Millis HttpServer::Impl::Run() {
  UseForHandshakes(options_.identity.get(), options_.listen.security);
  MHD_run(library_.get());
  MHD_UNSIGNED_LONG_LONG time_max = 0;
  if (MHD_get_timeout(library_.get(), &time_max) != MHD_YES) return core::Millis(-1);
  return core::Millis(time_max);
}

void HttpServer::Impl::OnNotice(void* self, MHD_Connection* connection, void** place,
                                MHD_ConnectionNotificationCode code) {
  std::list<Connection>& all = static_cast<Impl*>(self)->connections_;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *place = &all.emplace_back(Connection{.socket = info->connect_fd});
  } else {
    all.remove_if([place](const Connection& one) { return &one == *place; });
  }
}

// The library gives so many. NOLINTNEXTLINE(readability-function-size)
MHD_Result HttpServer::Impl::OnRequest(void* self, MHD_Connection* connection, const char* path,
                                       const char* method, const char*, const char*,
                                       size_t* body_bytes, void**) {
  auto& state = *static_cast<Connection*>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  // A body is read before the answer: closing with bytes unread would reset the connection, and the
  // client would not see the answer.
  if (!std::exchange(state.begun, true)) return MHD_YES;
  if (*body_bytes > 0) {
    state.body_bytes += std::exchange(*body_bytes, 0);
    return state.body_bytes <= kBodyBytesMax ? MHD_YES : MHD_NO;
  }
  try {
    return Send(connection, static_cast<Impl*>(self)->PageFor(method, path));
  } catch (const std::exception&) {
    return Send(connection, {.status = MHD_HTTP_INTERNAL_SERVER_ERROR,
                             .body = "the request could not be processed\n"});
  }
}

Page HttpServer::Impl::PageFor(std::string_view method, std::string_view path) const {
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
    return {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET and HEAD are served here\n"};
  }
  const auto route = std::find_if(routes_.begin(), routes_.end(),
                                  [path](const Route& one) { return one.path == path; });
  return route == routes_.end() ? NotFound() : route->page();
}

Page HttpServer::Impl::NotFound() const {
  const std::string paths =
      absl::StrJoin(routes_, ", ", [](std::string* out, const Route& one) { *out += one.path; });
  return {.status = MHD_HTTP_NOT_FOUND, .body = "not found; the pages are " + paths + "\n"};
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                              std::vector<Route> routes,
                                                              const core::Clock& clock,
                                                              telemetry::Logger logger) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(routes), logger);
  if (auto status = impl->Start(clock); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

const config::ListenAddress& HttpServer::address() const { return impl_->address(); }

}  // namespace lockkeeper::http
