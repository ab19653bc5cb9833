// SPDX-License-Identifier: Apache-2.0
#include "tracing/otlp_sender.h"

#include <google/protobuf/arena.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <mutex>
#include <utility>

#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"
#include "tls/credentials.h"
#include "tracing/otlp_request.h"

namespace lockkeeper::tracing {
namespace {

namespace v1 = otlp::collector::trace::v1;

constexpr size_t kHostNameBytesMax = 256;

std::string HostName() {
  std::array<char, kHostNameBytesMax> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return host.data();
}

// The CAs of `file`; empty if none is given.
absl::StatusOr<std::string> ReadAuthorities(const std::string& file) {
  const tls::CredentialFiles files{
      .authorities = {.name = "traces.ca_file", .path = file}, .certificate = {}, .key = {}};
  const auto contents = tls::ReadCredentials(files);
  if (!contents.ok()) return contents.status();
  auto credentials = tls::CheckCredentials(files, *contents);
  if (!credentials.ok()) return credentials.status();
  return std::move(credentials->authorities_pem);
}

// What OTLP says of sending again.
bool IsWorthRepeating(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

class OtlpSender final : public SpanSender {
 public:
  OtlpSender(OtlpSenderOptions options, std::string authorities)
      : options_(std::move(options)),
        authorities_(std::move(authorities)),
        source_{.version = options_.version, .daemon_id = options_.daemon_id, .host = HostName()} {}

  Sent Send(absl::Span<const Span> spans, core::Millis limit) override {
    google::protobuf::Arena arena;  // A request has thousands of small parts.
    auto& request = *google::protobuf::Arena::CreateMessage<v1::ExportTraceServiceRequest>(&arena);
    Encode(source_, spans, request);
    if (stub_ == nullptr) Connect();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    if (!Begin(context)) return {.kind = Sent::Kind::kTryAgain, .problem = "the daemon ends"};
    v1::ExportTraceServiceResponse response;
    const grpc::Status status = stub_->Export(&context, request, &response);
    Finish();
    if (status.ok()) {
      const v1::ExportTracePartialSuccess& partly = response.partial_success();
      return {.problem = partly.error_message(), .rejected = partly.rejected_spans()};
    }
    stub_.reset();
    const bool again = IsWorthRepeating(status.error_code());
    return {.kind = again ? Sent::Kind::kTryAgain : Sent::Kind::kRejected,
            .problem = options_.target + ": " + status.error_message()};
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (call_ != nullptr) call_->TryCancel();
  }

 private:
  void Connect() {
    if (options_.tls && !options_.ca_file.empty()) {
      // A broken file changes nothing: what was read before may still do.
      if (auto read = ReadAuthorities(options_.ca_file); read.ok()) authorities_ = *std::move(read);
    }
    const auto credentials = options_.tls ? grpc::SslCredentials({.pem_root_certs = authorities_})
                                          : grpc::InsecureChannelCredentials();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // Or it would be the same connection.
    stub_ = v1::TraceService::NewStub(
        grpc::CreateCustomChannel(options_.target, credentials, arguments));
  }

  bool Begin(grpc::ClientContext& context) {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return false;
    call_ = &context;
    return true;
  }
  void Finish() {
    const std::lock_guard lock(mutex_);
    call_ = nullptr;
  }

  const OtlpSenderOptions options_;
  std::string authorities_;
  const Source source_;
  std::unique_ptr<v1::TraceService::Stub> stub_;  // Null: not connected.

  std::mutex mutex_;
  grpc::ClientContext* call_ = nullptr;  // Guarded by the mutex, as the next.
  bool cancelled_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SpanSender>> NewOtlpSender(OtlpSenderOptions options) {
  std::string authorities;
  if (options.tls && !options.ca_file.empty()) {
    auto read = ReadAuthorities(options.ca_file);
    if (!read.ok()) return read.status();
    authorities = *std::move(read);
  }
  return std::make_unique<OtlpSender>(std::move(options), std::move(authorities));
}

}  // namespace lockkeeper::tracing
