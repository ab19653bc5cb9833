// SPDX-License-Identifier: Apache-2.0
#include "redis/client/redis_url.h"

#include <sys/un.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/errors.h"
#include "text/number.h"

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kUrlField = "store.redis";
constexpr std::string_view kTcpScheme = "redis://";
constexpr std::string_view kTlsScheme = "rediss://";
constexpr std::string_view kUnixScheme = "unix://";
constexpr std::string_view kSentinelScheme = "redis+sentinel://";
constexpr std::string_view kSentinelTlsScheme = "rediss+sentinel://";
constexpr std::string_view kClusterScheme = "redis+cluster://";
constexpr std::string_view kClusterTlsScheme = "rediss+cluster://";
constexpr std::string_view kForms =
    "redis://[user:password@]host[:port][/db], rediss://... (TLS), unix:///path[?db=N], "
    "redis+sentinel://[user:password@]host[:port],.../service[/db] or "
    "redis+cluster://[user:password@]host[:port],... (rediss+... with TLS)";
constexpr uint16_t kDefaultPort = 6379;
constexpr uint16_t kSentinelPort = 26379;
constexpr size_t kHostsMax = 32;
constexpr int64_t kPortMax = 65'535;
constexpr int64_t kDatabaseMax = std::numeric_limits<int32_t>::max();
constexpr size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Problem(std::string_view problem) { return core::InvalidField(kUrlField, problem); }

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// `part` names what is decoded, for the error.
absl::StatusOr<std::string> Decode(std::string_view text, std::string_view part) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char byte = text[i];
    if (byte == '%') {
      const auto high = i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? HexDigit(text[i + 2]) : std::nullopt;
      if (!high || !low) {
        return Problem("a % in the " + std::string(part) +
                       " must be followed by two hex digits; a % itself is %25");
      }
      byte = static_cast<char>(*high * 16 + *low);
      i += 2;
    }
    if (byte == '\0') return Problem("the " + std::string(part) + " must not contain a zero byte");
    decoded.push_back(byte);
  }
  return decoded;
}

// Takes "user:password@" off the front of `authority`.
absl::Status TakeCredentials(std::string_view& authority, RedisUrl& url) {
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return absl::OkStatus();
  const std::string_view credentials = authority.substr(0, at);
  authority.remove_prefix(at + 1);
  const size_t colon = credentials.find(':');
  absl::StatusOr<std::string> user = Decode(credentials.substr(0, colon), "user");
  if (!user.ok()) return user.status();
  url.user = *std::move(user);
  if (colon == std::string_view::npos) return absl::OkStatus();
  absl::StatusOr<std::string> password = Decode(credentials.substr(colon + 1), "password");
  if (!password.ok()) return password.status();
  url.password = text::Secret(*std::move(password));
  return absl::OkStatus();
}

bool IsHostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_';
}

bool IsV6Character(char c) { return HexDigit(c) || c == ':' || c == '.'; }

template <typename Predicate>
bool AllOf(std::string_view text, Predicate predicate) {
  return !text.empty() && std::find_if_not(text.begin(), text.end(), predicate) == text.end();
}

absl::Status TakeHostAndPort(std::string_view text, uint16_t default_port, RedisUrl& url) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    const std::string_view host = text.substr(1, end == std::string_view::npos ? 0 : end - 1);
    if (!AllOf(host, IsV6Character)) {
      return Problem("an IPv6 address in brackets is expected, such as [::1]:6379");
    }
    url.host = host;
    rest = text.substr(end + 1);
  } else {
    const std::string_view host = text.substr(0, text.find(':'));
    if (!AllOf(host, IsHostCharacter)) {
      return Problem(
          "the host must be a name or an address (IPv6 in brackets); in user and password, "
          "/ @ : ? # % are percent-encoded");
    }
    url.host = host;
    rest = text.substr(host.size());
  }
  url.port = default_port;
  if (rest.empty()) return absl::OkStatus();
  const auto port = text::ParseNumber(rest.substr(1), kPortMax);
  if (rest.front() != ':' || !port || *port == 0) {
    return Problem("the port after the host must be a number from 1 to 65535");
  }
  url.port = static_cast<uint16_t>(*port);
  return absl::OkStatus();
}

// Takes all of "host[:port],host[:port]"; each is otherwise like `first`. `what` they are, for the
// error.
absl::StatusOr<std::vector<RedisUrl>> TakeHosts(std::string_view hosts, uint16_t default_port,
                                                const RedisUrl& first, std::string_view what) {
  std::vector<RedisUrl> taken;
  for (;;) {
    const size_t comma = hosts.find(',');
    taken.push_back(first);
    absl::Status status = TakeHostAndPort(hosts.substr(0, comma), default_port, taken.back());
    if (!status.ok()) return status;
    if (comma == std::string_view::npos) return taken;
    if (taken.size() == kHostsMax) {
      return Problem("at most " + std::to_string(kHostsMax) + " " + std::string(what) +
                     " can be named");
    }
    hosts.remove_prefix(comma + 1);
  }
}

absl::Status TakeDatabase(std::string_view text, RedisUrl& url) {
  const auto database = text::ParseNumber(text, kDatabaseMax);
  if (!database) return Problem("the database must be a number from 0 to 2147483647");
  url.database = static_cast<int>(*database);
  return absl::OkStatus();
}

absl::StatusOr<RedisUrl> ParseTcp(std::string_view text) {
  RedisUrl url;
  const size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (absl::Status status = TakeCredentials(authority, url); !status.ok()) return status;
  if (authority.find(',') != std::string_view::npos) {
    return Problem(
        "one host is expected; several are those of Sentinels or of a Cluster: "
        "redis+sentinel://host[:port],host[:port]/service[/db], redis+cluster://host[:port],...");
  }
  if (absl::Status status = TakeHostAndPort(authority, kDefaultPort, url); !status.ok())
    return status;
  if (slash == std::string_view::npos || slash + 1 == text.size()) return url;
  if (absl::Status status = TakeDatabase(text.substr(slash + 1), url); !status.ok()) return status;
  return url;
}

absl::StatusOr<RedisUrl> ParseUnix(std::string_view text) {
  RedisUrl url;
  const size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (absl::Status status = TakeCredentials(authority, url); !status.ok()) return status;
  if (slash == std::string_view::npos || !authority.empty()) {
    return Problem("the path of the unix socket must be absolute: unix:///path");
  }
  const size_t question = text.find('?', slash);
  absl::StatusOr<std::string> path =
      Decode(text.substr(slash, question - slash), "path of the unix socket");
  if (!path.ok()) return path.status();
  if (path->size() > kSocketPathMax) {
    return Problem("the path of the unix socket has " + std::to_string(path->size()) +
                   " bytes, at most " + std::to_string(kSocketPathMax) + " are possible");
  }
  url.socket_path = *std::move(path);
  if (question == std::string_view::npos) return url;
  constexpr std::string_view kDatabase = "db=";
  const std::string_view query = text.substr(question + 1);
  if (!query.starts_with(kDatabase)) return Problem("after the path only ?db=N may follow");
  if (absl::Status status = TakeDatabase(query.substr(kDatabase.size()), url); !status.ok()) {
    return status;
  }
  return url;
}

absl::StatusOr<StoreUrl> ParseSentinel(std::string_view text, bool tls) {
  StoreUrl url{.server = {.tls = tls}};
  const size_t slash = text.find('/');
  std::string_view hosts = text.substr(0, slash);
  if (absl::Status status = TakeCredentials(hosts, url.server); !status.ok()) return status;
  auto sentinels = TakeHosts(hosts, kSentinelPort, {.tls = tls}, "Sentinels");
  if (!sentinels.ok()) return sentinels.status();
  url.sentinels = *std::move(sentinels);
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  const size_t second = path.find('/');
  absl::StatusOr<std::string> service = Decode(path.substr(0, second), "service");
  if (!service.ok()) return service.status();
  if (service->empty()) {
    return Problem(
        "behind the Sentinels the name is expected by which they know the store, such as "
        "/mymaster");
  }
  url.service = *std::move(service);
  if (second == std::string_view::npos || second + 1 == path.size()) return url;
  absl::Status status = TakeDatabase(path.substr(second + 1), url.server);
  if (!status.ok()) return status;
  return url;
}

absl::StatusOr<StoreUrl> ParseCluster(std::string_view text, bool tls) {
  StoreUrl url{.server = {.tls = tls}};
  const size_t slash = text.find('/');
  std::string_view hosts = text.substr(0, slash);
  if (slash != std::string_view::npos && slash + 1 != text.size()) {
    return Problem("a Cluster has no databases, nor a name: nothing may follow its hosts");
  }
  if (absl::Status status = TakeCredentials(hosts, url.server); !status.ok()) return status;
  auto servers = TakeHosts(hosts, kDefaultPort, url.server, "servers of a Cluster");
  if (!servers.ok()) return servers.status();
  url.cluster = *std::move(servers);
  url.server = url.cluster.front();
  return url;
}

std::string AddressesOf(const std::vector<RedisUrl>& servers) {
  std::string text;
  for (const RedisUrl& server : servers) text += (text.empty() ? "" : ",") + server.Address();
  return text;
}

}  // namespace

text::Secret RedisUrl::CurrentPassword() const {
  return password_file ? password_file->Current() : password;
}

std::string RedisUrl::Address() const {
  if (!socket_path.empty()) return socket_path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string RedisUrl::Display() const {
  const std::string db = std::to_string(database);
  if (!socket_path.empty()) return "unix://" + socket_path + (database == 0 ? "" : "?db=" + db);
  return (tls ? "rediss://" : "redis://") + Address() + (database == 0 ? "" : "/" + db);
}

std::string StoreUrl::Address() const {
  if (has_sentinels()) return service + " of " + AddressesOf(sentinels);
  if (is_cluster()) return "the Cluster of " + AddressesOf(cluster);
  return server.Address();
}

std::string StoreUrl::Display() const {
  if (is_cluster()) {
    return std::string(server.tls ? kClusterTlsScheme : kClusterScheme) + AddressesOf(cluster);
  }
  if (!has_sentinels()) return server.Display();
  std::string text(server.tls ? kSentinelTlsScheme : kSentinelScheme);
  text += AddressesOf(sentinels) + "/" + service;
  if (server.database != 0) text += "/" + std::to_string(server.database);
  return text;
}

absl::StatusOr<StoreUrl> ParseStoreUrl(std::string_view text) {
  for (const std::string_view scheme : {kSentinelScheme, kSentinelTlsScheme}) {
    if (!text.starts_with(scheme)) continue;
    return ParseSentinel(text.substr(scheme.size()), scheme == kSentinelTlsScheme);
  }
  for (const std::string_view scheme : {kClusterScheme, kClusterTlsScheme}) {
    if (!text.starts_with(scheme)) continue;
    return ParseCluster(text.substr(scheme.size()), scheme == kClusterTlsScheme);
  }
  absl::StatusOr<RedisUrl> server = ParseRedisUrl(text);
  if (!server.ok()) return server.status();
  return StoreUrl{.server = *std::move(server), .sentinels = {}, .service = "", .cluster = {}};
}

absl::StatusOr<RedisUrl> ParseRedisUrl(std::string_view text) {
  if (text.starts_with(kTcpScheme)) return ParseTcp(text.substr(kTcpScheme.size()));
  if (text.starts_with(kUnixScheme)) return ParseUnix(text.substr(kUnixScheme.size()));
  if (text.starts_with(kTlsScheme)) {
    absl::StatusOr<RedisUrl> url = ParseTcp(text.substr(kTlsScheme.size()));
    if (url.ok()) url->tls = true;
    return url;
  }
  return Problem("must be " + std::string(kForms));
}

}  // namespace lockkeeper::redis
