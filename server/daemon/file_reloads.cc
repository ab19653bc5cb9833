// SPDX-License-Identifier: Apache-2.0
#include "daemon/file_reloads.h"

#include <utility>

#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {

namespace field = telemetry::field;

namespace {

void AuditReload(audit::Trail& trail, const std::string& what, const text::Problem& problem) {
  audit::Record record{.verb = "reload",
                       .outcome = problem ? telemetry::Outcome::kError : telemetry::Outcome::kDone};
  record.details.emplace_back("files", what);
  if (problem) record.details.emplace_back("problem", *problem);
  trail.Put(std::move(record));
}

}  // namespace

os::WatchedFiles::Tell FileReloads::TellerOf(const std::string& what) {
  return [this, logger = logger_, trail = trail_, what, used = metrics_.FileReloads(what, "used"),
          refused = metrics_.FileReloads(what, "refused"),
          is_refused = metrics_.FilesRefused(what)](const text::Problem& problem) {
    is_refused.Set(problem ? 1 : 0);
    Remember(what, problem);
    if (trail != nullptr) AuditReload(*trail, what, problem);
    if (problem) {
      refused.Increment();
      logger.Error("files.refused",
                   "Changed files cannot be used; what was read before stays in use",
                   {field::Files(what), field::Problem(*problem)});
    } else {
      used.Increment();
      logger.Info("files.reloaded", "The files are in use as they are now", {field::Files(what)});
    }
  };
}

void FileReloads::Remember(const std::string& what, const text::Problem& problem) {
  const std::lock_guard lock(mutex_);
  refused_.erase(what);
  if (problem) refused_.emplace(what, *problem);
}

std::map<std::string, std::string> FileReloads::Refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void FileReloads::Add(const std::string& what, os::FileSet files, os::Contents in_use,
                      os::WatchedFiles::Take take) {
  sets_.emplace_back(std::move(files), std::move(in_use), std::move(take), TellerOf(what));
}

void FileReloads::Add(const std::string& what, os::WatchedFiles::Read read, os::Contents in_use,
                      os::WatchedFiles::Take take) {
  sets_.emplace_back(std::move(read), std::move(in_use), std::move(take), TellerOf(what));
}

void FileReloads::LookNow() {
  if (watch_) watch_->LookNow();
}

void FileReloads::Start() {
  if (!sets_.empty()) watch_.emplace(std::move(sets_));
}

}  // namespace lockkeeper::daemon
