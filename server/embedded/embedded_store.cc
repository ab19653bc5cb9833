// SPDX-License-Identifier: Apache-2.0
#include "embedded/embedded_store.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/errors.h"
#include "embedded/data_directory.h"
#include "embedded/server_log.h"
#include "embedded/server_process.h"
#include "embedded/server_program.h"
#include "text/duration.h"

namespace lockkeeper::embedded {
namespace {

using core::Millis;

constexpr Millis kAskInterval{10};
// After this time a start counts as successful, and the restart pause is reset.
constexpr Millis kProvenAfter{10'000};
constexpr Millis kNoLimit{-1};

absl::Status StartError(const std::string& what) {
  return core::Error(core::ErrorReason::kStoreUnavailable, what);
}

}  // namespace

// Owns the thread that starts the server and waits on it. It is one thread for the whole life of
// the store because the kernel kills the server when the thread that started it ends.
class EmbeddedStore::Supervisor {
 public:
  Supervisor(const EmbeddedStoreOptions& options, DataDirectory directory, std::string program,
             EmbeddedListener listener);
  ~Supervisor() { Stop(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Waits for the first start and returns its result.
  absl::Status AwaitFirstStart() { return first_start_.get_future().get(); }
  void Stop();

  const std::string& url() const { return url_; }

 private:
  void Run();
  absl::Status WriteSettings() const;
  absl::StatusOr<ServerProcess> StartServer();
  absl::Status AwaitAnswer(ServerProcess& server);
  // What to do after the server has ended.
  enum class Next { kRestart, kStop };
  Next WatchServer(ServerProcess& server);
  Next PauseBeforeRestart();
  std::string WithLastWords(const std::string& what) const;
  void Tell(EmbeddedEvent::Kind kind, std::string text);

  const EmbeddedStoreOptions options_;
  const DataDirectory directory_;
  const std::string program_;
  const std::string url_;
  EmbeddedListener listener_;
  ServerLog log_;
  const os::Descriptor stop_;  // Readable once the store must stop.
  Millis restart_pause_;
  std::promise<absl::Status> first_start_;
  std::once_flag stopped_;
  std::thread thread_;
};

EmbeddedStore::Supervisor::Supervisor(const EmbeddedStoreOptions& options, DataDirectory directory,
                                      std::string program, EmbeddedListener listener)
    : options_(options),
      directory_(std::move(directory)),
      program_(std::move(program)),
      url_(SocketUrl(directory_.socket_path())),
      listener_(std::move(listener)),
      log_(directory_.Path("redis.log")),
      stop_(eventfd(0, EFD_CLOEXEC)),
      restart_pause_(options.restart_pause_first) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void EmbeddedStore::Supervisor::Stop() {
  std::call_once(stopped_, [this] {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  });
}

void EmbeddedStore::Supervisor::Run() {
  pthread_setname_np(pthread_self(), "embedded-store");
  bool first = true;
  for (;;) {
    absl::StatusOr<ServerProcess> server = StartServer();
    if (first) first_start_.set_value(server.status());
    if (!server.ok() && first) return;
    first = false;
    if (server.ok() && WatchServer(*server) == Next::kStop) return;
    if (!server.ok()) {
      Tell(EmbeddedEvent::Kind::kStartFailed, std::string(server.status().message()));
    }
    if (PauseBeforeRestart() == Next::kStop) return;
  }
}

absl::Status EmbeddedStore::Supervisor::WriteSettings() const {
  const std::string path = directory_.Path("redis.conf");
  const std::string text = ServerSettings(directory_.path(), directory_.socket_path());
  const os::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.get() >= 0 &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return StartError("cannot write " + path + ": " + std::generic_category().message(errno));
}

absl::StatusOr<ServerProcess> EmbeddedStore::Supervisor::StartServer() {
  if (absl::Status status = WriteSettings(); !status.ok()) return status;
  unlink(directory_.socket_path().c_str());  // Left by a server that was killed.
  log_.BeginRun();
  absl::StatusOr<ServerProcess> server =
      ServerProcess::Start({.program = program_,
                            .settings_file = directory_.Path("redis.conf"),
                            .working_directory = directory_.path(),
                            .log_file = log_.path(),
                            .socket_path = directory_.socket_path(),
                            .inherited_descriptor = directory_.lock_descriptor()});
  if (!server.ok()) return server;
  if (absl::Status status = AwaitAnswer(*server); !status.ok()) return status;
  Tell(EmbeddedEvent::Kind::kStarted,
       program_ + " runs with process id " + std::to_string(server->pid()));
  return server;
}

absl::Status EmbeddedStore::Supervisor::AwaitAnswer(ServerProcess& server) {
  auto answer = ServerProcess::Answer::kNone;
  for (Millis waited{0}; waited < options_.start_patience; waited += kAskInterval) {
    const auto event = server.Wait(stop_.get(), kAskInterval);
    if (event == ServerProcess::Event::kInterrupted) return absl::OkStatus();  // To be stopped.
    if (event == ServerProcess::Event::kEnded) {
      return StartError(WithLastWords(program_ + " " + server.HowItEnded()));
    }
    answer = server.Ping();
    if (answer == ServerProcess::Answer::kReady) return absl::OkStatus();
  }
  if (answer == ServerProcess::Answer::kLoading) return absl::OkStatus();
  return StartError(WithLastWords(program_ + " does not answer within " +
                                  text::InWords(options_.start_patience)));
}

EmbeddedStore::Supervisor::Next EmbeddedStore::Supervisor::WatchServer(ServerProcess& server) {
  auto event = server.Wait(stop_.get(), kProvenAfter);
  if (event == ServerProcess::Event::kTimeOver) {
    restart_pause_ = options_.restart_pause_first;
    event = server.Wait(stop_.get(), kNoLimit);
  }
  if (event == ServerProcess::Event::kInterrupted) {
    server.Stop(options_.stop_patience);
    return Next::kStop;
  }
  Tell(EmbeddedEvent::Kind::kEnded, WithLastWords(program_ + " " + server.HowItEnded()));
  return Next::kRestart;
}

EmbeddedStore::Supervisor::Next EmbeddedStore::Supervisor::PauseBeforeRestart() {
  pollfd stop{stop_.get(), POLLIN, 0};
  const int count = poll(&stop, 1, static_cast<int>(restart_pause_.count()));
  restart_pause_ = std::min(restart_pause_ * 2, options_.restart_pause_max);
  return count > 0 ? Next::kStop : Next::kRestart;
}

std::string EmbeddedStore::Supervisor::WithLastWords(const std::string& what) const {
  const std::string tail = log_.Tail();
  return tail.empty() ? what : what + "; its last output (" + log_.path() + "):\n" + tail;
}

void EmbeddedStore::Supervisor::Tell(EmbeddedEvent::Kind kind, std::string text) {
  if (listener_) listener_({kind, std::move(text)});
}

absl::StatusOr<std::unique_ptr<EmbeddedStore>> EmbeddedStore::Start(
    const EmbeddedStoreOptions& options, EmbeddedListener listener) {
  const char* search_path = std::getenv("PATH");
  absl::StatusOr<std::string> program =
      FindServerProgram(options.program, search_path == nullptr ? "" : search_path);
  if (!program.ok()) return program.status();
  absl::StatusOr<DataDirectory> directory = DataDirectory::Open(
      options.data_directory, options.lock_patience, [&](const std::string& holder) {
        if (!listener) return;
        listener({EmbeddedEvent::Kind::kWaiting,
                  "process " + holder + " has " + options.data_directory + " locked; waiting " +
                      text::InWords(options.lock_patience) + " for it to end"});
      });
  if (!directory.ok()) return directory.status();
  absl::StatusOr<DataHome> home = LookAtHome(directory->path());
  if (!home.ok()) return home.status();
  auto supervisor = std::make_unique<Supervisor>(options, *std::move(directory),
                                                 *std::move(program), std::move(listener));
  if (absl::Status status = supervisor->AwaitFirstStart(); !status.ok()) return status;
  return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(*std::move(home), std::move(supervisor)));
}

EmbeddedStore::EmbeddedStore(DataHome home, std::unique_ptr<Supervisor> supervisor)
    : home_(std::move(home)), supervisor_(std::move(supervisor)) {}

EmbeddedStore::~EmbeddedStore() = default;

const std::string& EmbeddedStore::url() const { return supervisor_->url(); }

void EmbeddedStore::Stop() { supervisor_->Stop(); }

}  // namespace lockkeeper::embedded
