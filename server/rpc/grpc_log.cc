// SPDX-License-Identifier: Apache-2.0
#include "rpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <mutex>
#include <string>

#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

// Both take a plain function, so what it calls has to be found without an argument.
std::mutex mutex;
GrpcLogRedirect* redirect = nullptr;  // Guarded by `mutex`.

void OnGrpcLog(gpr_log_func_args* args) {
  if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
  const std::lock_guard lock(mutex);
  if (redirect != nullptr) redirect->Write(args->message);
}

void OnProtobufLog(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  if (level < google::protobuf::LOGLEVEL_ERROR) return;
  const std::lock_guard lock(mutex);
  if (redirect != nullptr) redirect->Write(message.c_str());
}

}  // namespace

GrpcLogRedirect::GrpcLogRedirect(telemetry::Logger logger) : logger_(logger) {
  // Once: it may not be set while another thread parses.
  static auto* const kBefore = google::protobuf::SetLogHandler(OnProtobufLog);
  static_cast<void>(kBefore);
  const std::lock_guard lock(mutex);
  redirect = this;
  gpr_set_log_function(OnGrpcLog);
}

GrpcLogRedirect::~GrpcLogRedirect() {
  const std::lock_guard lock(mutex);
  if (redirect == this) redirect = nullptr;
}

void GrpcLogRedirect::Write(const char* message) {
  logger_.WriteLimited(limit_, telemetry::LogLevel::kWarn, "grpc.error",
                       "gRPC reports an error of its own", {telemetry::field::Problem(message)});
}

}  // namespace lockkeeper::rpc
