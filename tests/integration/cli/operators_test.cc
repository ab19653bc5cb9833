// SPDX-License-Identifier: Apache-2.0
//
// The commands of operators against real daemons: info, who, doctor, top, watch, drain.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <sys/types.h>

#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "daemon_fixture.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/process/terminal_session.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CliOperatorsTest : public CliDaemonTest {};

TEST_F(CliOperatorsTest, InfoTellsTheDaemonItsStoreAndItsSettings) {
  // The daemon looks at its store once a second.
  CliResult looked;
  ASSERT_TRUE(support::WaitUntil(
      [&] { return Json(looked = RunJson({"info"})).Object("store").Has("latency_us"); }));
  EXPECT_EQ(looked.exit_code, 0) << looked.out;
  const Json info(looked);
  EXPECT_EQ(info.Text("outcome"), "info");
  EXPECT_EQ(info.Text("daemon_id").size(), 16U);
  EXPECT_GT(info.Number("uptime_ms"), 0);
  EXPECT_EQ(info.Texts("grpc_addresses"), std::vector<std::string>{daemon_->GrpcAddress()});
  EXPECT_EQ(info.Text("http_address"), daemon_->HttpAddress());
  EXPECT_FALSE(info.Flag("draining"));
  EXPECT_EQ(info.ItemsOf("certificates"), 0);
  EXPECT_FALSE(info.Object("policy").Flag("restricts"));
  const Json store = info.Object("store");
  EXPECT_TRUE(store.Flag("reachable"));
  EXPECT_EQ(store.Text("kind"), "redis");
  EXPECT_THAT(store.Text("address"), HasSubstr(redis_.socket_path()));
  EXPECT_THAT(store.Text("server_version"), StartsWith("Redis "));
  EXPECT_EQ(store.Text("assurance"), "memory");
  EXPECT_EQ(store.Text("id").size(), 16U);
  EXPECT_EQ(store.Text("run_id").size(), 40U);
  EXPECT_EQ(store.Number("epoch"), 1);
  EXPECT_EQ(store.Object("settings").Text("store.key_prefix"), "lk:");
  EXPECT_EQ(store.Object("settings").Text("store.first_use_wait"), "0s");
  EXPECT_GT(store.Number("latency_us"), 0);
  EXPECT_LT(std::abs(store.Number("clock_ahead_ms")), 1'000) << "the clock of one machine";
}

TEST_F(CliOperatorsTest, InfoForPeopleHasALineForEachThing) {
  const std::string text = Run({"info"}).out;

  EXPECT_THAT(text,
              AllOf(StartsWith("lockkeeperd 0."), HasSubstr("\n  state          serving\n"),
                    HasSubstr("\n  grpc           127.0.0.1:"),
                    HasSubstr("\n  store          redis "), HasSubstr("\n  quarantine     none\n"),
                    HasSubstr("\n  sessions       0, which keep 0 leases\n"),
                    HasSubstr("\n  policy         none: everybody"),
                    HasSubstr("\n  settings       store.assume none\n")));

  redis_.Run({"FLUSHALL"});
  ASSERT_TRUE(support::WaitUntil(
      [&] { return Run({"info"}).out.find("\n  quarantine     until 2") != std::string::npos; }));
}

TEST_F(CliOperatorsTest, HealthOverHttpNeedsNeitherGrpcNorAProxy) {
  const auto run = [](const std::string& address) {
    return support::RunCli("/usr/bin/env", "127.0.0.1:1",
                           {"http_proxy=http://127.0.0.1:1", LOCKKEEPER_PROGRAM, "health", "--http",
                            address, "--timeout", "1s"});
  };
  const std::string address = daemon_->HttpAddress();
  ASSERT_TRUE(support::WaitUntil([&] { return run(address).exit_code == 0; }));
  EXPECT_THAT(run(address).out, StartsWith("serving: note: store.first_use_wait is 0s"));
  redis_.Run({"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  CliResult refusing;
  ASSERT_TRUE(support::WaitUntil([&] {
    return (refusing = run(address)).out.starts_with("serving: nothing new is granted: ");
  }));
  EXPECT_EQ(refusing.exit_code, 0) << "holders go on";
  EXPECT_THAT(refusing.out, HasSubstr("\n  note: store.first_use_wait is 0s"));

  redis_.Kill();
  CliResult looked;
  ASSERT_TRUE(support::WaitUntil([&] { return (looked = run(address)).exit_code == 69; }));
  EXPECT_THAT(looked.out, HasSubstr("not serving: store away: "));

  const CliResult nobody = run("127.0.0.1:1");
  EXPECT_EQ(nobody.exit_code, 69);
  EXPECT_THAT(nobody.err, HasSubstr("127.0.0.1:1: Connection refused"));
  for (const char* wrong :
       {"", "tls://127.0.0.1:1", "127.0.0.1", "127.0.0.1:x", "h:1/readyz", ":1", "::1"}) {
    const CliResult rejected = run(wrong);
    EXPECT_EQ(rejected.exit_code, 64) << wrong;
    EXPECT_THAT(rejected.err, HasSubstr("--http: must be HOST:PORT")) << wrong;
  }
}

TEST_F(CliOperatorsTest, InfoTellsWhyTheDaemonDoesNotServe) {
  EXPECT_FALSE(Json(RunJson({"info"})).Has("problem"));
  redis_.Kill();
  CliResult looked;
  ASSERT_TRUE(support::WaitUntil([&] { return Json(looked = RunJson({"info"})).Has("problem"); }));
  EXPECT_THAT(Json(looked).Text("problem"), StartsWith("store away: "));
  EXPECT_THAT(Run({"info"}).out, HasSubstr("\n  state          not serving: store away: "));
}

TEST_F(CliOperatorsTest, InfoTellsWhatBecameOfAChangedConfigurationFile) {
  const support::TemporaryDirectory directory;
  const std::string path = directory.Path("lockkeeper.yaml");
  const auto write = [&](const std::string& text) { directory.Replace("lockkeeper.yaml", text); };
  EXPECT_FALSE(Json(RunJson({"info"})).Has("config_file"));
  write("lease: {default_ttl: 10s}\n");
  daemon_ = StartDaemon({"--config", path});
  EXPECT_THAT(Run({"info"}).out, AllOf(HasSubstr("\n  config file    " + path + ", read 2"),
                                       HasSubstr("\n                 lease.default_ttl 10s\n"),
                                       testing::Not(HasSubstr("needs restart"))));

  write("lease: {default_ttl: 20s}\nstore: {connections: 3}\n");
  daemon_->WaitForLog("event=files.reloaded");
  const Json file = Json(RunJson({"info"})).Object("config_file");
  EXPECT_EQ(file.Text("path"), path);
  EXPECT_TRUE(file.Flag("in_use"));
  EXPECT_EQ(file.Object("settings").Text("lease.default_ttl"), "20s");
  EXPECT_EQ(file.Texts("needs_restart"), std::vector<std::string>{"store.connections"});
  EXPECT_THAT(Run({"info"}).out, HasSubstr("\n  needs restart  store.connections\n"));
  const CliResult doctor = Run({"doctor"});
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("\n  warning restart: settings in " + path +
                                    " wait for a restart of the daemon: store.connections\n"));

  write("lease: {default_ttl: 2}\n");
  daemon_->WaitForLog("event=files.refused");
  const std::string text = Run({"info"}).out;
  EXPECT_THAT(text,
              AllOf(HasSubstr("Z; what it holds now is not in use\n"),
                    HasSubstr("\n                 lease.default_ttl 20s\n"),
                    HasSubstr("\n  needs restart  store.connections, by the file as it was in use "
                              "last\n"),
                    HasSubstr("\n  not in use     config: " + path + ":1: ")));
  EXPECT_THAT(Run({"doctor"}).out,
              AllOf(HasSubstr("\n  warning files: changed files of config cannot be used"),
                    HasSubstr("\n  note    restart: " + path + " is refused (see `files`): ")));
}

TEST_F(CliOperatorsTest, TextShowsWhatATerminalWouldHideOrTurnAround) {
  const std::string name = "a\u202eb";
  const auto watch = Start({"watch", "--count", "2"});
  ASSERT_TRUE(watch->WaitForOutput("started"));
  ASSERT_EQ(Run({"acquire", name, "--ttl", "1m", "--owner", "o\u2066"}).exit_code, 0);

  const std::string watched = watch->Wait().out;
  EXPECT_THAT(watched, AllOf(HasSubstr("a\\u202eb"), HasSubstr("o\\u2066")));
  for (const Words& words : {Words{"get", name}, Words{"is-held", name}, Words{"history", name},
                             Words{"list"}, Words{"who"}, Words{"top"}, Words{"acquire", name}}) {
    const CliResult result = Run(words);
    const std::string text = result.out + result.err;
    EXPECT_THAT(text, AllOf(HasSubstr("a\\u202eb"), HasSubstr("o\\u2066"))) << words[0];
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << words[0];
  }
  const Json json(RunJson({"get", name}));
  EXPECT_EQ(json.Text("name"), name) << "programs get it as it is";
  EXPECT_EQ(json.Text("holder_owner"), "o\u2066");
}

TEST_F(CliOperatorsTest, WhoGroupsTheLocksByTheirHolders) {
  EXPECT_EQ(Run({"who"}).out, "nobody holds a lock\n");

  Hold("jobs/b");
  Hold("jobs/a");
  const std::string released = Hold("other");
  ASSERT_EQ(Run({"release", "other", released}).exit_code, 0);

  const CliResult text = Run({"who"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out,
              testing::MatchesRegex("anonymous: 2 locks\n  jobs/a  held .*\n  jobs/b  held .*\n"));
  const Json found(RunJson({"who", "anonymous", "--prefix", "jobs/a"}));
  EXPECT_EQ(found.Text("outcome"), "who");
  ASSERT_EQ(found.ItemsOf("holders"), 1);
  EXPECT_EQ(found.Item("holders", 0).Text("principal"), "anonymous");
  ASSERT_EQ(found.Item("holders", 0).ItemsOf("locks"), 1);
  EXPECT_EQ(found.Item("holders", 0).Item("locks", 0).Text("name"), "jobs/a");

  EXPECT_EQ(Run({"who", "ci"}).out, "ci holds no lock\n");
  const CliResult wrong = RunJson({"who", std::string(257, 'p')});
  EXPECT_EQ(wrong.exit_code, 65);
  EXPECT_THAT(Json(wrong).Text("message"), StartsWith("PRINCIPAL: "));
}

TEST_F(CliOperatorsTest, DoctorEndsWithTheWorstThatItFinds) {
  // The daemon of this test gives a promise up by its setting; the other one does not.
  const auto careful = std::make_unique<support::DaemonProcess>(
      support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                                    .arguments = {"--redis", redis_.unix_url(), "--listen",
                                                  "127.0.0.1:0", "--http-listen", "127.0.0.1:0"},
                                    .environment = {{"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "1ms"}}});
  careful->WaitUntilReady();
  const auto examine = [](const std::string& servers) {
    return support::RunCli(LOCKKEEPER_PROGRAM, servers, {"--output", "json", "doctor"});
  };

  // On a busy machine the store may be found slow for a moment, which is a warning.
  CliResult well;
  ASSERT_TRUE(support::WaitUntil([&] {
    return (well = examine(careful->GrpcAddress())).exit_code == 0;
  })) << well.out;
  EXPECT_EQ(Json(well).Text("outcome"), "well");
  EXPECT_GT(Json(well).ItemsOf("findings"), 8);

  CliResult warned;
  ASSERT_TRUE(support::WaitUntil([&] {
    warned = examine(careful->GrpcAddress() + "," + daemon_->GrpcAddress());
    return Json(warned).Number("warnings") == 1;
  })) << warned.out;
  EXPECT_EQ(warned.exit_code, 1);
  EXPECT_THAT(warned.out, HasSubstr("store.first_use_wait is 0s"));
  EXPECT_THAT(warned.out, HasSubstr("they use one store"));

  const support::RedisServer other;
  support::DaemonProcess stray({.program = LOCKKEEPERD_PROGRAM,
                                .arguments = {"--redis", other.unix_url(), "--listen",
                                              "127.0.0.1:0", "--http-listen", "127.0.0.1:0"},
                                .environment = {{"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "0s"}}});
  stray.WaitUntilReady();
  const std::string both = careful->GrpcAddress() + "," + stray.GrpcAddress();
  CliResult apart;
  ASSERT_TRUE(support::WaitUntil([&] { return (apart = examine(both)).exit_code == 2; }));
  EXPECT_THAT(apart.out, HasSubstr("their stores are different"));

  const CliResult failed = examine(careful->GrpcAddress() + ",unix:/nowhere/at/all");
  EXPECT_EQ(failed.exit_code, 2) << failed.out;
  EXPECT_EQ(Json(failed).Number("errors"), 1);
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("\n  warning settings: store.first_use_wait is 0s"));

  const CliResult wrong =
      support::RunCli(LOCKKEEPER_PROGRAM, "not an address", {"--output", "json", "doctor"});
  EXPECT_EQ(wrong.exit_code, 64) << wrong.out;
}

TEST_F(CliOperatorsTest, TopPrintsItsTableOnceWhenNobodyCanType) {
  Hold("jobs/b", "40s");
  Hold("jobs/a", "50s");
  const auto waiter = Start({"acquire", "jobs/b", "--wait", "1m"});
  ASSERT_TRUE(WaitForWaiters("jobs/b", 1));

  const CliResult text = Run({"top"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::MatchesRegex("LOCK +HOLDER +STATE +AGE +LEFT +LINE\n"
                                              "jobs/a .*@.* held +[0-9]+s +[0-9]+s +-\n"
                                              "jobs/b .*@.* held +[0-9]+s +[0-9]+s +1\n"));

  const Json by_line(RunJson({"top", "--sort", "line"}));
  ASSERT_EQ(by_line.ItemsOf("locks"), 2);
  EXPECT_EQ(by_line.Item("locks", 0).Text("name"), "jobs/b");
  EXPECT_TRUE(by_line.Item("locks", 0).Has("age_ms"));
  const Json filtered(RunJson({"top", "--once", "--filter", "/a", "--prefix", "jobs"}));
  ASSERT_EQ(filtered.ItemsOf("locks"), 1);
  EXPECT_EQ(filtered.Item("locks", 0).Text("name"), "jobs/a");
  EXPECT_EQ(Run({"top", "--sort", "colour"}).exit_code, 64);
}

TEST_F(CliOperatorsTest, DrainEndsTheDaemonAsSigtermDoes) {
  const std::string id = Hold("report");

  const CliResult drained = RunJson({"drain", "--reason", "new kernel", "--wait"});

  EXPECT_EQ(drained.exit_code, 0) << drained.out << drained.err;
  EXPECT_EQ(Json(drained).Text("outcome"), "gone");
  EXPECT_TRUE(Json(drained).Flag("started"));
  EXPECT_EQ(daemon_->ExitCode(), 0);
  EXPECT_THAT(daemon_->Stderr(),
              AllOf(HasSubstr("event=audit.drain "), HasSubstr("audit_reason=\"new kernel\""),
                    HasSubstr("event=daemon.draining "), HasSubstr("event=daemon.drained ")));

  daemon_ = StartDaemon();
  EXPECT_EQ(Run({"release", "report", id}).exit_code, 0) << "its leases go on";
}

// systemd sends SIGTERM when it is told to stop a daemon that drains already.
TEST_F(CliOperatorsTest, SigtermDuringADrainByAnAdministratorDoesNotCutItShort) {
  Hold("report");
  redis_.Pause();  // What is under way takes its time.
  const auto reader = Start({"get", "report"});
  EXPECT_EQ(Json(RunJson({"drain", "--reason", "new kernel"})).Text("outcome"), "draining");
  daemon_->WaitForLog("event=daemon.draining ");

  daemon_->Signal(SIGTERM);
  redis_.Resume();

  EXPECT_EQ(daemon_->ExitCode(), 0);
  EXPECT_THAT(daemon_->Stderr(), testing::Not(HasSubstr("event=daemon.stopped_at_once ")));
}

// A terminal on which a shell runs top, and then shows how it left the terminal.
class CliTopTest : public CliDaemonTest {
 protected:
  void Start() {
    const std::string top = "echo pid $$; exec " LOCKKEEPER_PROGRAM " top";
    terminal_.emplace(
        Words{"/bin/sh", "-c", "trap : INT; sh -c '" + top + "'; echo status=$?.; stty -a"},
        std::vector<std::pair<std::string, std::string>>{
            {"LOCKKEEPER_SERVER", daemon_->GrpcAddress()}});
    pid_ = terminal_->NumberAfter("pid");
    ASSERT_TRUE(terminal_->WaitFor("\x1b[?1049h")) << terminal_->screen();
    ASSERT_TRUE(terminal_->WaitFor("jobs/a")) << terminal_->screen();
  }

  void ExpectEndWith(int status) {
    EXPECT_TRUE(terminal_->WaitFor("\x1b[?25h\x1b[?1049l")) << terminal_->screen();
    EXPECT_TRUE(terminal_->WaitFor("status=" + std::to_string(status) + "."))
        << terminal_->screen();
    EXPECT_TRUE(terminal_->WaitFor(" icanon")) << terminal_->screen();
    EXPECT_TRUE(terminal_->WaitFor(" echo ")) << terminal_->screen();
  }

  const std::string id_ = Hold("jobs/a");
  std::optional<support::TerminalSession> terminal_;
  pid_t pid_ = 0;
};

TEST_F(CliTopTest, ShowsTheLocksUntilItIsQuit) {
  Start();
  EXPECT_TRUE(terminal_->WaitFor("q quit"));

  terminal_->Type("/zz");
  EXPECT_TRUE(terminal_->WaitFor("filter: zz_")) << terminal_->screen();
  terminal_->Type("\r");
  EXPECT_TRUE(terminal_->WaitFor("0 of 1 lock, filter `zz`")) << terminal_->screen();
  terminal_->Type("q");

  ExpectEndWith(0);
}

TEST_F(CliTopTest, HighlightsTheSelectedLockAndShowsItsWholeName) {
  const std::string name = "jobs/b/" + std::string(60, 'n') + "/end";
  Hold(name);
  Start();
  EXPECT_TRUE(terminal_->WaitFor("\x1b[7mjobs/a ")) << terminal_->screen();
  EXPECT_TRUE(terminal_->WaitFor("\nLOCK    jobs/a\x1b")) << terminal_->screen();

  terminal_->Type("\x1b[B");

  EXPECT_TRUE(terminal_->WaitFor("\x1b[7mjobs/b/nn~nnnnn/end ")) << terminal_->screen();
  EXPECT_TRUE(terminal_->WaitFor("\nLOCK    " + name + "\x1b")) << terminal_->screen();
  EXPECT_TRUE(terminal_->WaitFor("\nHOLDER  ")) << terminal_->screen();
  terminal_->Type("q");
  ExpectEndWith(0);
}

TEST_F(CliTopTest, ShowsHowOftenALockIsGranted) {
  Start();
  std::string id = Hold("jobs/b");
  EXPECT_TRUE(support::WaitUntil([&] {
    EXPECT_EQ(Run({"release", "jobs/b", id}).exit_code, 0);
    id = Hold("jobs/b");
    terminal_->Type(" ");
    EXPECT_TRUE(terminal_->WaitFor("/ filter"));
    return std::regex_search(terminal_->screen(), std::regex("jobs/b.* [0-9]*[1-9][.0-9]*/s"));
  })) << terminal_->screen();
  EXPECT_TRUE(std::regex_search(terminal_->screen(), std::regex("jobs/a.* 0[.]0/s")))
      << "jobs/a was held before: " << terminal_->screen();
  terminal_->Type("q");
  ExpectEndWith(0);
}

TEST_F(CliTopTest, SaysWhyThereAreNoRates) {
  const auto stub = admin::v1::AdminService::NewStub(
      grpc::CreateChannel(daemon_->GrpcAddress(), grpc::InsecureChannelCredentials()));
  std::deque<grpc::ClientContext> calls;
  std::vector<std::unique_ptr<grpc::ClientReader<admin::v1::WatchLocksResponse>>> watches;
  for (size_t i = 0; i < core::limits::kWatchesPerPrincipalMax; ++i) {
    watches.push_back(stub->WatchLocks(&calls.emplace_back(), admin::v1::WatchLocksRequest()));
    admin::v1::WatchLocksResponse started;
    ASSERT_TRUE(watches.back()->Read(&started));
  }

  Start();

  EXPECT_TRUE(terminal_->WaitFor("1 lock; no rates: ")) << terminal_->screen();
  terminal_->Type("q");
  ExpectEndWith(0);
  for (grpc::ClientContext& call : calls) call.TryCancel();
}

TEST_F(CliTopTest, GivesTheTerminalBackOnSignals) {
  Start();
  terminal_->Type("\x03");
  ExpectEndWith(0);

  Start();
  kill(pid_, SIGTERM);
  ExpectEndWith(128 + SIGTERM);
}

TEST_F(CliTopTest, EndsWhileTheDaemonDoesNotAnswer) {
  Start();
  daemon_->Pause();
  terminal_->Type(" ");  // It asks, and gets no answer.
  terminal_->Type("q");
  ExpectEndWith(0);
  daemon_->Resume();
}

TEST_F(CliTopTest, SaysWhyThereIsNothingNew) {
  Start();
  daemon_->Signal(SIGKILL);
  terminal_->Type(" ");
  EXPECT_TRUE(terminal_->WaitFor("cannot reach ")) << terminal_->screen();
  terminal_->Type("q");
  ExpectEndWith(0);
}

// --- watch ------------------------------------------------------------------------------------

TEST_F(CliOperatorsTest, WatchPrintsEventsAsTheyHappen) {
  const auto watch = Start({"watch", "--prefix", "n", "--count", "3"});
  ASSERT_TRUE(watch->WaitForOutput("started"));
  const std::string id = Hold("n1");
  Hold("other");
  ASSERT_TRUE(watch->WaitForOutput("granted"));
  ASSERT_EQ(Run({"release", "n1", id}).exit_code, 0);

  const CliResult result = watch->Wait();

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::MatchesRegex(
                              ".*Z  started\n.*Z  granted  n1  token [0-9]+  owner .*  for 1m\n"
                              ".*Z  released  n1  token [0-9]+  owner .*\n"));
}

TEST_F(CliOperatorsTest, WatchPrintsAnObjectForEachEvent) {
  const auto watch = Start({"--output", "json", "watch", "n", "--event", "released", "--event",
                            "started", "--count", "2"});
  ASSERT_TRUE(watch->WaitForOutput("started"));
  ASSERT_EQ(Run({"release", "n", Hold("n")}).exit_code, 0);

  CliResult result = watch->Wait();

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json(result).Text("outcome"), "ended");
  result.out.erase(result.out.rfind("{\"outcome\""));
  const Json released(result);
  EXPECT_EQ(released.Text("event"), "released");
  EXPECT_EQ(released.Text("name"), "n");
  EXPECT_GT(released.Number("fencing_token"), 0);
  EXPECT_THAT(result.out, testing::Not(HasSubstr("granted")));
}

TEST_F(CliOperatorsTest, WatchEndsBySignals) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 0), std::pair(SIGTERM, 128 + SIGTERM)}) {
    const auto watch = Start({"watch"});
    ASSERT_TRUE(watch->WaitForOutput("started"));
    watch->Signal(signal);
    EXPECT_EQ(watch->Wait().exit_code, code);
  }
}

TEST_F(CliOperatorsTest, WatchGoesOnWithAGapWhenItsDaemonComesBack) {
  const support::TemporaryDirectory directory;
  const std::string address = "unix:" + directory.Path("grpc.sock");
  const auto start = [&] {
    auto daemon = std::make_unique<support::DaemonProcess>(
        support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                                      .arguments = {"--redis", redis_.unix_url(), "--listen",
                                                    address, "--http-listen", "127.0.0.1:0"}});
    daemon->WaitUntilReady();
    return daemon;
  };
  auto daemon = start();
  support::CliProcess watch(LOCKKEEPER_PROGRAM, address, {"watch", "n"});
  ASSERT_TRUE(watch.WaitForOutput("started"));
  daemon->Signal(SIGKILL);
  daemon->WaitForEnd();
  daemon = start();
  ASSERT_TRUE(watch.WaitForOutput("gap  connection_lost"));
  Hold("n");
  EXPECT_TRUE(watch.WaitForOutput("granted  n"));
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.Wait().exit_code, 0);
}

TEST_F(CliOperatorsTest, WatchThatCannotWriteEndsWith74WithItsLastEventToo) {
  for (const std::string options : {"", "--count 1", "--output json --count 1"}) {
    const CliResult result =
        support::RunCli("/bin/sh", daemon_->GrpcAddress(),
                        {"-c", "exec '" LOCKKEEPER_PROGRAM "' watch " + options + " >/dev/full"});

    EXPECT_EQ(result.exit_code, 74) << options;
    EXPECT_THAT(result.err, HasSubstr("lockkeeper: cannot write to standard output")) << options;
  }
}

TEST_F(CliOperatorsTest, WatchSaysWhatIsWrong) {
  const CliResult both = Run({"watch", "n", "--prefix", "m"});
  EXPECT_EQ(both.exit_code, 64);
  EXPECT_THAT(both.err, HasSubstr("--prefix"));
  const CliResult kind = Run({"watch", "--event", "freed"});
  EXPECT_EQ(kind.exit_code, 64);
  EXPECT_THAT(kind.err, HasSubstr("freed"));
  EXPECT_EQ(Run({"--output", "shell", "watch"}).exit_code, 64);
  EXPECT_EQ(Run({"watch", "a{b}"}).exit_code, 65);
  EXPECT_EQ(
      support::RunCli(LOCKKEEPER_PROGRAM, "unix:/nowhere", {"--timeout", "1s", "watch"}).exit_code,
      69);
}

}  // namespace
}  // namespace lockkeeper
