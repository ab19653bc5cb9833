// SPDX-License-Identifier: Apache-2.0
//
// The command doctor: looks at each server, and says what is wrong and what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/arguments.h"
#include "cli/findings.h"
#include "cli/report.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// What could be learned of one server.
struct Examination {
  std::string server;                      // As --server names it.
  bool is_encrypted = false;               // The connection.
  absl::Status reached;                    // Whether a call of gRPC health was answered.
  std::optional<std::string> tls_problem;  // Why not, if that is TLS.
  bool is_serving = false;
  absl::Status told;  // Whether the daemon has told of itself: of GetServerInfo.
  admin::v1::GetServerInfoResponse info;
  // This host's clock before and after the daemon told of itself.
  absl::Time asked;
  absl::Time answered;
};

// What the examination shows. `version`: of this program.
std::vector<Finding> Judge(const Examination& examined, const std::string& version);

// What the daemons do not have in common and should. Nothing for a single one.
std::vector<Finding> Compare(const std::vector<Examination>& examined);

// What a daemon tells of its store: whether it can be reached, whether it grants, its settings.
void JudgeStore(const admin::v1::StoreInfo& store, Chart& chart);
// Whether the store's clock agrees with the daemon's. Nothing if the store does not tell.
void JudgeStoreClock(const admin::v1::StoreInfo& store, Chart& chart);

// Requires: CheckService(service) is OK.
Report Doctor(const Service& service, const std::string& version);

}  // namespace lockkeeper::cli
