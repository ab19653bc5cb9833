// SPDX-License-Identifier: Apache-2.0
#include "support/otlp/fake_collector.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <stdexcept>
#include <utility>

#include "support/process/read_text.h"

namespace lockkeeper::support {

namespace v1 = otlp::collector::trace::v1;

class FakeCollector::Service final : public v1::TraceService::Service {
 public:
  explicit Service(FakeCollector& collector) : collector_(collector) {}

  grpc::Status Export(grpc::ServerContext* /*context*/,
                      const v1::ExportTraceServiceRequest* request,
                      v1::ExportTraceServiceResponse* response) override {
    const std::lock_guard lock(collector_.mutex_);
    if (!collector_.answer_.ok()) return collector_.answer_;
    if (collector_.rejected_of_each_ > 0) {
      response->mutable_partial_success()->set_rejected_spans(collector_.rejected_of_each_);
      response->mutable_partial_success()->set_error_message("the test does not want them");
    }
    if (collector_.keeps_) collector_.batches_.push_back(*request);
    collector_.changed_.notify_all();
    return grpc::Status::OK;
  }

 private:
  FakeCollector& collector_;
};

std::string AttributeOf(const OtlpSpan& span, const std::string& key) {
  for (const auto& attribute : span.attributes()) {
    if (attribute.key() != key) continue;
    const auto& value = attribute.value();
    if (value.has_int_value()) return std::to_string(value.int_value());
    if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
    return value.string_value();
  }
  return "";
}

std::string HexOf(const std::string& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : id) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 0xf];
  }
  return hex;
}

FakeCollector::FakeCollector(int port, const std::optional<TlsFiles>& tls)
    : tls_(tls.has_value()), service_(std::make_unique<Service>(*this)) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (tls) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({ReadText(tls->key), ReadText(tls->certificate)});
    credentials = grpc::SslServerCredentials(options);
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), credentials, &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) throw std::runtime_error("the collector cannot listen");
}

FakeCollector::~FakeCollector() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

std::string FakeCollector::endpoint() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

void FakeCollector::Answer(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  answer_ = status;
}

void FakeCollector::KeepNothing() {
  const std::lock_guard lock(mutex_);
  keeps_ = false;
}

void FakeCollector::RejectOfEach(int64_t spans) {
  const std::lock_guard lock(mutex_);
  rejected_of_each_ = spans;
}

std::vector<v1::ExportTraceServiceRequest> FakeCollector::Batches() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}

std::vector<OtlpSpan> FakeCollector::Spans() const {
  std::vector<OtlpSpan> spans;
  for (const auto& batch : Batches()) {
    for (const auto& resource : batch.resource_spans()) {
      for (const auto& scope : resource.scope_spans()) {
        spans.insert(spans.end(), scope.spans().begin(), scope.spans().end());
      }
    }
  }
  return spans;
}

std::optional<OtlpSpan> FakeCollector::WaitFor(const std::function<bool(const OtlpSpan&)>& is_it,
                                               std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    size_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = batches_.size();
    }
    for (const OtlpSpan& span : Spans()) {
      if (is_it(span)) return span;
    }
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, until, [&] { return batches_.size() > seen; })) {
      return std::nullopt;
    }
  }
}

}  // namespace lockkeeper::support
