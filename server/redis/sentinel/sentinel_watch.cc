// SPDX-License-Identifier: Apache-2.0
#include "redis/sentinel/sentinel_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "redis/client/reconnecting_connection.h"
#include "redis/client/subscription.h"
#include "redis/node/command.h"
#include "redis/node/error_reply.h"
#include "text/problem.h"

namespace lockkeeper::redis {
namespace {

using Kind = StoreProblem::Kind;

constexpr std::string_view kSwitchChannel = "+switch-master";
constexpr std::string_view kUnknownService = "No such master";
// A Sentinel that invents others must not make us open connections without end.
constexpr size_t kSentinelsMax = 64;

// The names of all services, from the list of what a Sentinel watches.
std::string ServicesIn(const Reply& reply) {
  std::vector<std::string> names;
  for (const Reply& service : reply.items) {
    if (service.items.size() >= 2) names.push_back(text::Quoted(service.items[1].text));
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace

// One Sentinel: a connection to ask it, and one on which it announces failovers.
class SentinelWatch::Sentinel final : private ReconnectingConnection::Listener {
 public:
  // `id` is empty for one that the configuration names.
  Sentinel(SentinelWatch& watch, const RedisUrl& url, std::string id)
      : watch_(watch),
        url_(url),
        named_(id.empty()),
        id_(std::move(id)),
        connection_(watch.loop_, Options(), NextBackoff(), *this),
        announcements_(
            watch.loop_, Options(), NextBackoff(), {std::string(kSwitchChannel)},
            [this](std::string_view, std::string_view message) { OnAnnounced(message); }) {}

  ~Sentinel() override {
    closing_ = true;
    announcements_.Close();
    connection_.Close();
  }
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;

  const RedisUrl& url() const { return url_; }
  const std::string& id() const { return id_; }
  bool named() const { return named_; }
  bool ready() const { return connection_.ready(); }
  const std::optional<SentinelView>& view() const { return view_; }
  const std::vector<OtherSentinel>& others() const { return others_; }

  // Why it has no view. Of kConnecting as long as it was not tried.
  StoreProblem problem() const {
    if (!connection_.ready()) return connection_.problem();
    return refusal_.value_or(StoreProblem{Kind::kConnecting, url_.Address() + " is being asked"});
  }

  // It is reached at another address now.
  void MoveTo(const RedisUrl& url) {
    url_ = url;
    const StoreProblem why{Kind::kUnreachable, "the Sentinel moved to " + url.Address()};
    connection_.MoveTo(url, why);
    announcements_.MoveTo(url, why);
  }

  void Ask() {
    if (!connection_.ready()) return;
    if (std::exchange(asking_, true)) {
      ask_again_ = true;
      return;
    }
    const std::string& service = watch_.options_.service;
    auto round = std::make_shared<Round>();
    round->asked = watch_.loop_.Now();
    Send(round, &Round::id, Command::Of({"SENTINEL", "MYID"}));
    // The epoch first: a new epoch never comes with the address of before.
    Send(round, &Round::state, Command::Of({"SENTINEL", "MASTER", service}));
    Send(round, &Round::address, Command::Of({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", service}));
    Send(round, &Round::others, Command::Of({"SENTINEL", "SENTINELS", service}));
  }

 private:
  struct Round {
    core::Instant asked;
    size_t unanswered = 0;
    bool failed = false;
    Reply id, state, address, others;
  };

  ConnectionOptions Options() const {
    const SentinelOptions& options = watch_.options_;
    return {.url = url_,
            .expected = Expected::kSentinel,
            .tls = options.tls,
            .client_name = options.client_name,
            .key_prefix = "",
            .scripts = {},
            .connect_timeout = options.connect_timeout,
            .request_timeout = options.request_timeout,
            .probe_interval = options.times.ask_interval};
  }

  loop::Backoff NextBackoff() const {
    return {watch_.options_.backoff, loop::Jitter(watch_.next_seed_++)};
  }

  void Send(const std::shared_ptr<Round>& round, Reply Round::* reply, const Command& command) {
    ++round->unanswered;
    connection_.Send(command.wire(), [this, round, reply](absl::StatusOr<Reply> answer) {
      if (answer.ok()) {
        (*round).*reply = *std::move(answer);
      } else {
        round->failed = true;
      }
      if (--round->unanswered == 0 && !closing_) OnRound(*round);
    });
  }

  void OnRound(const Round& round) {
    asking_ = false;
    if (!round.failed) Take(round);
    watch_.OnAnswers(others_);
    if (std::exchange(ask_again_, false)) Ask();
  }

  void Take(const Round& round) {
    const auto state = ReadServiceState(round.state);
    const auto address = ReadPrimaryAddress(round.address);
    view_.reset();
    refusal_.reset();
    if (round.state.text.find(kUnknownService) != std::string::npos) return AskForServices();
    if (!state || !address || round.id.text.empty()) {
      refusal_ = RefusalOf(round);
      return;
    }
    id_ = round.id.text;
    others_ = ReadOtherSentinels(round.others);
    view_ = SentinelView{.id = id_,
                         .primary = *address,
                         .config_epoch = state->config_epoch,
                         .sentinels = std::max(state->sentinels, others_.size() + 1),
                         .asked = round.asked};
  }

  // Why what it answered is no view.
  StoreProblem RefusalOf(const Round& round) const {
    for (const Reply* reply : {&round.id, &round.state, &round.address}) {
      if (reply->type != Reply::Type::kError) continue;
      const bool is_refused = ErrorWord(reply->text) == "NOPERM";
      return {is_refused ? Kind::kRefused : Kind::kUnreachable,
              Named() + " answered: " + reply->text};
    }
    return {Kind::kUnreachable, Named() + " sent a malformed answer"};
  }

  // So that somebody who has mistyped the name sees the right one.
  void AskForServices() {
    connection_.Send(Command::Of({"SENTINEL", "MASTERS"}).wire(), [this](
                                                                      absl::StatusOr<Reply> reply) {
      if (closing_ || !reply.ok()) return;
      refusal_ = {Kind::kRefused, Named() + " watches no " + text::Quoted(watch_.options_.service) +
                                      "; the services that it watches: " + ServicesIn(*reply)};
      watch_.Decide();
    });
  }

  std::string Named() const { return "the Sentinel " + url_.Address(); }

  void OnReady(ReconnectingConnection&, const ServerFacts&) override { Ask(); }

  void OnDown(ReconnectingConnection&, Before) override {
    if (!closing_) watch_.Decide();
  }

  // "<service> <old address> <old port> <new address> <new port>"
  void OnAnnounced(std::string_view message) {
    if (message.starts_with(watch_.options_.service + " ")) watch_.AskAll();
  }

  SentinelWatch& watch_;
  RedisUrl url_;
  const bool named_;
  std::string id_;  // Empty as long as it is not known.
  std::optional<SentinelView> view_;
  std::optional<StoreProblem> refusal_;
  std::vector<OtherSentinel> others_;
  bool asking_ = false;
  bool ask_again_ = false;
  bool closing_ = false;
  ReconnectingConnection connection_;
  Subscription announcements_;
};

SentinelWatch::SentinelWatch(loop::EventLoop& loop, SentinelOptions options, RedisNode& node,
                             SentinelObserver& observer)
    : loop_(loop),
      options_(std::move(options)),
      node_(node),
      observer_(observer),
      next_seed_(options_.seed),
      elections_(options_.times, options_.sentinels.size(), options_.majority) {
  for (const RedisUrl& url : options_.sentinels) {
    sentinels_.push_back(std::make_unique<Sentinel>(*this, url, ""));
  }
  node_.SetBrokenListener([this] { AskAll(); });
  Tick();
}

SentinelWatch::~SentinelWatch() {
  node_.SetBrokenListener([] {});
}

// Decides even if nobody answers: answers grow old.
void SentinelWatch::Tick() {
  timer_ = loop_.After(options_.times.ask_interval, [this] { Tick(); });
  ForgetThoseThatAreGone();
  AskAll();
  Decide();
}

void SentinelWatch::AskAll() {
  for (const auto& sentinel : sentinels_) sentinel->Ask();
}

void SentinelWatch::OnAnswers(const std::vector<OtherSentinel>& others) {
  for (const OtherSentinel& other : others) Meet(other);
  Decide();
}

void SentinelWatch::Meet(const OtherSentinel& other) {
  RedisUrl url = options_.sentinels.front();  // For its credentials and TLS.
  url.host = other.address.host;
  url.port = other.address.port;
  for (const auto& sentinel : sentinels_) {
    if (sentinel->url().Address() == url.Address()) return;
    if (sentinel->id() != other.id) continue;
    if (sentinel->ready()) return;
    if (sentinel->named()) continue;  // Others may reach it by another name.
    if (sentinel->problem().kind != Kind::kConnecting) sentinel->MoveTo(url);
    return;
  }
  if (sentinels_.size() < kSentinelsMax) {
    sentinels_.push_back(std::make_unique<Sentinel>(*this, url, other.id));
  }
}

// Those that were learned from others, of which nobody speaks any more.
void SentinelWatch::ForgetThoseThatAreGone() {
  std::set<std::string_view> spoken_of;
  bool any_ready = false;
  for (const auto& sentinel : sentinels_) {
    if (!sentinel->ready()) continue;
    any_ready = true;
    for (const OtherSentinel& other : sentinel->others()) spoken_of.insert(other.id);
  }
  if (!any_ready) return;
  std::erase_if(sentinels_, [&](const std::unique_ptr<Sentinel>& sentinel) {
    return !sentinel->named() && !sentinel->ready() && !spoken_of.contains(sentinel->id());
  });
}

void SentinelWatch::Decide() {
  std::vector<SentinelView> views;
  for (const auto& sentinel : sentinels_) {
    if (sentinel->view()) views.push_back(*sentinel->view());
  }
  const Election election = elections_.Hold(views, loop_.Now(), primary_);
  const std::pair heard(election.heard, election.known);
  if (std::exchange(heard_, heard) != heard) observer_.OnHeard(heard.first, heard.second);
  if (election.primary) {
    told_.reset();
    if (election.primary != primary_) MoveTo(*election.primary, election.config_epoch);
    return;
  }
  if (primary_ && options_.majority == Majority::kNotNeeded) return;
  if (primary_ || told_ || AllHaveBeenTried()) MoveNowhere(ProblemOf(election));
}

void SentinelWatch::MoveTo(const ServerAddress& primary, int64_t config_epoch) {
  primary_ = primary;
  RedisUrl url = options_.primary;
  url.host = primary.host;
  url.port = primary.port;
  observer_.OnPrimary(url.Address(), config_epoch);
  node_.MoveTo(url, {Kind::kUnreachable, "the Sentinels name " + url.Address() + " as primary"});
}

void SentinelWatch::MoveNowhere(const StoreProblem& problem) {
  if (told_ == problem) return;
  primary_.reset();
  told_ = problem;
  observer_.OnNoPrimary(problem);
  node_.MoveTo(options_.primary, problem);
}

StoreProblem SentinelWatch::ProblemOf(const Election& election) const {
  StoreProblem why{Kind::kUnreachable, ""};
  for (const auto& sentinel : sentinels_) {
    if (sentinel->view() && sentinel->ready()) continue;
    const StoreProblem problem = sentinel->problem();
    const bool says_more = problem.kind == Kind::kRefused && why.kind != Kind::kRefused;
    if (why.text.empty() || says_more) why = problem;
  }
  if (why.kind != Kind::kRefused) why.kind = Kind::kUnreachable;
  if (why.text.empty()) why.text = "the others do not answer in time, or are not there any more";
  why.text = absl::StrCat("no majority of the Sentinels of ", text::Quoted(options_.service),
                          " answers (", election.heard, " of ", election.known, "), so nobody ",
                          "knows which server is the primary: ", why.text);
  return why;
}

bool SentinelWatch::AllHaveBeenTried() const {
  return std::all_of(sentinels_.begin(), sentinels_.end(), [](const auto& sentinel) {
    return (sentinel->ready() && sentinel->view()) || sentinel->problem().kind != Kind::kConnecting;
  });
}

}  // namespace lockkeeper::redis
