// SPDX-License-Identifier: Apache-2.0
#include "cli/contended_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/lines.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::ContendedLock;

// "orders/1: 812 waits, 12m3s together, 890ms each".
std::string LineOf(const ContendedLock& lock) {
  std::string line = lock.name() + ": ";
  if (lock.waits() > 0)
    absl::StrAppend(&line, lock.waits(), lock.waits() == 1 ? " wait" : " waits");
  const std::chrono::milliseconds waited = Millis(lock.waited());
  if (waited > std::chrono::milliseconds(0)) {
    absl::StrAppend(&line, lock.waits() > 0 ? ", " : "", text::InWords(waited), " together");
  }
  if (lock.waits() > 1) absl::StrAppend(&line, ", ", text::InWords(waited / lock.waits()), " each");
  return line + "\n";
}

}  // namespace

Report Contended(AdminConnection& connection, const ContendedCommand& command) {
  const auto stub = admin::v1::AdminService::NewStub(connection.channel());
  admin::v1::ListContendedLocksRequest request;
  request.set_prefix(command.prefix);
  request.set_order(command.by == ContendedBy::kTime ? admin::v1::CONTENDED_ORDER_WAITED
                                                     : admin::v1::CONTENDED_ORDER_WAITS);
  request.set_limit(static_cast<int32_t>(command.limit));
  admin::v1::ListContendedLocksResponse response;
  const absl::Status status = connection.Call([&](grpc::ClientContext& context) {
    return stub->ListContendedLocks(&context, request, &response);
  });
  if (!status.ok()) return ErrorReport(status, "");
  std::string lines;
  std::vector<JsonObject> locks;
  for (const ContendedLock& lock : response.locks()) {
    absl::StrAppend(&lines, LineOf(lock));
    locks.emplace_back()
        .Set("name", lock.name())
        .Set("waits", lock.waits())
        .Set("waited_ms", Millis(lock.waited()).count());
  }
  if (locks.empty()) lines = "no wait for a lock has ended\n";
  absl::StrAppend(&lines, "in the last ", text::InWords(Millis(response.window())), " at daemon ",
                  response.daemon_id());
  if (response.approximate()) {
    absl::StrAppend(&lines, "\nfigures are approximate: more locks were waited for than it counts");
  }
  Report report("listed", ExitCode::kDone, lines);
  report.json.Set("locks", locks)
      .Set("window_ms", Millis(response.window()).count())
      .Set("daemon_id", response.daemon_id())
      .Set("approximate", response.approximate());
  return report;
}

}  // namespace lockkeeper::cli
