// SPDX-License-Identifier: Apache-2.0
#include "redis/client/confirmations.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "redis/node/command.h"

namespace lockkeeper::redis {
namespace {

// How long the key stays after the last round.
constexpr core::Millis kKeyKept{60'000};

// Why a round has not been confirmed, if an answer of the server says so.
std::string ErrorProblem(std::string_view command, const Reply& reply) {
  return "answered " + std::string(command) + " with: " + reply.text;
}

bool IsError(const Reply& reply) { return reply.type == Reply::Type::kError; }

}  // namespace

struct Confirmations::Round {
  std::vector<Asked> asked;
  std::string run_id;  // Of the server when it began.
  core::Instant began;
  std::string problem;
  size_t unanswered = 2;
};

Confirmations::Confirmations(loop::EventLoop& loop, ConnectionOptions connection,
                             loop::Backoff backoff, ConfirmationsOptions options,
                             Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      listener_(listener),
      connection_(loop, std::move(connection), std::move(backoff), *this) {}

Confirmations::~Confirmations() { *alive_ = false; }

void Confirmations::Confirm(std::string_view run_id, core::Instant deadline, Done done) {
  if (closed_ || !problem_.empty()) {
    return loop_.Post([done = std::move(done)]() mutable { std::move(done)(false); });
  }
  waiting_.push_back({std::string(run_id), deadline, std::move(done)});
  WatchDeadlines(deadline);
  StartRoundAtEndOfTurn();
}

void Confirmations::StartRoundAtEndOfTurn() {
  if (round_scheduled_ || round_ || !connection_.ready()) return;
  round_scheduled_ = true;
  loop_.AtEndOfTurn([this, alive = alive_] {
    if (!*alive) return;
    round_scheduled_ = false;
    if (!round_ && connection_.ready()) StartRound();
  });
}

// Both commands leave together. The wait is the same for all, so that somebody with little time
// does not make it short for others.
void Confirmations::StartRound() {
  round_ = std::make_shared<Round>();
  round_->asked = std::exchange(waiting_, {});
  round_->run_id = run_id_;
  round_->began = loop_.Now();
  const auto send = [this](const Command& command, auto problem_of) {
    connection_.Send(command.wire(), [this, alive = alive_, round = round_,
                                      problem_of](absl::StatusOr<Reply> reply) {
      if (!*alive) return;
      std::string problem = reply.ok() ? problem_of(*reply) : "did not answer WAIT";
      if (round->problem.empty()) round->problem = std::move(problem);
      if (--round->unanswered == 0) EndRound(*round);
    });
  };
  Command write(5);
  write.Word("SET").Word(options_.key()).Word("").Word("PX").Number(kKeyKept.count());
  send(write, [](const Reply& reply) { return IsError(reply) ? ErrorProblem("SET", reply) : ""; });
  Command wait(3);
  wait.Word("WAIT").Number(options_.replicas).Number(options_.round_max.count());
  send(wait, [this](const Reply& reply) { return ProblemOf(reply); });
}

std::string Confirmations::ProblemOf(const Reply& answer) const {
  if (IsError(answer)) return ErrorProblem("WAIT", answer);
  if (answer.integer >= options_.replicas) return "";
  return "has confirmed a write on " + std::to_string(answer.integer) + " of " +
         std::to_string(options_.replicas) + " replicas";
}

void Confirmations::EndRound(Round& round) {
  const std::shared_ptr<Round> kept = std::exchange(round_, nullptr);
  const bool confirmed = round.problem.empty();
  listener_.OnRoundEnded(confirmed,
                         std::chrono::duration_cast<core::Micros>(loop_.Now() - round.began));
  if (connection_.ready()) Learn(round.problem);  // Else OnDown() knows more.
  for (Asked& asked : round.asked) {
    if (asked.done) std::move(asked.done)(confirmed && asked.run_id == round.run_id);
  }
  if (!confirmed) AnswerAll();
  if (!problem_.empty()) return ProbeLater();
  if (!waiting_.empty()) StartRoundAtEndOfTurn();
}

void Confirmations::Learn(std::string problem) {
  const bool changed = problem != problem_ || problem.empty() != confirms_;
  problem_ = std::move(problem);
  confirms_ = problem_.empty();
  if (changed && !closed_) listener_.OnConfirmationsChanged();
}

void Confirmations::ProbeLater() {
  if (closed_) return;
  probe_timer_ = loop_.After(options_.probe_interval, [this] { StartRoundAtEndOfTurn(); });
}

void Confirmations::OnReady(ReconnectingConnection&, const ServerFacts& facts) {
  run_id_ = facts.Life().run_id;
  StartRoundAtEndOfTurn();
}

// The commands in flight are answered after this.
void Confirmations::OnDown(ReconnectingConnection& connection, Before) {
  run_id_.clear();
  Learn("cannot be asked what it confirms: " + connection.problem().text);
  AnswerAll();
  if (!closed_) listener_.OnConfirmationsBroken();
}

void Confirmations::MoveTo(const RedisUrl& url, const StoreProblem& why) {
  connection_.MoveTo(url, why);
  AnswerAll();
}

void Confirmations::Close() {
  closed_ = true;
  probe_timer_.reset();
  deadline_timer_.reset();
  connection_.Close();
  AnswerAll();
}

void Confirmations::WatchDeadlines(core::Instant earliest) {
  if (earliest >= deadline_watched_) return;
  deadline_watched_ = earliest;
  const auto delay = std::chrono::duration_cast<core::Micros>(earliest - loop_.Now());
  deadline_timer_ = loop_.After(std::max(delay, core::Micros(0)), [this] {
    deadline_watched_ = core::Instant::max();
    AnswerDue();
  });
}

// Answers those whose time is up, and watches the others.
void Confirmations::AnswerDue() {
  const core::Instant now = loop_.Now();
  core::Instant next = core::Instant::max();
  std::vector<Done> due;
  const auto take_due = [&](std::vector<Asked>& all) {
    for (Asked& asked : all) {
      if (!asked.done) continue;
      if (asked.deadline > now) {
        next = std::min(next, asked.deadline);
      } else {
        due.push_back(std::exchange(asked.done, nullptr));
      }
    }
  };
  take_due(waiting_);
  if (round_) take_due(round_->asked);
  std::erase_if(waiting_, [](const Asked& asked) { return !asked.done; });
  if (next < core::Instant::max()) WatchDeadlines(next);
  for (Done& done : due) std::move(done)(false);
}

// Answers those who wait for the next round that it did not confirm.
void Confirmations::AnswerAll() {
  for (Asked& asked : std::exchange(waiting_, {})) {
    if (asked.done) std::move(asked.done)(false);
  }
}

}  // namespace lockkeeper::redis
