// SPDX-License-Identifier: Apache-2.0
//
// The driver of the conformance suite for the C++ client: does what a line of JSON on stdin says,
// and answers with a line on stdout. tests/conformance/README.md describes both. It keeps no rule
// of the client contract itself.
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lockkeeper/client.h"
#include "nlohmann/json.hpp"

namespace lockkeeper {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// What a request cannot be answered with: it becomes the answer's error.
struct Failure {
  std::string code;
  std::string reason;
  std::string message;
};

Failure BadRequest(const std::string& message) {
  return {"INVALID_ARGUMENT", "INVALID_FIELD", message};
}

Failure FailureOf(const absl::Status& status) {
  return {absl::StatusCodeToString(status.code()), ReasonNameOf(status),
          std::string(status.message())};
}

milliseconds MillisOf(const json& request, const char* field, int64_t otherwise = 0) {
  return milliseconds(request.value(field, otherwise));
}

int64_t Remaining(const Lease& lease) {
  return std::chrono::duration_cast<milliseconds>(lease.remaining()).count();
}

std::string CauseName(LossCause cause) {
  switch (cause) {
    case LossCause::kEnded:
      return "LEASE_LOST";
    case LossCause::kNotRenewed:
      return "RENEWALS_FAILED";
    case LossCause::kMaxHold:
      return "MAX_HOLD";
    case LossCause::kPaused:
      return "PAUSED";
    case LossCause::kNotLost:
      break;
  }
  return "";
}

std::string ReasonName(ContentionReason reason) {
  switch (reason) {
    case ContentionReason::kWaitTimedOut:
      return "WAIT_TIMED_OUT";
    case ContentionReason::kCancelled:
      return "CANCELLED";
    case ContentionReason::kClosed:
      return "CLOSED";
    case ContentionReason::kHeld:
      break;
  }
  return "HELD";
}

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAdmitted:
      return "ADMITTED";
    case Verdict::kStale:
      return "STALE";
    case Verdict::kExpired:
      return "EXPIRED";
    case Verdict::kUnknownToken:
      return "UNKNOWN_TOKEN";
    case Verdict::kUnknown:
      break;
  }
  return "UNKNOWN";
}

json ReleaseAnswer(const absl::StatusOr<ReleaseOutcome>& outcome) {
  if (!outcome.ok()) throw FailureOf(outcome.status());
  const char* reason = "";
  switch (*outcome) {
    case ReleaseOutcome::kExpired:
      reason = "EXPIRED";
      break;
    case ReleaseOutcome::kNotHolder:
      reason = "NOT_HOLDER";
      break;
    case ReleaseOutcome::kWaiterRemoved:
      reason = "WAITER_REMOVED";
      break;
    case ReleaseOutcome::kReleased:
      break;
  }
  return {{"released", *outcome == ReleaseOutcome::kReleased}, {"reason", reason}};
}

// Thread-safety: thread-safe.
class Driver {
 public:
  // Runs until stdin ends.
  void Run() {
    for (std::string line; std::getline(std::cin, line);) {
      auto request = std::make_shared<json>(json::parse(line));
      // Registered here, so that a cancel on the next line finds it.
      if (request->at("do") == "acquire") {
        const std::lock_guard lock(mutex_);
        cancels_[request->at("id")];
      }
      threads_.emplace_back([this, request] { Answer(*request); });
    }
    for (auto& [id, cancel] : cancels_) cancel.request_stop();
  }

 private:
  using Handler = json (Driver::*)(const json&);

  void Say(const json& line) {
    const std::lock_guard lock(output_mutex_);
    std::cout << line.dump() << "\n" << std::flush;
  }

  void Answer(const json& request) {
    static const std::map<std::string, Handler> kHandlers = {
        {"features", &Driver::Features}, {"create", &Driver::Create},
        {"acquire", &Driver::Acquire},   {"cancel", &Driver::Cancel},
        {"state", &Driver::State},       {"check", &Driver::Check},
        {"release", &Driver::Release},   {"releaseById", &Driver::ReleaseById},
        {"fence", &Driver::Fence},       {"detach", &Driver::Detach},
        {"adopt", &Driver::Adopt},       {"observe", &Driver::Observe},
        {"close", &Driver::Close}};
    json answer = {{"id", request.at("id")}};
    try {
      const auto handler = kHandlers.find(request.at("do"));
      if (handler == kHandlers.end()) throw BadRequest("no such request");
      answer["ok"] = (this->*handler->second)(request);
    } catch (const Failure& failure) {
      answer["error"] = {
          {"code", failure.code}, {"reason", failure.reason}, {"message", failure.message}};
    } catch (const json::exception& error) {
      answer["error"] = {{"code", "INVALID_ARGUMENT"}, {"reason", ""}, {"message", error.what()}};
    }
    Say(answer);
  }

  json Features(const json&) {
    return {{"features",
             {"sessions", "adopt", "detach", "cancel", "events", "stop_margin", "hold_at_least",
              "tls", "exit_release", "renewal", "clock", "details", "observe"}}};
  }

  json Create(const json& request) {
    ClientOptions options;
    options.addresses = request.at("servers").get<std::vector<std::string>>();
    options.owner = request.value("owner", "");
    options.call_timeout = MillisOf(request, "callTimeout", options.call_timeout.count());
    options.release_timeout = MillisOf(request, "releaseTimeout", options.release_timeout.count());
    options.tls.ca_file = request.value("caFile", "");
    options.tls.certificate_file = request.value("certificateFile", "");
    options.tls.key_file = request.value("keyFile", "");
    options.tls.server_name = request.value("serverName", "");
    options.token_file = request.value("tokenFile", "");
    absl::StatusOr<Client> client = Client::Create(std::move(options));
    if (!client.ok()) throw FailureOf(client.status());
    const std::lock_guard lock(mutex_);
    clients_[request.value("as", "client")] = std::make_shared<Client>(*std::move(client));
    return json::object();
  }

  json Acquire(const json& request) {
    AcquireOptions options;
    if (request.contains("ttl")) options.ttl = MillisOf(request, "ttl");
    options.wait_timeout = MillisOf(request, "wait");
    options.owner = request.value("owner", "");
    options.labels = request.value("labels", options.labels);
    options.lock_delay = MillisOf(request, "lockDelay");
    options.max_hold = MillisOf(request, "maxHold");
    options.hold_at_least = MillisOf(request, "holdAtLeast");
    options.stop_margin = MillisOf(request, "stopMargin");
    options.lease_id = request.value("leaseId", "");
    {
      const std::lock_guard lock(mutex_);
      options.cancel = cancels_.at(request.at("id")).get_token();
    }
    AcquireResult result =
        ClientOf(request)->Acquire(request.at("name").get<std::string>(), options);
    if (const auto& contention = result.contention()) {
      return {{"granted", false},
              {"reason", ReasonName(contention->reason)},
              {"holderOwner", contention->holder_owner},
              {"remaining", contention->remaining_ttl.count()}};
    }
    if (!result) throw FailureOf(result.status());
    return Keep(request, std::move(result).TakeLease());
  }

  json Cancel(const json& request) {
    const std::lock_guard lock(mutex_);
    const auto cancel = cancels_.find(request.at("request"));
    if (cancel == cancels_.end()) throw BadRequest("no such acquire");
    cancel->second.request_stop();
    return json::object();
  }

  json State(const json& request) {
    const std::shared_ptr<Lease> lease = LeaseOf(request);
    return {{"held", IsHeld(*lease)},
            {"remaining", Remaining(*lease)},
            {"lost", lease->lost()},
            {"cause", CauseName(lease->loss().cause)}};
  }

  json Check(const json& request) { return {{"held", IsHeld(*LeaseOf(request))}}; }

  json Release(const json& request) { return ReleaseAnswer(LeaseOf(request)->Release()); }

  json ReleaseById(const json& request) {
    return ReleaseAnswer(ClientOf(request)->Release(request.at("name").get<std::string>(),
                                                    request.at("leaseId").get<std::string>()));
  }

  json Fence(const json& request) {
    const absl::StatusOr<FenceResult> result = ClientOf(request)->Fence(
        request.at("name").get<std::string>(), request.at("token").get<int64_t>(),
        {.require_live_lease = request.value("requireLive", false)});
    if (!result.ok()) throw FailureOf(result.status());
    return {{"verdict", VerdictName(result->verdict)}, {"newest", result->newest_fencing_token}};
  }

  json Detach(const json& request) {
    const std::shared_ptr<Lease> lease = LeaseOf(request);
    json answer = {{"name", lease->grant().name},
                   {"token", lease->fencing_token()},
                   {"reassertion", lease->reassertion()}};
    answer["leaseId"] = std::move(*lease).Detach();
    const std::lock_guard lock(mutex_);
    leases_.erase(request.at("lease"));
    return answer;
  }

  json Adopt(const json& request) {
    absl::StatusOr<Lease> lease = ClientOf(request)->Adopt(
        request.at("name").get<std::string>(), request.at("leaseId").get<std::string>(),
        {.fencing_token = request.value("token", int64_t{0}),
         .reassertion = request.value("reassertion", "")});
    if (!lease.ok()) throw FailureOf(lease.status());
    return Keep(request, *std::move(lease));
  }

  json Observe(const json& request) {
    const std::string as = request.at("as");
    absl::StatusOr<LeaderObserver> observer = ClientOf(request)->Observe(
        request.at("name").get<std::string>(),
        {.on_change = [this, as](const std::optional<Leader>& leader) {
          json event = {{"event", "leader"}, {"observer", as}, {"token", 0}, {"owner", nullptr}};
          if (leader) {
            event["token"] = leader->fencing_token;
            event["owner"] = leader->owner;
          }
          Say(event);
        }});
    if (!observer.ok()) throw FailureOf(observer.status());
    const std::lock_guard lock(mutex_);
    observers_.emplace(request.value("client", "client"), *std::move(observer));
    return json::object();
  }

  // A C++ program closes its client by destroying it, and its leases and observers with it.
  json Close(const json& request) {
    const std::string name = request.value("client", "client");
    std::vector<std::shared_ptr<Lease>> closing;
    {
      const std::lock_guard lock(mutex_);
      for (auto it = leases_.begin(); it != leases_.end();) {
        if (it->second.client == name) {
          closing.push_back(it->second.lease);
          it = leases_.erase(it);
        } else {
          ++it;
        }
      }
      observers_.erase(name);
      clients_.erase(name);
    }
    closing.clear();
    return json::object();
  }

  json Keep(const json& request, Lease granted) {
    const std::string name = request.at("as");
    auto lease = std::make_shared<Lease>(std::move(granted));
    const Grant& grant = lease->grant();
    json answer = {{"granted", true},
                   {"token", grant.fencing_token},
                   {"leaseId", grant.lease_id},
                   {"remaining", Remaining(*lease)},
                   {"waited", grant.waited.count()},
                   {"previousLeaseExpired", grant.previous_lease_expired}};
    lease->OnLost([this, name, weak = std::weak_ptr<Lease>(lease)] {
      const std::shared_ptr<Lease> lost = weak.lock();
      if (lost == nullptr) return;
      Say({{"event", "lost"},
           {"lease", name},
           {"cause", CauseName(lost->loss().cause)},
           {"remaining", Remaining(*lost)}});
    });
    const std::lock_guard lock(mutex_);
    leases_[name] = {request.value("client", "client"), lease};
    return answer;
  }

  static bool IsHeld(const Lease& lease) {
    return !lease.lost() && lease.remaining() > milliseconds(0);
  }

  std::shared_ptr<Client> ClientOf(const json& request) {
    const std::lock_guard lock(mutex_);
    const auto client = clients_.find(request.value("client", "client"));
    if (client == clients_.end()) throw BadRequest("no such client");
    return client->second;
  }

  std::shared_ptr<Lease> LeaseOf(const json& request) {
    const std::lock_guard lock(mutex_);
    const auto kept = leases_.find(request.at("lease"));
    if (kept == leases_.end()) throw BadRequest("no such lease");
    return kept->second.lease;
  }

  struct Kept {
    std::string client;
    std::shared_ptr<Lease> lease;
  };

  std::mutex output_mutex_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Client>> clients_;  // Guarded by mutex_, as the next three.
  std::map<std::string, Kept> leases_;
  std::multimap<std::string, LeaderObserver> observers_;  // By client.
  std::map<int64_t, std::stop_source> cancels_;           // One for each acquire.
  std::vector<std::jthread> threads_;                     // Destroyed first: they use the rest.
};

}  // namespace
}  // namespace lockkeeper

int main() { lockkeeper::Driver().Run(); }
