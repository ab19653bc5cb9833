// SPDX-License-Identifier: Apache-2.0
//
// A session: the messages of its client, through the reactor that gRPC calls, to the domain over a
// store in memory. Before each message stand a byte that says what happens then, and two bytes with
// its length.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "access/access_control.h"
#include "core/domain.h"
#include "core/lock_watches.h"
#include "core/watched_lock_observer.h"
#include "fuzz/target.h"
#include "google/protobuf/stubs/logging.h"
#include "rpc/audit.h"
#include "rpc/gate.h"
#include "rpc/session_reactor.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/memory_store.h"
#include "support/rpc/fake_daemon_view.h"
#include "telemetry/lock_observer.h"

namespace lockkeeper {
namespace {

using fuzz::Require;

// Above it a client could leave so much unread that its call is cancelled, which needs a call.
constexpr size_t kInputBytesMax = 16'384;

constexpr char kOwn[] = "own/";
constexpr size_t kWaiters = 2;
constexpr size_t kLeases = 3;
constexpr char kPolicy[] = R"(
roles:
  worker:
    rules: [{verbs: [acquire, extend, release, fence], prefixes: [own/]}]
    quotas: {leases: 3, waiters: 2, sessions: 1, max_ttl: 10s, max_wait: 5s}
bindings: [{roles: worker, principals: anonymous}]
)";
// Also taken from those who have a session by now.
constexpr char kPolicyWithoutAcquire[] = R"(
roles: {reader: {rules: [{verbs: fence, prefixes: [""]}]}}
bindings: [{roles: reader, principals: "*"}]
)";

// What happens before a message is read.
enum Happens : uint8_t {
  kClientDoesNotRead = 1,
  kSecondPasses = 2,
  kRightIsTaken = 4,
  kRightIsGiven = 8,
  kServerDrains = 16,
  kClientIsGone = 32,
  kLoopIsBusy = 64,    // Until the next message.
  kStoreIsBusy = 128,  // Until the next message.
};

std::shared_ptr<const access::Rulebook> RulebookOf(const char* policy) {
  access::PolicyFile file = access::ParsePolicy(policy, "policy.yaml");
  Require(file.problems.empty(), "the policy is one");
  return std::make_shared<const access::Rulebook>(std::move(file), access::Tokens(),
                                                  access::JwtVerifier());
}

class CheckedLog final : public telemetry::LogOutput {
 public:
  void Write(std::string_view line) override { fuzz::RequireOneLine(line); }
};

// What outlives the inputs.
struct Process {
  Process() { google::protobuf::SetLogHandler(nullptr); }  // It logs each text that is no UTF-8.

  CheckedLog output;
  telemetry::Log log{
      {.level = telemetry::LogLevel::kDebug}, output, [] { return telemetry::LogTime(); }};
  telemetry::Metrics metrics{"1.0", "abc"};
  telemetry::HealthBoard health{{log, "telemetry"}, metrics};
  telemetry::TelemetryLockObserver observer{{log, "core"}, metrics, core::Millis(10'000)};
  const std::shared_ptr<const access::Rulebook> rules = RulebookOf(kPolicy);
  const std::shared_ptr<const access::Rulebook> less = RulebookOf(kPolicyWithoutAcquire);
};

// A daemon, but for its sockets.
class Daemon {
 public:
  explicit Daemon(Process& process) : process_(process) {}

  ~Daemon() {
    // What a wait or a withdrawal still had to do.
    executor_.AdvanceBy(std::chrono::minutes(2));
    Require(domain_.locks().outstanding() == 0, "everything comes to its end");
    Require(domain_.locks().waiting() == 0, "nobody waits for nobody");
    Require(sessions_.AddKept(0) == 0, "nothing is kept of a session");
    Require(gate_.calls() == 0, "every call leaves");
  }

  void Take() { access_.Replace(process_.less); }
  void Give() { access_.Replace(process_.rules); }
  void Drain() {
    if (std::exchange(draining_, true)) return;
    sessions_.StartDraining(core::Millis(5'000));
    domain_.locks().StartDraining();
  }
  bool draining() const { return draining_; }
  void SetStoreBusy(bool busy) { store_is_busy_ = busy; }

  void Run() {
    executor_.RunUntilIdle();
    Require(domain_.locks().waiting() <= kWaiters, "no more acquires wait than the quota allows");
  }
  void Wait(core::Millis time) {
    executor_.AdvanceBy(time);
    Run();
  }

  const rpc::Edge& edge() const { return edge_; }
  rpc::SessionRegistry& sessions() { return sessions_; }

 private:
  Process& process_;
  bool draining_ = false;
  bool store_is_busy_ = false;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::MemoryServer locks_{clock_, core::Millis(60'000)};
  support::MemoryStore store_{locks_, executor_};
  telemetry::ContendedLocks contended_{process_.observer, clock_};
  core::Domain domain_{store_, nullptr, clock_, executor_, contended_, {}};
  core::LockWatches watches_{core::Hex16(0xda), store_, nullptr, clock_, executor_};
  rpc::CurrentLimits limits_{{.max_ttl = core::Millis(60'000)}};
  access::AccessControl access_{process_.rules, [] { return absl::UnixEpoch(); }};
  const support::FakeDaemonView view_;
  const rpc::ServiceDeps deps_{.loop = executor_,
                               .locks = domain_.locks(),
                               .admin = store_,
                               .watches = watches_,
                               .contended = contended_,
                               .clock = clock_,
                               .access = access_,
                               .limits = limits_,
                               .health = process_.health,
                               .metrics = process_.metrics,
                               .logger = {process_.log, "rpc"},
                               .facts = {},
                               .daemon = view_};
  rpc::Auditor auditor_{deps_.logger, nullptr};
  rpc::Gate gate_{deps_.limits, access_, clock_, auditor_, process_.metrics, 0xda};
  rpc::CallRecorder recorder_{deps_, auditor_};
  rpc::FairShare fair_share_{executor_, clock_,
                             [this] { return store_is_busy_ ? rpc::kOperationsUnderWayMax : 0; }};
  const rpc::Edge edge_{.deps = deps_,
                        .gate = gate_,
                        .recorder = recorder_,
                        .auditor = auditor_,
                        .fair_share = fair_share_};
  rpc::SessionRegistry sessions_{process_.metrics.sessions()};
};

// What the client has asked for, and what it was answered.
class Ledger {
 public:
  void Sent(const v1::SessionRequest& message) {
    if (message.has_batch() && !closed_) {
      for (const auto& operation : message.batch().operations()) ++open_[operation.id()];
    }
    if (message.has_heartbeat()) beats_ = std::max(beats_, message.heartbeat().number());
    if (message.has_adopt()) ++adoptions_;
    closed_ = closed_ || message.has_close();
  }

  void Got(const v1::SessionResponse& message) {
    v1::SessionResponse read;
    Require(read.ParseFromString(message.SerializeAsString()), "clients can read what is sent");
    Require(message.has_opened() != opened_, "a session is opened first, and once");
    opened_ = true;
    for (const auto& result : message.results().results()) {
      Require(result.result_case() != v1::SessionResult::RESULT_NOT_SET, "a result has a value");
      Answer(result.operation_id());
      if (result.acquire().has_lease()) Check(result.acquire().lease());
      if (result.extend().has_lease()) Check(result.extend().lease());
      if (result.has_error()) Check(result.error());
    }
    if (message.has_offer()) {
      Answer(message.offer().operation_id());
      Check(message.offer().lease());
    }
    if (message.has_adopt_result()) {
      Require(adoptions_-- > 0, "an adoption is answered once");
      if (message.adopt_result().has_lease()) Check(message.adopt_result().lease());
      if (message.adopt_result().has_error()) Check(message.adopt_result().error());
    }
    if (message.has_heartbeat_result()) {
      Require(message.heartbeat_result().number() <= beats_, "a heartbeat that was sent");
      for (const auto& failed : message.heartbeat_result().not_extended()) {
        Require(failed.reason() != v1::ERROR_REASON_INVARIANT_VIOLATED, "no invariant is violated");
      }
    }
    Require(!message.has_closed() || closed_, "a session is closed by its client");
  }

  size_t leases() const { return holders_.size(); }
  // Whether all that was asked for is answered.
  bool balanced() const { return open_.empty() && adoptions_ == 0; }

 private:
  void Answer(uint64_t id) {
    const auto open = open_.find(id);
    Require(open != open_.end(), "an operation is answered once");
    if (--open->second == 0) open_.erase(open);
  }

  void Check(const v1::Lease& lease) {
    Require(lease.name().starts_with(kOwn), "a lease is of a lock that the policy allows");
    const auto [holder, is_new] =
        holders_.try_emplace({lease.name(), lease.fencing_token()}, lease.lease_id());
    Require(is_new || holder->second == lease.lease_id(), "a token is of one lease");
  }

  static void Check(const v1::OperationError& error) {
    Require(error.code() != 0, "an error has a code");
    Require(error.reason() != v1::ERROR_REASON_UNSPECIFIED, "an error has a reason");
    Require(error.reason() != v1::ERROR_REASON_INVARIANT_VIOLATED, "no invariant is violated");
    Require(error.reason() != v1::ERROR_REASON_STORE_UNAVAILABLE, "the store is there");
    fuzz::RequireOneLine(error.message());
  }

  bool opened_ = false;
  bool closed_ = false;
  uint64_t beats_ = 0;
  int adoptions_ = 0;
  std::map<uint64_t, int> open_;
  std::map<std::pair<std::string, int64_t>, std::string> holders_;
};

// The place of gRPC.
class Stream final
    : public grpc::ServerCallbackReaderWriter<v1::SessionRequest, v1::SessionResponse> {
 public:
  explicit Stream(Daemon& daemon)
      : daemon_(daemon),
        reactor_(new rpc::SessionReactor(daemon.edge(), daemon.sessions(), context_)) {
    BindReactor(reactor_);
  }
  ~Stream() override { Require(reactor_ == nullptr, "a session ends"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void Finish(grpc::Status status) override {
    Require(!status_, "a session ends once");
    Require(writing_ == nullptr, "and not before what it is sending");
    status_ = std::move(status);
  }
  void SendInitialMetadata() override {}
  void Read(v1::SessionRequest* to) override {
    Require(reading_ == nullptr, "one message is read at a time");
    reading_ = to;
  }
  void Write(const v1::SessionResponse* message, grpc::WriteOptions) override {
    Require(writing_ == nullptr && !status_, "one message is written at a time");
    writing_ = message;
  }
  void WriteAndFinish(const v1::SessionResponse*, grpc::WriteOptions, grpc::Status) override {
    Require(false, "a session ends by itself");
  }

  // False if the session cannot take it any more, or the bytes are no message, which gRPC refuses.
  bool Send(std::string_view bytes) {
    if (over() || reading_ == nullptr) return false;
    v1::SessionRequest* const message = reading_;
    if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
    ledger_.Sent(*message);
    reading_ = nullptr;
    reactor_->OnReadDone(true);
    return !over();
  }

  // The client reads all that is there.
  void ReadAll() {
    daemon_.Run();
    while (writing_ != nullptr && !over()) {
      ledger_.Got(*std::exchange(writing_, nullptr));
      reactor_->OnWriteDone(true);
      daemon_.Run();
    }
  }

  // The client sends no more, and waits for what it is owed.
  void HalfClose() {
    if (!over() && reading_ != nullptr) {
      reading_ = nullptr;
      reactor_->OnReadDone(false);
    }
    for (int i = 0; i < 20 && !over(); ++i) {
      ReadAll();
      if (!over()) daemon_.Wait(core::Millis(1'000));
    }
    Require(over(), "a session ends when its client has nothing more to ask");
    const bool is_rejected = status_->error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                             status_->error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                             status_->error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    Require(is_rejected || ledger_.balanced(), "every operation is answered");
    Leave();
  }

  // The client is gone.
  void Cancel() {
    if (!over()) reactor_->OnCancel();
    daemon_.Wait(rpc::kStoreSilenceMax);
    if (writing_ != nullptr) {
      writing_ = nullptr;
      reactor_->OnWriteDone(false);
    }
    daemon_.Run();
    Require(over(), "a session ends when its client is gone");
    Leave();
  }

  bool over() const { return status_.has_value(); }
  const Ledger& ledger() const { return ledger_; }

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  void Leave() {
    if (std::exchange(reading_, nullptr) != nullptr) reactor_->OnReadDone(false);
    daemon_.Run();
    std::exchange(reactor_, nullptr)->OnDone();
  }

  Daemon& daemon_;
  grpc::CallbackServerContext context_;
  rpc::SessionReactor* reactor_;  // Deletes itself.
  v1::SessionRequest* reading_ = nullptr;
  const v1::SessionResponse* writing_ = nullptr;
  std::optional<grpc::Status> status_;
  Ledger ledger_;
};

// False if it happens to the stream as a whole.
bool Happen(uint8_t what, Daemon& daemon) {
  if ((what & kSecondPasses) != 0) daemon.Wait(core::Millis(1'000));
  if ((what & kRightIsTaken) != 0) daemon.Take();
  if ((what & kRightIsGiven) != 0) daemon.Give();
  if ((what & kServerDrains) != 0) daemon.Drain();
  daemon.SetStoreBusy((what & kStoreIsBusy) != 0);
  return (what & kClientIsGone) == 0;
}

void Play(std::string_view input, Daemon& daemon) {
  constexpr size_t kHead = 3;
  Stream stream(daemon);
  while (input.size() >= kHead) {
    const auto what = static_cast<uint8_t>(input[0]);
    const size_t length =
        static_cast<uint8_t>(input[1]) * size_t{256} + static_cast<uint8_t>(input[2]);
    const std::string_view message = input.substr(kHead, length);
    input.remove_prefix(kHead + message.size());
    if (!Happen(what, daemon)) return stream.Cancel();
    if (!stream.Send(message)) break;
    if ((what & kLoopIsBusy) != 0) continue;
    daemon.Run();
    if ((what & kClientDoesNotRead) == 0) stream.ReadAll();
  }
  stream.HalfClose();
}

// Goal: what a session took of its principal's quotas is given back. Method: another one takes all.
void ExpectQuotasAreFree(Daemon& daemon) {
  daemon.Give();
  daemon.SetStoreBusy(false);
  daemon.Wait(std::chrono::minutes(2));  // Nobody holds a lock any more.
  Stream stream(daemon);
  v1::SessionRequest open;
  open.mutable_open();
  Require(stream.Send(open.SerializeAsString()), "a session is given back");
  v1::SessionRequest acquires;
  for (size_t i = 0; i < kLeases; ++i) {
    auto& operation = *acquires.mutable_batch()->add_operations();
    operation.set_id(i);
    operation.mutable_acquire()->set_name("own/after/" + std::to_string(i));
  }
  stream.Send(acquires.SerializeAsString());
  stream.HalfClose();
  Require(stream.ledger().leases() == kLeases, "leases are given back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const kProcess = new Process;
  if (size > kInputBytesMax) return 0;
  Daemon daemon(*kProcess);
  Play(fuzz::TextOf(data, size), daemon);
  if (!daemon.draining()) ExpectQuotasAreFree(daemon);
  return 0;
}

}  // namespace lockkeeper
