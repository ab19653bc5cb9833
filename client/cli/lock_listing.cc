// SPDX-License-Identifier: Apache-2.0
#include "cli/lock_listing.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "cli/lines.h"
#include "cli/lock_view.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::Lock;

// The largest page that the server gives.
constexpr int64_t kPageSize = 1000;

// Of somebody who proved nothing, as in whoami and policies.
constexpr char kAnonymous[] = "anonymous";

// Joined without the line break at the beginning.
std::string Joined(const std::string& lines) { return lines.empty() ? lines : lines.substr(1); }

}  // namespace

std::string NotKnownFor(const google::protobuf::Duration& quarantine_left) {
  return "not known for another " + text::InWords(Millis(quarantine_left)) +
         ": the store may have forgotten leases, which their holders can still prove";
}

std::string Listing::Reservations() const {
  std::string lines;
  if (unreadable > 0) absl::StrAppend(&lines, "\nunreadable records: ", unreadable);
  if (has_more) absl::StrAppend(&lines, "\nthere are more");
  if (quarantine_left) {
    absl::StrAppend(&lines, "\nwhether others are held is ", NotKnownFor(*quarantine_left));
  }
  return lines;
}

void Listing::SetReservations(JsonObject& json) const {
  json.Set("unreadable", unreadable).Set("more", has_more);
  if (quarantine_left) json.Set("quarantine_left_ms", Millis(*quarantine_left).count());
}

absl::StatusOr<Listing> ListLocks(AdminConnection& connection, admin::v1::ListLocksRequest request,
                                  std::optional<int64_t> limit) {
  const auto stub = admin::v1::AdminService::NewStub(connection.channel());
  Listing listing;
  while (true) {
    const int64_t left = limit ? *limit - static_cast<int64_t>(listing.locks.size()) : kPageSize;
    request.set_page_size(static_cast<int32_t>(std::min(left, kPageSize)));
    admin::v1::ListLocksResponse response;
    const absl::Status status = connection.Call([&](grpc::ClientContext& context) {
      return stub->ListLocks(&context, request, &response);
    });
    if (!status.ok()) return status;
    std::move(response.mutable_locks()->begin(), response.mutable_locks()->end(),
              std::back_inserter(listing.locks));
    listing.unreadable += response.unreadable();
    if (response.has_quarantine_left()) listing.quarantine_left = response.quarantine_left();
    request.set_page_token(response.next_page_token());
    listing.has_more = !response.next_page_token().empty();
    const bool is_full = limit && static_cast<int64_t>(listing.locks.size()) >= *limit;
    if (!listing.has_more || is_full) return listing;
  }
}

Report List(AdminConnection& connection, const ListCommand& command) {
  admin::v1::ListLocksRequest request;
  request.set_prefix(command.prefix);
  const auto listing = ListLocks(connection, std::move(request), command.limit);
  if (!listing.ok()) return ErrorReport(listing.status(), "");
  std::vector<JsonObject> locks;
  std::string lines;
  for (const Lock& lock : listing->locks) {
    SetLock(lock, locks.emplace_back());
    absl::StrAppend(&lines, "\n", LockLine(lock));
  }
  Report report("listed", ExitCode::kDone, Joined(lines + listing->Reservations()));
  report.json.Set("locks", locks);
  listing->SetReservations(report.json);
  return report;
}

Report Who(AdminConnection& connection, const WhoCommand& command) {
  admin::v1::ListLocksRequest request;
  request.set_prefix(command.prefix);
  request.set_holder_principal(command.principal);
  const auto listing = ListLocks(connection, std::move(request), std::nullopt);
  if (!listing.ok()) return ErrorReport(listing.status(), "");
  std::map<std::string, std::vector<const Lock*>> held;
  for (const Lock& lock : listing->locks) {
    if (lock.state() == admin::v1::LOCK_STATE_ENDED) continue;
    held[lock.principal().empty() ? kAnonymous : lock.principal()].push_back(&lock);
  }
  std::vector<JsonObject> holders;
  std::string lines;
  for (auto& [principal, locks] : held) {
    std::sort(locks.begin(), locks.end(),
              [](const Lock* a, const Lock* b) { return a->name() < b->name(); });
    absl::StrAppend(&lines, "\n", principal, ": ", locks.size(),
                    locks.size() == 1 ? " lock" : " locks");
    std::vector<JsonObject> shown;
    for (const Lock* lock : locks) {
      SetLock(*lock, shown.emplace_back());
      absl::StrAppend(&lines, "\n  ", LockLine(*lock));
    }
    holders.emplace_back().Set("principal", principal).Set("locks", shown);
  }
  if (held.empty()) {
    lines = command.principal.empty() ? "\nnobody holds a lock"
                                      : "\n" + command.principal + " holds no lock";
  }
  Report report("who", ExitCode::kDone, Joined(lines + listing->Reservations()));
  report.json.Set("holders", holders);
  listing->SetReservations(report.json);
  return report;
}

}  // namespace lockkeeper::cli
