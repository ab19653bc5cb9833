// SPDX-License-Identifier: Apache-2.0
#include "loop/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/un.h>
#include <uv.h>

#include <cstring>
#include <utility>

namespace lockkeeper::loop {
namespace {

std::vector<SocketAddress> Copy(const addrinfo* list) {
  std::vector<SocketAddress> addresses;
  for (; list != nullptr; list = list->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
    address.length = list->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

std::string SocketAddress::Text() const {
  if (storage.ss_family == AF_UNIX) {
    return reinterpret_cast<const sockaddr_un*>(&storage)->sun_path;
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  const bool v6 = storage.ss_family == AF_INET6;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

// Owned by libuv's request, and by the resolver as long as it wants the answer.
struct Resolver::Question {
  uv_getaddrinfo_t request{};
  absl::AnyInvocable<void(Resolved) &&> done;  // Empty once nobody wants the answer.
  std::shared_ptr<Question> self;

  static void OnAnswer(uv_getaddrinfo_t* request, int status, addrinfo* list) {
    const std::shared_ptr<Question> question =
        std::move(static_cast<Question*>(request->data)->self);
    Resolved answer = status == 0 ? Resolved(Copy(list)) : Resolved(uv_strerror(status));
    uv_freeaddrinfo(list);
    if (!question->done) return;
    auto done = std::exchange(question->done, nullptr);
    std::move(done)(std::move(answer));
  }
};

Resolver::Resolver(EventLoop& loop, const std::string& host, uint16_t port,
                   absl::AnyInvocable<void(Resolved) &&> done)
    : question_(std::make_shared<Question>()) {
  question_->done = std::move(done);
  question_->self = question_;
  question_->request.data = question_.get();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int error = uv_getaddrinfo(loop.uv(), &question_->request, Question::OnAnswer, host.c_str(),
                                   std::to_string(port).c_str(), &hints);
  if (error == 0) return;
  // The query was not started, for example because the name is too long.
  question_->self.reset();
  loop.Post([question = std::weak_ptr(question_), error] {
    const std::shared_ptr<Question> asked = question.lock();
    if (asked) std::exchange(asked->done, nullptr)(uv_strerror(error));
  });
}

Resolver::~Resolver() {
  question_->done = nullptr;
  if (question_->self) uv_cancel(reinterpret_cast<uv_req_t*>(&question_->request));
}

}  // namespace lockkeeper::loop
