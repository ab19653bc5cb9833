// SPDX-License-Identifier: Apache-2.0
#include "redis/redis_admin_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/errors.h"
#include "redis/format/lock_record.h"
#include "redis/format/page_token.h"
#include "redis/node/command.h"
#include "redis/node/error_reply.h"
#include "redis/script_outcome.h"
#include "redis/scripts.h"
#include "text/stable_hash.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using core::LeaseId;
using core::LockInfo;

// Keys that one SCAN looks at, and SCANs that one page may take. A listing that finds nothing among
// this many keys answers an empty page with a token, so that no call holds the node for long.
constexpr int64_t kScanCount = 1000;
constexpr int kScansPerPageMax = 100;
// Locks that are inspected together: operations of others come in between.
constexpr size_t kInspectedAtOnce = 16;

static_assert(static_cast<int64_t>(Doubt::kMayBeProved) ==
              static_cast<int64_t>(InspectScriptOutcome::kMayBeProved));
static_assert(static_cast<int64_t>(Doubt::kNotProvedInTime) ==
              static_cast<int64_t>(InspectScriptOutcome::kNotProvedInTime));

// Reads what inspect.lua answered for one lock.
absl::StatusOr<std::optional<LockInfo>> ReadInspected(std::string_view name,
                                                      const OperationReply& reply) {
  const Reply& record = reply.values.front();
  if (record.type != Reply::Type::kText) return StatusOfOutcome(OutcomeOf(reply), name);
  if (record.text.empty()) return std::nullopt;
  return ReadRecord(name, record.text, reply.now, static_cast<Doubt>(reply.values[1].integer));
}

Operation Inspect(const std::string& name, core::Instant deadline, OperationDone done) {
  return {.script = &kInspectScript,
          .lock_name = name,
          .arguments = {},
          .reply_width = 2,
          .survives_clock_step = true,
          .deadline = deadline,
          .done = std::move(done)};
}

bool IsWanted(const LockInfo& lock, core::EndedLocks ended) {
  return ended == core::EndedLocks::kInclude || lock.state != core::LockState::kEnded ||
         lock.waiters > 0 || lock.closed_for > core::Micros(0);
}

}  // namespace

// A page in the making.
struct RedisAdminStore::Listing {
  core::ListRequest request;
  core::Done<core::LockPage> done;
  PageToken at;              // Where the SCAN that runs began.
  uint64_t next_cursor = 0;  // What it answered.
  int scans = 0;
  std::vector<std::string> names;  // Found by it, in the order of their hashes.
  size_t uninspected = 0;
  std::vector<absl::StatusOr<std::optional<LockInfo>>> inspected;
  core::LockPage page;

  bool open() const { return done != nullptr; }

  // Answers the listing, which is not open() afterwards: several inspections may fail.
  void End(absl::StatusOr<core::LockPage> answer) {
    std::exchange(done, nullptr)(std::move(answer));
  }

  // Takes what was inspected into the page. True if the page is finished.
  bool Gather() {
    for (size_t i = 0; i < inspected.size(); ++i) {
      if (static_cast<int32_t>(page.locks.size()) == request.page_size) {
        if (i > 0) at.after = text::StableHash(names[i - 1]);
        page.next_page_token = at.Encode();
        return true;
      }
      if (!inspected[i].ok()) {
        ++page.unreadable;
      } else if (*inspected[i] && IsWanted(**inspected[i], request.ended)) {
        page.locks.push_back(std::move(**inspected[i]));
      }
    }
    at = PageToken{next_cursor, 0};
    if (next_cursor == 0) return true;
    if (static_cast<int32_t>(page.locks.size()) == request.page_size || scans == kScansPerPageMax) {
      page.next_page_token = at.Encode();
      return true;
    }
    return false;
  }
};

RedisAdminStore::RedisAdminStore(Node& node, StoreGuard& guard, OperationQueue& queue,
                                 LeaseProofs& proofs, const core::Clock& clock,
                                 core::Executor& executor, core::Millis request_timeout)
    : node_(node),
      guard_(guard),
      queue_(queue),
      proofs_(proofs),
      clock_(clock),
      executor_(executor),
      deadlines_(clock, request_timeout) {}

void RedisAdminStore::Get(const std::string& name, core::Instant deadline,
                          core::Done<std::optional<LockInfo>> done) {
  queue_.Submit(
      Inspect(name, deadlines_.OfCall(deadline),
              [name, done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
                if (!reply.ok()) return std::move(done)(reply.status());
                std::move(done)(ReadInspected(name, *reply));
              }));
}

void RedisAdminStore::List(const core::ListRequest& request, core::Done<core::LockPage> done) {
  auto listing = std::make_shared<Listing>();
  listing->request = request;
  listing->request.deadline = deadlines_.OfSeries(request.deadline);
  listing->done = std::move(done);
  const auto token = PageToken::Decode(request.page_token);
  if (!token) {
    executor_.Post(
        [listing] { listing->End(core::InvalidField("page_token", "was not made by ListLocks")); });
    return;
  }
  listing->at = *token;
  Scan(std::move(listing));
}

void RedisAdminStore::Scan(std::shared_ptr<Listing> listing) {
  if (clock_.Now() >= listing->request.deadline) {
    listing->End(core::Error(ErrorReason::kStoreUnavailable, "no time was left to list further"));
    return;
  }
  ++listing->scans;
  Command scan(6);
  scan.Word("SCAN").Word(std::to_string(listing->at.cursor));
  scan.Word("MATCH").Word(queue_.keys().RecordPattern(listing->request.prefix));
  scan.Word("COUNT").Number(kScanCount);
  node_.Send(node_.AnyRoute(), std::move(scan), [this, listing](absl::StatusOr<Reply> reply) {
    OnScanned(listing, std::move(reply));
  });
}

void RedisAdminStore::OnScanned(std::shared_ptr<Listing> listing, absl::StatusOr<Reply> reply) {
  if (!reply.ok()) return listing->End(reply.status());
  if (reply->type == Reply::Type::kError) return listing->End(StatusOfErrorReply(reply->text));
  if (reply->items.size() != 2) {
    return listing->End(
        core::Error(ErrorReason::kInvariantViolated, "SCAN answered in another shape"));
  }
  const std::string& cursor = reply->items[0].text;
  std::from_chars(cursor.data(), cursor.data() + cursor.size(), listing->next_cursor);
  listing->names.clear();
  for (const Reply& key : reply->items[1].items) {
    if (auto name = queue_.keys().LockName(key.text)) listing->names.push_back(std::move(*name));
  }
  std::erase_if(listing->names, [after = listing->at.after](const std::string& name) {
    return after > 0 && text::StableHash(name) <= after;
  });
  std::sort(listing->names.begin(), listing->names.end(),
            [](const std::string& a, const std::string& b) {
              return text::StableHash(a) < text::StableHash(b);
            });
  listing->inspected.clear();
  InspectNext(std::move(listing));
}

void RedisAdminStore::InspectNext(std::shared_ptr<Listing> listing) {
  const size_t from = listing->inspected.size();
  const size_t to = std::min(from + kInspectedAtOnce, listing->names.size());
  if (from == to) {
    if (listing->Gather()) return listing->End(std::move(listing->page));
    return Scan(std::move(listing));
  }
  listing->inspected.resize(to, std::nullopt);
  listing->uninspected = to - from;
  const core::Instant deadline =
      std::min(listing->request.deadline, deadlines_.OfCall(core::Instant::max()));
  for (size_t i = from; i < to; ++i) {
    queue_.Submit(Inspect(listing->names[i], deadline,
                          [this, listing, i](absl::StatusOr<OperationReply> reply) {
                            if (reply.ok()) {
                              listing->inspected[i] = ReadInspected(listing->names[i], *reply);
                            } else if (listing->open()) {
                              listing->End(reply.status());
                            }
                            if (--listing->uninspected == 0 && listing->open()) {
                              InspectNext(listing);
                            }
                          }));
  }
}

void RedisAdminStore::ForceRelease(const core::ForceReleaseRequest& request,
                                   core::Done<core::ForceReleaseAnswer> done) {
  constexpr size_t kForceReleaseReplyWidth = 4;
  const bool at_once = request.delay == core::ReleaseDelay::kNone;
  queue_.Submit({.script = &kForceReleaseScript,
                 .lock_name = request.name,
                 .arguments = CommandPart({at_once ? "0" : "1"}),
                 .reply_width = kForceReleaseReplyWidth,
                 .survives_clock_step = true,
                 .deadline = deadlines_.OfCall(request.deadline),
                 .done = [this, name = request.name,
                          done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
                   proofs_.ForcedOut();  // An error does not tell that it was not.
                   if (!reply.ok()) return std::move(done)(reply.status());
                   using enum ForceReleaseScriptOutcome;
                   const ForceReleaseScriptOutcome outcome{OutcomeOf(*reply)};
                   if (outcome < kEnded || outcome > kOpened)
                     return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), name));
                   core::ForceReleaseAnswer answer;
                   answer.released = outcome != kNothing;
                   answer.opened = outcome == kOpened;
                   answer.token.value = reply->values[1].integer;
                   answer.closed_for = core::Micros(reply->values[2].integer);
                   const std::string_view ended = reply->values[3].text;
                   if (const auto lease_id = LeaseId::Parse(ended.substr(0, LeaseId::kLength))) {
                     proofs_.Ended(reply->route, *lease_id);
                     answer.holder_owner = ended.substr(LeaseId::kLength);
                   }
                   if (answer.released) guard_.OnToken(reply->route, answer.token);
                   std::move(done)(std::move(answer));
                 }});
}

void RedisAdminStore::EndQuarantine(const core::EndQuarantineRequest& request,
                                    core::Done<core::EndQuarantineAnswer> done) {
  guard_.EndQuarantine(request.epoch, std::move(done));
}

}  // namespace lockkeeper::redis
