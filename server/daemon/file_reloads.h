// SPDX-License-Identifier: Apache-2.0
//
// The files that the daemon reads again while it runs. Each change is logged, counted and audited,
// whether the new contents can be used or not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "audit/trail.h"
#include "os/file_watch.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "text/problem.h"

namespace lockkeeper::daemon {

// Thread-safety: thread-compatible, but for Refused(). Lifetime: borrows the metrics, the logger's
// log and the trail.
class FileReloads {
 public:
  // `trail`: null if no audit trail is kept.
  FileReloads(telemetry::Metrics& metrics, telemetry::Logger logger, audit::Trail* trail)
      : metrics_(metrics), logger_(logger), trail_(trail) {}

  // `what` names the files in log and metrics: "server_tls". `in_use` is what was read at the
  // start, by os::ReadTogether. `take` runs on the thread of the watch; see os::WatchedFiles.
  // Requires: not started.
  void Add(const std::string& what, os::FileSet files, os::Contents in_use,
           os::WatchedFiles::Take take);
  // The same for files of which one names others: `read` finds out which.
  void Add(const std::string& what, os::WatchedFiles::Read read, os::Contents in_use,
           os::WatchedFiles::Take take);

  // The same for credentials that know their files: a tls::ServerIdentity, a redis::TlsContext or a
  // redis::PasswordFile.
  // Calls `tell` now, and after each change.
  template <typename Credentials>
  void AddCredentials(const std::string& what, const std::shared_ptr<Credentials>& credentials,
                      const std::function<void()>& tell) {
    tell();
    Add(what, credentials->files(), credentials->contents(),
        [credentials, tell](const os::Contents& contents) {
          text::Problem problem = credentials->Take(contents);
          if (!problem) tell();
          return problem;
        });
  }

  // Watches the files from now on, until Stop().
  void Start();

  // Looks at all files at once; those that still cannot be used are told again. Thread-safety:
  // thread-safe between Start() and Stop().
  void LookNow();

  // Waits for a look that has begun; then nothing is taken any more.
  void Stop() { watch_.reset(); }

  // What has changed and cannot be used, with its problem. Thread-safety: thread-safe.
  std::map<std::string, std::string> Refused() const;

 private:
  os::WatchedFiles::Tell TellerOf(const std::string& what);
  void Remember(const std::string& what, const text::Problem& problem);

  telemetry::Metrics& metrics_;
  const telemetry::Logger logger_;
  audit::Trail* const trail_;
  mutable std::mutex mutex_;                    // Guards the next one.
  std::map<std::string, std::string> refused_;  // Problems, by what they are in.
  std::vector<os::WatchedFiles> sets_;
  std::optional<os::FileWatch> watch_;
};

}  // namespace lockkeeper::daemon
