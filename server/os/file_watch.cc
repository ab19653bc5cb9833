// SPDX-License-Identifier: Apache-2.0
#include "os/file_watch.h"

#include <pthread.h>

#include <utility>

#include "os/read_file.h"

namespace lockkeeper::os {
namespace {

// More often they do not change between two reads, unless somebody writes all the time.
constexpr int kReadsMax = 5;

text::Problem ReadEach(const FileSet& set, Contents& contents) {
  contents.clear();
  for (const NamedFile& file : set.files) {
    std::string& text = contents.emplace_back();
    if (file.path.empty()) continue;
    if (const text::Problem problem = ReadFile(file.path, set.bytes_max, text)) {
      return file.name + ": \"" + file.path + "\" " + *problem;
    }
  }
  return std::nullopt;
}

}  // namespace

text::Problem ReadTogether(const FileSet& set, Contents& contents) {
  Contents first;
  if (text::Problem problem = ReadEach(set, first)) return problem;
  for (int i = 1; i < kReadsMax; ++i) {
    Contents second;
    if (text::Problem problem = ReadEach(set, second)) return problem;
    if (first == second) {
      contents = std::move(first);
      return std::nullopt;
    }
    first = std::move(second);
  }
  return set.files.front().name + ": the files change faster than they can be read";
}

void WatchedFiles::Look() {
  Contents contents;
  text::Problem problem = read_(contents);
  if (!problem && contents == in_use_) {
    last_problem_.reset();
    told_ = false;
    if (std::exchange(is_refused_, false)) tell_(std::nullopt);
    return;
  }
  if (!problem) problem = take_(contents);
  if (!problem) in_use_ = std::move(contents);
  Found(problem);
}

void WatchedFiles::Found(const text::Problem& problem) {
  const bool again = problem == last_problem_;
  last_problem_ = problem;
  if (!problem) {
    told_ = is_refused_ = false;
    tell_(problem);
  } else if (!again) {
    told_ = false;
  } else if (!std::exchange(told_, true)) {
    is_refused_ = true;
    tell_(problem);
  }
}

FileWatch::FileWatch(std::vector<WatchedFiles> sets, std::chrono::milliseconds interval)
    : sets_(std::move(sets)), interval_(interval), thread_([this] { Run(); }) {}

FileWatch::~FileWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void FileWatch::LookNow() {
  {
    const std::lock_guard lock(mutex_);
    asked_ = true;
  }
  changed_.notify_one();
}

void FileWatch::Run() {
  pthread_setname_np(pthread_self(), "files");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, interval_, [this] { return stop_ || asked_; });
    if (stop_) return;
    const bool asked = std::exchange(asked_, false);
    // Without the mutex: a look may wait for the loop of the daemon.
    lock.unlock();
    for (WatchedFiles& set : sets_) {
      if (asked) set.TellAgain();
      set.Look();
    }
    lock.lock();
  }
}

}  // namespace lockkeeper::os
