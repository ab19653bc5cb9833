// SPDX-License-Identifier: Apache-2.0
#include "http/request_handler.h"

#include <httplib.h>

#include <algorithm>
#include <utility>

namespace lockkeeper::http {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kFailed[] = "the request could not be processed\n";

std::string Plain(std::string_view status_line, std::string_view body) {
  std::string answer = "HTTP/1.1 ";
  answer.append(status_line).append("\r\nContent-Type: ").append(kPlainText);
  answer.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  answer.append("\r\nConnection: close\r\n\r\n").append(body);
  return answer;
}

// What httplib reads from and writes to in place of a connection.
class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* buffer, size_t size) override {
    const size_t count = input_.copy(buffer, size);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, size_t size) override {
    output_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }

  std::string TakeOutput() { return std::move(output_); }

 private:
  std::string_view input_;
  std::string output_;
};

}  // namespace

// Derived, because httplib shows its parser to its own servers only.
class RequestHandler::Parser : private httplib::Server {
 public:
  explicit Parser(std::function<Page(const std::string& path)> page_of)
      : page_of_(std::move(page_of)) {
    // Before routing, so that the bodies of other methods are not read.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Respond(request, response);
      return HandlerResponse::Handled;
    });
    // Httplib's own shows the exception's text.
    set_exception_handler([](const httplib::Request&, httplib::Response& response, const auto&) {
      response.status = 500;
      response.set_content(kFailed, kPlainText);
    });
  }

  void Process(MemoryStream& stream) { ProcessRequest(*this, stream); }

 private:
  // 0.11 (Debian 12) does not ask for the addresses that 0.18 (Debian 13) asks for.
  template <typename Self>
  static void ProcessRequest(Self& self, MemoryStream& stream) {
    bool closed = false;
    if constexpr (requires { self.process_request(stream, true, closed, nullptr); }) {
      self.process_request(stream, true, closed, nullptr);
    } else {
      self.process_request(stream, "", 0, "", 0, true, closed, nullptr);
    }
  }

  void Respond(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      response.set_content("only GET and HEAD are served here\n", kPlainText);
      return;
    }
    Page page = page_of_(request.path);
    // 200 is left to httplib, which makes it 206 for a part of the page.
    if (page.status != 200) response.status = page.status;
    response.set_content(std::move(page.body), page.content_type);
  }

  const std::function<Page(const std::string& path)> page_of_;
};

RequestHandler::RequestHandler(std::function<Page(const std::string& path)> page_of)
    : parser_(std::make_unique<Parser>(std::move(page_of))) {}

RequestHandler::~RequestHandler() = default;

std::string RequestHandler::Answer(std::string_view request) {
  MemoryStream stream(request);
  try {
    parser_->Process(stream);
  } catch (const std::exception&) {
    return Plain("500 Internal Server Error", kFailed);
  }
  std::string answer = stream.TakeOutput();
  return answer.empty() ? Plain("400 Bad Request", "this is no HTTP request\n") : answer;
}

std::string AnswerToTooLong() {
  return Plain("431 Request Header Fields Too Large", "the request's headers are too long\n");
}

}  // namespace lockkeeper::http
