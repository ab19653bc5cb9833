// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the calls of a part when servers of the Cluster leave, disagree or send calls on:
// scripted servers, which do all that at once and in any order.
#include "redis/cluster/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "node_harness.h"
#include "redis/cluster/slot.h"
#include "scripted_server.h"

namespace lockkeeper::redis {
namespace {

using std::chrono::milliseconds;
using Words = ScriptedServer::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kQuiet{300};
constexpr ScriptSource kScript{"test", "return 1", "0000000000000000000000000000000000000001"};

// Waits for what changes on other threads.
class Changing {
 public:
  // Throws std::runtime_error if it never is so.
  void Await(const std::string& what, const std::function<bool()>& is_so) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, is_so)) throw std::runtime_error("never: " + what);
  }
  void Change(const std::function<void()>& change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// A server of a Cluster that says what the test wants. Thread-safety: thread-safe.
class ClusterServer {
 public:
  explicit ClusterServer(char letter) : id_(40, letter) {}

  std::string url() const { return server_.url(); }
  std::string address() const { return url().substr(url().rfind('/') + 1); }

  // Its line in the CLUSTER NODES of server `asked`; `slots` is empty if it has none.
  std::string LineFor(const ClusterServer& asked, const std::string& slots,
                      const std::string& role = "master") const {
    return id_ + " " + address() + "@1 " + (&asked == this ? "myself," : "") + role +
           " - 0 0 1 connected" + (slots.empty() ? "" : " " + slots) + "\n";
  }
  void SayNodes(const std::string& bytes) {
    changing_.Change([&] { nodes_ = bytes; });
  }
  // Its answers to WAIT.
  void AnswerWaits(const std::string& bytes) {
    changing_.Change([&] { wait_ = bytes; });
  }
  // How often it was asked for CLUSTER NODES.
  int Questions() {
    int questions = 0;
    changing_.Change([&] { questions = questions_; });
    return questions;
  }
  // Its answers to script calls of the test, one each; "+done" to all later ones.
  void AnswerCalls(std::vector<std::string> answers) {
    changing_.Change([&] { answers_ = {answers.rbegin(), answers.rend()}; });
  }
  // The names of the commands that came besides those of handshakes and questions.
  std::vector<std::string> Calls() {
    std::vector<std::string> calls;
    changing_.Change([&] { calls = calls_; });
    return calls;
  }

 private:
  ScriptedAnswer On(const Words& command) {
    ScriptedAnswer answer = HealthyAnswer(command);
    changing_.Change([&] {
      if (command.empty()) return;
      if (command[0] == "INFO" && command[1] == "server") {
        answer = {Bulk("redis_version:7.0.15\r\nredis_mode:cluster\r\nrun_id:" + id_ + "\r\n")};
      }
      if (command[0] == "CLUSTER") {
        answer = {nodes_};
        ++questions_;
      }
      if (command[0] == "WAIT") answer = {wait_};
      if (command[0] == "ASKING") calls_.push_back(command[0]);
      if (command[0] != "EVALSHA" || command[1] != kScript.sha1) return;
      calls_.push_back(command[0]);
      answer = {answers_.empty() ? "+done\r\n" : answers_.back()};
      if (!answers_.empty()) answers_.pop_back();
    });
    return answer;
  }

  const std::string id_;
  Changing changing_;
  std::string nodes_ = Bulk("");
  std::string wait_ = ":1\r\n";
  int questions_ = 0;
  std::vector<std::string> answers_;
  std::vector<std::string> calls_;
  ScriptedServer server_{[this](int, const Words& command) { return On(command); }};
};

// Thread-safety: thread-safe.
class ClusterWatcher final : public ClusterObserver {
 public:
  void OnPrimaries(size_t connected, size_t known) override {
    changing.Change([&] { primaries = {connected, known}; });
  }
  void OnPartsMoved(size_t parts) override {
    changing.Change([&] { moved += parts; });
  }
  void OnConnected(size_t, std::string_view) override {}
  void OnConnectionLost(size_t, const StoreProblem&) override {}
  void OnConnectFailed(size_t, const StoreProblem&) override {}
  void OnScriptLoadedAgain(std::string_view) override {}
  void OnConfirmationEnded(bool, core::Micros) override {}
  void OnLooked(core::Micros, std::optional<core::NodeTime>) override {}
  void OnScriptCallEnded(std::string_view, ScriptCallEnd, core::Micros) override {}

  void AwaitPrimaries(size_t connected, size_t known) {
    changing.Await("so many primaries", [&] { return primaries == std::pair(connected, known); });
  }
  void AwaitMoved(size_t parts) {
    changing.Await("so many parts moved", [&] { return moved == parts; });
  }

  Changing changing;
  std::pair<size_t, size_t> primaries;
  size_t moved = 0;
};

class ClusterTest : public testing::Test {
 protected:
  ~ClusterTest() override {
    loop_.RunAndWait([this] { cluster_.reset(); });
    loop_.Stop();
  }

  // All servers say that these are the Cluster, each with its slots.
  void Form(const std::vector<std::pair<ClusterServer*, std::string>>& members) {
    for (const auto& [asked, own_slots] : members) {
      std::string nodes;
      for (const auto& [server, slots] : members) nodes += server->LineFor(*asked, slots);
      asked->SayNodes(Bulk(nodes));
    }
  }

  // Connects, from the first server on.
  void Connect(milliseconds ask_interval = milliseconds(5)) {
    ClusterOptions options{.servers = {*ParseRedisUrl(one_.url())},
                           .node = {.daemon_id = "test", .connections = 1},
                           .ask_interval = ask_interval};
    options.node.request_timeout = std::chrono::seconds(20);
    options.node.connect_timeout = std::chrono::seconds(20);
    options.node.backoff = {milliseconds(1), milliseconds(20)};
    loop_.RunAndWait([&] {
      cluster_ = std::make_unique<Cluster>(loop_, options, watcher_);
      health_ = cluster_->health();
      cluster_->SetHealthListener([this](const NodeHealth& health) {
        watcher_.changing.Change([&] { health_ = health; });
      });
    });
  }

  // What a call of part 0 is answered: the text of a reply, or of an error.
  std::string Call() {
    std::promise<absl::StatusOr<Reply>> answer;
    auto answered = answer.get_future();
    loop_.RunAndWait([&] {
      Node& part = cluster_->part(0);
      part.Run(part.RouteOf("key"), kScript, CallOf(kScript, {}),
               [&](absl::StatusOr<Reply> reply) { answer.set_value(std::move(reply)); });
    });
    const auto reply = Await(std::move(answered));
    return reply.ok() ? reply->text : std::string(reply.status().message());
  }

  // Whether a replica of part 0 has confirmed what its server has replied to.
  core::Assurance Confirm() {
    std::promise<core::Assurance> confirmed;
    loop_.RunAndWait([&] {
      Node& part = cluster_->part(0);
      part.Confirm(part.AnyRoute(), core::Assurance::kReplicas, loop_.Now() + kPatience,
                   [&confirmed](core::Assurance as) { confirmed.set_value(as); });
    });
    return Await(confirmed.get_future());
  }

  // Waits until the servers have not been asked for longer than questions are put off.
  void AwaitNoQuestions() {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    for (auto [since, asked] = std::pair(now(), -1); now() < since + kQuiet;) {
      const int questions = one_.Questions() + two_.Questions();
      if (std::exchange(asked, questions) != questions) since = now();
    }
  }

  void AwaitProblem(const std::string& text) {
    watcher_.changing.Await("the problem: " + text,
                            [&] { return health_.problem.find(text) != std::string::npos; });
  }

  // What `server` says to send a call of part 0 there.
  static std::string SentOn(const std::string& word, const ClusterServer& to) {
    const uint16_t slot = SlotOf("{" + TagOfPart(0) + "}");
    return "-" + word + " " + std::to_string(slot) + " " + to.address() + "\r\n";
  }

  ClusterServer one_{'a'};
  ClusterServer two_{'b'};
  ClusterServer three_{'c'};
  ClusterWatcher watcher_;
  NodeHealth health_;
  loop::EventLoop loop_{"cluster"};
  std::unique_ptr<Cluster> cluster_;
};

// Several times: only if both are to go at once is one looked at that another one named.
TEST_F(ClusterTest, PrimariesThatHaveLeftAreForgotten) {
  constexpr int kTimes = 10;
  Form({{&one_, "0-16383"}, {&two_, ""}, {&three_, ""}});
  Connect();
  for (int i = 0; i < kTimes; ++i) {
    Form({{&one_, "0-16383"}, {&two_, ""}, {&three_, ""}});
    watcher_.AwaitPrimaries(3, 3);

    // Each says that it is a replica of the first one: with the last answer both are to go.
    Form({{&one_, "0-16383"}});
    for (ClusterServer* const left : {&two_, &three_}) {
      left->SayNodes(Bulk(one_.LineFor(*left, "0-16383") + left->LineFor(*left, "", "slave")));
    }
    watcher_.AwaitPrimaries(1, 1);
  }

  EXPECT_EQ(Call(), "done");
}

TEST_F(ClusterTest, MovedSlotIsFollowedBeforeAnybodySaysSo) {
  Form({{&one_, "0-16383"}, {&two_, ""}});
  Connect();
  watcher_.AwaitPrimaries(2, 2);
  one_.AnswerCalls({SentOn("MOVED", two_)});

  EXPECT_THAT(Call(), HasSubstr("MOVED")) << "the operation queue sends it again";
  EXPECT_EQ(Call(), "done");

  EXPECT_THAT(one_.Calls(), ElementsAre("EVALSHA"));
  EXPECT_THAT(two_.Calls(), ElementsAre("EVALSHA"));
  watcher_.AwaitMoved(1);
}

TEST_F(ClusterTest, AskedCallGoesToTheOtherServerAndNoneThatComesAfter) {
  Form({{&one_, "0-16383"}, {&two_, ""}});
  Connect();
  watcher_.AwaitPrimaries(2, 2);
  one_.AnswerCalls({SentOn("ASK", two_), SentOn("ASK", two_)});

  EXPECT_THAT(Call(), HasSubstr("ASK")) << "calls are kept from now on";
  EXPECT_EQ(Call(), "done");
  EXPECT_THAT(two_.Calls(), ElementsAre("ASKING", "EVALSHA"));

  EXPECT_EQ(Call(), "done");
  EXPECT_THAT(one_.Calls(), ElementsAre("EVALSHA", "EVALSHA", "EVALSHA"));
  EXPECT_THAT(two_.Calls(), ElementsAre("ASKING", "EVALSHA"));
}

// The connection of confirmations is used by no call that could be sent on. The servers would be
// asked again only in five minutes.
TEST_F(ClusterTest, PrimaryThatEndsAWaitForReplicasMakesTheServersAskedAtOnce) {
  Form({{&one_, "0-16383"}, {&two_, ""}});
  Connect(std::chrono::minutes(5));
  watcher_.AwaitPrimaries(2, 2);
  AwaitNoQuestions();
  Form({{&one_, ""}, {&two_, "0-16383"}});
  one_.AnswerWaits(
      "-UNBLOCKED force unblock from blocking operation, instance state changed "
      "(master -> replica?)\r\n");

  EXPECT_EQ(Confirm(), core::Assurance::kMemory);

  watcher_.AwaitMoved(kClusterParts);
}

TEST_F(ClusterTest, QuestionThatComesTooSoonIsPutOffAndNotForgotten) {
  Form({{&one_, "0-16383"}, {&two_, ""}});
  Connect(std::chrono::minutes(5));
  watcher_.AwaitPrimaries(2, 2);
  AwaitNoQuestions();
  one_.AnswerCalls(
      {"-CLUSTERDOWN The cluster is down\r\n", "-CLUSTERDOWN The cluster is down\r\n"});
  const int asked_one = one_.Questions();
  const int asked_two = two_.Questions();

  EXPECT_THAT(Call(), HasSubstr("CLUSTERDOWN"));
  // The first one is asked as a server of the configuration, too.
  while (one_.Questions() < asked_one + 2 || two_.Questions() == asked_two) {
  }
  Form({{&one_, ""}, {&two_, "0-16383"}});
  EXPECT_THAT(Call(), HasSubstr("CLUSTERDOWN"));

  watcher_.AwaitMoved(kClusterParts);
}

TEST_F(ClusterTest, ClusterThatNobodyHasMadeIsToldAsThat) {
  Form({{&one_, ""}});
  Connect();
  AwaitProblem("make the Cluster first");
  EXPECT_THAT(Call(), HasSubstr("no server of the Cluster is known to serve slot"));

  one_.SayNodes("-NOPERM this user has no permissions to run the 'cluster|nodes' command\r\n");
  AwaitProblem("answered CLUSTER NODES with: NOPERM");

  Form({{&one_, "0-16383"}});
  watcher_.changing.Await("a Cluster that is reachable", [&] { return health_.reachable; });
  EXPECT_EQ(Call(), "done");
}

}  // namespace
}  // namespace lockkeeper::redis
