// SPDX-License-Identifier: Apache-2.0
// What is answered to which bytes, without a socket.
#include "http/request_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockkeeper::http {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Page PathAsPage(const std::string& path) {
  if (path == "/throw") throw std::runtime_error("must not be shown");
  if (path == "/gone") return {.status = 503, .content_type = "text/plain", .body = "gone\n"};
  return {.content_type = "text/plain; charset=utf-8", .body = path + "\n"};
}

class RequestHandlerTest : public testing::Test {
 protected:
  std::string Answer(std::string_view request) { return handler_.Answer(request); }

  RequestHandler handler_{PathAsPage};
};

TEST_F(RequestHandlerTest, GetIsAnsweredWithThePage) {
  const std::string answer = Answer("GET /path HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n/path\n"));
}

TEST_F(RequestHandlerTest, HeadIsAnsweredWithoutTheBody) {
  const std::string answer = Answer("HEAD /path HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(RequestHandlerTest, OldHttpIsAnsweredToo) {
  EXPECT_THAT(Answer("GET /path HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n/path\n"));
}

TEST_F(RequestHandlerTest, QueryIsNoPartOfThePath) {
  EXPECT_THAT(Answer("GET /path?a=b&c HTTP/1.1\r\nHost: a\r\n\r\n"), EndsWith("\r\n\r\n/path\n"));
}

TEST_F(RequestHandlerTest, StatusOfThePageIsKept) {
  const std::string answer = Answer("GET /gone HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ngone\n"));
}

TEST_F(RequestHandlerTest, OtherMethodsAreRefusedWithoutReadingTheirBody) {
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    const std::string answer =
        Answer(method + " /path HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");

    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n")) << method;
    EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n")) << method;
  }
}

TEST_F(RequestHandlerTest, WhatIsNoRequestIsRefused) {
  for (const std::string request :
       {"\r\n\r\n", "hello\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "BREW /pot HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\r\n\r\n"}) {
    EXPECT_THAT(Answer(request), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
}

TEST_F(RequestHandlerTest, ExceptionIsAnErrorThatShowsNothing) {
  const std::string answer = Answer("GET /throw HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("must not be shown")));
}

TEST_F(RequestHandlerTest, OneRequestDoesNotTouchTheNext) {
  Answer("HEAD /a HTTP/1.0\r\n\r\n");
  Answer("nonsense\r\n\r\n");

  EXPECT_THAT(Answer("GET /b HTTP/1.1\r\nHost: a\r\n\r\n"), EndsWith("\r\n\r\n/b\n"));
}

}  // namespace
}  // namespace lockkeeper::http
