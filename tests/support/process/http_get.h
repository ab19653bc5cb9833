// SPDX-License-Identifier: Apache-2.0
//
// A GET over HTTP, on a connection of its own.
#pragma once

#include <map>
#include <string>

namespace lockkeeper::support {

struct HttpAnswer {
  int status = 0;                              // 0: nobody answered.
  std::map<std::string, std::string> headers;  // By their names in lower case.
  std::string body;
};

// `address`: host:port or [v6]:port. Waits for 10 s at most. `method` is GET or HEAD.
HttpAnswer HttpGet(const std::string& address, const std::string& path,
                   const std::string& method = "GET");

// What the bytes of an answer mean, up to the end of its connection.
HttpAnswer ParseHttpAnswer(const std::string& bytes);

}  // namespace lockkeeper::support
