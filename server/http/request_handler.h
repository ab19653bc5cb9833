// SPDX-License-Identifier: Apache-2.0
//
// From the bytes of a request to the bytes of its answer. The only part that knows httplib, which
// reads the request and writes the answer here, and never sees a socket: its own server takes
// headers of any length and gives each slow client a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockkeeper::http {

struct Page {
  int status = 200;
  std::string content_type;
  std::string body;
};

// Thread-safety: loop-thread only (that of the HTTP server).
class RequestHandler {
 public:
  // `page_of` gives the page for a path without its query.
  explicit RequestHandler(std::function<Page(const std::string& path)> page_of);
  ~RequestHandler();
  RequestHandler(const RequestHandler&) = delete;
  RequestHandler& operator=(const RequestHandler&) = delete;

  // The answer to `request`, which ends with the empty line after its headers. Only GET and HEAD
  // are answered with pages. The connection has to be closed after it.
  std::string Answer(std::string_view request);

 private:
  class Parser;
  const std::unique_ptr<Parser> parser_;
};

// The answer to a request whose headers are too long.
std::string AnswerToTooLong();

}  // namespace lockkeeper::http
