// SPDX-License-Identifier: Apache-2.0
//
// How a SessionClient deals with its streams: heartbeats, breaks, adoption, ends.
#include <algorithm>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "simulation/acquire_answer.h"
#include "simulation/session_client.h"
#include "simulation/session_client_parts.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Lease;
using core::Micros;
using core::Millis;

namespace {

constexpr Micros kCloseTimeout{6'000'000};

// What a lease that a heartbeat's answer does not name has left, from the heartbeat's sending:
// docs/concepts/sessions.md.
Micros KeptFor(Millis ttl) { return Micros(ttl) * 2 / 3 - Micros(10'000); }

bool Names(const core::NotExtended& named, const Wish& wish) {
  return named.name == wish.request.name && named.lease_id == wish.request.lease_id;
}

}  // namespace

SessionClient::LinkPtr SessionClient::CurrentLink() {
  if (link_) return link_;
  auto link = std::make_shared<Link>();
  link->daemon = static_cast<size_t>(daemon_) % world_.rpc.daemons();
  link->stream = world_.streams.Open(process_, link->daemon,
                                     {[this, known = std::weak_ptr(link)](SessionMessage message) {
                                        if (const LinkPtr to = known.lock())
                                          OnMessage(to, std::move(message));
                                      },
                                      [this, known = std::weak_ptr(link)] {
                                        if (const LinkPtr broken = known.lock()) OnBroken(broken);
                                      }});
  links_.push_back(link);
  link_ = std::move(link);
  return link_;
}

uint64_t SessionClient::Ask(LinkPtr link, Question question) {
  const uint64_t id = world_.streams.NextOperation();
  world_.judge.CallAsked(id);
  link->questions.emplace(id, std::move(question.done));
  link->stream->Send(
      [say = std::move(question.say), id](SessionServer& server) { say(server, id); });
  process_.Later(question.timeout, [this, link, id] {
    if (link->questions.contains(id)) Abandon(link);
  });
  return id;
}

void SessionClient::OnMessage(LinkPtr link, SessionMessage message) {
  if (link->over) return;
  for (const SessionMessage::Beat& beat : message.beats) OnBeat(*link, beat);
  for (const SessionMessage::Result& result : message.results) {
    const auto question = link->questions.extract(result.id);
    if (question.empty()) {
      world_.judge.Violation("a session was told of an operation that has no question");
    } else {
      question.mapped()(result.answer);
    }
    if (link->over) return;
  }
  if (message.draining && link == link_) MoveOn();
  if (message.closed) {
    for (const RoundPtr& round : std::vector<RoundPtr>(rounds_)) {
      if (round->closing && round->link == link) Done(round);
    }
    Abandon(link);
  }
  EndUnused();
}

void SessionClient::OnBeat(Link& link, const SessionMessage::Beat& beat) {
  const Instant now = world_.clock.Now();
  // A lease is named once, perhaps in answer to a heartbeat that was sent before it was granted.
  for (const core::NotExtended& named : beat.answer.not_extended) {
    if (named.reason != core::ErrorReason::kLeaseLost) continue;
    for (const RoundPtr& round : rounds_) {
      if (Names(named, *round) && !round->releasing && !round->lost) Lost(*round);
    }
  }
  for (const core::HeartbeatAnswer::Proof& proof : beat.answer.proofs) {
    for (const RoundPtr& round : rounds_) {
      if (round->request.lease_id == proof.lease_id) round->reassertion = proof.reassertion;
    }
  }
  while (!link.beats.empty() && link.beats.begin()->first <= beat.number) {
    const auto answered = link.beats.extract(link.beats.begin());
    const auto& [id, sent, holders] = answered.mapped();
    world_.judge.CallAnswered(id);
    world_.judge.CallGone(id);
    if (answered.key() != beat.number) continue;
    for (const RoundPtr& round : holders) {
      if (round->releasing || round->over || round->lost) continue;
      const auto named =
          std::find_if(beat.answer.not_extended.begin(), beat.answer.not_extended.end(),
                       [&round](const auto& lost) { return Names(lost, *round); });
      if (named == beat.answer.not_extended.end()) {
        // The close may have released it, also if its client believed in it no more by then.
        if (link.closing) continue;
        const bool is_proved = std::any_of(
            beat.answer.proofs.begin(), beat.answer.proofs.end(),
            [&round](const auto& proof) { return proof.lease_id == round->request.lease_id; });
        const Micros kept_for =
            is_proved ? Micros(round->request.ttl) : KeptFor(round->request.ttl);
        world_.judge.Assured(round->request.name, round->token, sent + kept_for, now);
        if (Believes(*round)) Prolong(*round, sent + Trusted(kept_for));
      } else if (named->reason == core::ErrorReason::kStoreQuarantined || random_.OneIn(2)) {
        Extend(round);
      }
    }
  }
}

// Whatever is asked over it stays without an answer.
void SessionClient::OnBroken(LinkPtr link) {
  if (std::exchange(link->over, true)) return;
  std::erase(links_, link);
  if (link == link_) {
    link_ = nullptr;
    if (random_.OneIn(2)) ++daemon_;
  }
  for (const auto& [number, beat] : std::exchange(link->beats, {})) world_.judge.CallGone(beat.id);
  for (const auto& [id, done] : std::exchange(link->questions, {})) {
    world_.judge.CallGone(id);
    done(core::Error(core::ErrorReason::kOutcomeUnknown, "the stream broke"));
  }
  for (const RoundPtr& round : std::vector<RoundPtr>(rounds_)) {
    if (round->closing && round->link == link) Release(round, 0);
  }
  process_.Later(Micros(random_.Between(0, 100'000)), [this] { AdoptAll(); });
}

void SessionClient::Abandon(LinkPtr link) {
  if (link->over) return;
  link->stream->Cancel();
  OnBroken(link);
}

// To another daemon, or to a new session at the same one. The old session goes on until nothing is
// left there.
void SessionClient::MoveOn() {
  link_ = nullptr;
  if (!random_.OneIn(4)) ++daemon_;
  AdoptAll();
}

void SessionClient::EndUnused() {
  for (const LinkPtr& link : std::vector<LinkPtr>(links_)) {
    if (link == link_ || link->closing || !link->questions.empty()) continue;
    const bool used = std::any_of(rounds_.begin(), rounds_.end(), [&](const RoundPtr& round) {
      return round->link == link && round->believing;
    });
    if (!used) CloseHandedOn(link);
  }
}

// By hanging up; or, since all of its leases have been adopted elsewhere, with a release of what
// the daemon takes for its leases.
void SessionClient::CloseHandedOn(LinkPtr link) {
  const int one_in = world_.schedule.hand_on_one_in;
  if (one_in == 0 || last_lap_ || !oddity_.OneIn(static_cast<uint64_t>(one_in))) {
    return Abandon(link);
  }
  link->closing = true;
  link->stream->Send([](SessionServer& server) { server.Close(true); });
  process_.Later(kCloseTimeout, [this, link] { Abandon(link); });
}

// Ends the session when nobody needs it any more, each time in another way.
void SessionClient::CloseIfDone() {
  EndUnused();
  if (!link_ || !rounds_.empty() || (!stopping_ && !random_.OneIn(4))) return;
  const LinkPtr link = std::exchange(link_, nullptr);
  link->closing = true;
  const uint64_t way = random_.Below(3);
  if (way == 0) return Abandon(link);
  link->stream->Send([way, release = random_.OneIn(2)](SessionServer& server) {
    way == 1 ? server.Close(release) : server.HalfClose();
  });
  process_.Later(kCloseTimeout, [this, link] { Abandon(link); });
}

// Releases all leases of the session by its end, those too that it may have adopted by then.
void SessionClient::CloseReleasing(const RoundPtr& round) {
  const LinkPtr link = std::exchange(link_, nullptr);
  link->closing = true;
  for (const RoundPtr& other : rounds_) {
    if (other->adopting_over == link && other->believing) other->link = link;
    if (other->link != link || !(other->believing || other == round)) continue;
    StopBelieving(*other);
    other->releasing = other->closing = true;
  }
  link->stream->Send([](SessionServer& server) { server.Close(true); });
  process_.Later(kCloseTimeout, [this, link] { Abandon(link); });
}

void SessionClient::AdoptAll() {
  for (const RoundPtr& round : std::vector<RoundPtr>(rounds_)) {
    if (!Believes(*round) || round->releasing || round->adopting_over) continue;
    if (round->link && round->link == link_) continue;
    Adopt(round);
  }
}

void SessionClient::Adopt(const RoundPtr& round) {
  const LinkPtr link = CurrentLink();
  const Instant sent = world_.clock.Now();
  round->adopting_over = link;
  core::ExtendRequest request;
  request.name = round->request.name;
  request.lease_id = round->request.lease_id;
  request.token = core::FencingToken{round->token};
  request.reassertion = round->reassertion;
  request.deadline = Instant::max();
  Ask(link, {[request](SessionServer& server, uint64_t id) { server.Adopt(id, request); },
             [this, round, link, sent, shown = request.reassertion](const Answer& answer) {
               round->adopting_over = nullptr;
               if (round->releasing || round->over) return;
               if (link->closing) return Release(round, 0);
               if (answer.ok()) {
                 round->link = link;
                 round->reassertion = std::get<Lease>(*answer).reassertion;
                 if (Believes(*round)) {
                   Prolong(*round, sent + Trusted(std::get<Lease>(*answer).remaining_ttl));
                 }
                 StartBeating(link);
               } else if (core::ReasonOf(answer.status()) == core::ErrorReason::kLeaseLost &&
                          round->reassertion == shown) {
                 // Else a heartbeat was answered meanwhile: this is about a proof that has ended.
                 Lost(*round);
               } else {
                 if (Believes(*round)) {
                   CheckTakenBack(world_.judge, round->request.name, answer.status(),
                                  world_.clock.Now());
                 }
                 process_.Later(Micros(random_.Between(5'000, 100'000)), [this] { AdoptAll(); });
               }
             }});
}

void SessionClient::StartBeating(LinkPtr link) {
  if (std::exchange(link->beating, true)) return;
  process_.Later(beat_every_, [this, link] { Beat(link); });
}

void SessionClient::Beat(LinkPtr link) {
  link->beating = false;
  if (link->over || link->closing) return;
  std::vector<RoundPtr> holders;
  for (const RoundPtr& round : rounds_) {
    if (round->link == link && Believes(*round) && !round->releasing) holders.push_back(round);
  }
  if (holders.empty()) return;
  if (link->beats.size() >= patience_) return Abandon(link);
  const uint64_t number = link->next_beat++;
  const uint64_t id = world_.streams.NextOperation();
  world_.judge.CallAsked(id);
  link->beats[number] = {id, world_.clock.Now(), std::move(holders)};
  link->stream->Send([number](SessionServer& server) { server.Heartbeat(number); });
  StartBeating(link);
}

}  // namespace lockkeeper::simulation
