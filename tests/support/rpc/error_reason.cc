// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/error_reason.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace lockkeeper::support {

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) {
    return kNoDetails;
  }
  google::rpc::ErrorInfo info;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "no ErrorInfo";
}

std::string FieldOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return "";
  google::rpc::BadRequest bad;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&bad) && bad.field_violations_size() > 0) {
      return bad.field_violations(0).field();
    }
  }
  return "";
}

}  // namespace lockkeeper::support
