// SPDX-License-Identifier: Apache-2.0
#include "rpc/flood_watch.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace lockkeeper::rpc {
namespace {

// Calls by which those that no service has, or those that have failed, grow from one look to the
// next. With fewer nobody counts streams, which takes some 10 us for each connection.
constexpr int64_t kMoreCallsMin = 100;
// For how many looks streams are then counted.
constexpr int kLooks = 20;
// Streams without a call that a service has: some 40 MB.
constexpr int64_t kStreamsMax = 2'000;
// A client that opens fewer streams between two looks is not part of a flood.
constexpr int64_t kGainMin = 25;

// What gRPC's channelz tells is JSON; all its numbers are texts.
std::string Told(char* json) {
  std::string text = json == nullptr ? "" : json;
  gpr_free(json);
  return text;
}

// The text behind the next `key` from `at` on, which moves behind it. Empty if there is none.
std::string_view Next(std::string_view text, std::string_view key, size_t& at) {
  const size_t found = text.find(key, at);
  at = found == std::string_view::npos ? text.size() : text.find('"', found + key.size());
  return found == std::string_view::npos ? std::string_view()
                                         : text.substr(found + key.size(), at - found - key.size());
}

int64_t NumberIn(std::string_view text) { return std::atoll(std::string(text).c_str()); }

int64_t Number(std::string_view text, std::string_view key) {
  size_t at = 0;
  return NumberIn(Next(text, key, at));
}

// Streams that are open, by client.
std::unordered_map<std::string, int64_t> CountStreams(int64_t server) {
  std::unordered_map<std::string, int64_t> streams;
  bool end = false;
  for (intptr_t from = 0; !end;) {
    const std::string page = Told(grpc_channelz_get_server_sockets(server, from, 0));
    end = true;
    for (size_t at = 0; at < page.size();) {
      const std::string_view client = Next(page, R"("name":"chttp2 )", at);
      const intptr_t socket = NumberIn(Next(page, R"("socketId":")", at));
      if (socket == 0) break;
      from = socket + 1;
      end = false;
      const std::string told = Told(grpc_channelz_get_socket(socket));
      streams[std::string(client)] += Number(told, R"("streamsStarted":")") -
                                      Number(told, R"("streamsSucceeded":")") -
                                      Number(told, R"("streamsFailed":")");
    }
  }
  return streams;
}

}  // namespace

std::vector<std::string> FloodWatch::Look(int64_t served) {
  const std::string server = Told(grpc_channelz_get_servers(0));  // A process has one.
  const int64_t failed = Number(server, R"("callsFailed":")");
  const int64_t unserved = Number(server, R"("callsStarted":")") -
                           Number(server, R"("callsSucceeded":")") - failed - served;
  const int64_t more_unserved = unserved - std::exchange(unserved_, unserved);
  const int64_t more_failed = failed - std::exchange(failed_, failed);
  if (more_unserved >= kMoreCallsMin || more_failed >= kMoreCallsMin) looks_left_ = kLooks;
  if (looks_left_ == 0) {
    streams_.clear();
    return {};
  }
  --looks_left_;
  const auto before = std::exchange(streams_, CountStreams(Number(server, R"("serverId":")")));
  int64_t all = 0;
  int64_t more = 0;
  std::vector<std::pair<int64_t, std::string>> clients;  // By how many streams they have opened.
  for (const auto& [client, streams] : streams_) {
    all += streams;
    const auto known = before.find(client);
    const int64_t gain = streams - (known == before.end() ? 0 : known->second);
    if (before.empty() || gain < kGainMin) continue;
    clients.emplace_back(gain, client);
    more += gain;
  }
  if (all - served < kStreamsMax) return {};
  std::sort(clients.rbegin(), clients.rend());
  std::vector<std::string> floods;
  for (const auto& [got, client] : clients) {
    if (more <= 0) break;
    floods.push_back(client);
    more -= 2 * got;
  }
  return floods;
}

}  // namespace lockkeeper::rpc
