// SPDX-License-Identifier: Apache-2.0
//
// Files that are used again as soon as they change: certificates with their keys, lists of tokens,
// policies. Each file is read once a second and its content compared, because notifications of the
// kernel miss network file systems and a symbolic link that changes further up the path, as in the
// volumes of Kubernetes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "text/problem.h"

namespace lockkeeper::os {

struct NamedFile {
  std::string name;  // For problems: the setting that names the file.
  std::string path;  // Empty: no file, which is read as an empty text.
};

// Files that belong together.
struct FileSet {
  std::vector<NamedFile> files;
  size_t bytes_max = size_t{1} << 20;  // Of each file.
};

// The text of each file, in the order of the set.
using Contents = std::vector<std::string>;

// Reads all files of one version: a version that replaces them meanwhile is read instead, as a
// whole. That holds for a symbolic link to their directory that changes; files that are replaced
// one after the other can only be told apart by what they hold. On a problem, which begins with the
// name and the path of the file, `contents` is not changed.
text::Problem ReadTogether(const FileSet& set, Contents& contents);

// Looks at the files of a set, and has changed ones taken into use.
//
// Thread-safety: not thread-safe.
class WatchedFiles {
 public:
  // Reads what the files hold now; see ReadTogether.
  using Read = std::function<text::Problem(Contents&)>;
  // Takes new contents into use, or says why they cannot be used; then the old ones stay.
  using Take = std::function<text::Problem(const Contents&)>;
  // Changed files were taken into use, or, with a problem, cannot be used. Also of files that were
  // changed back to what is in use, after such a problem.
  using Tell = std::function<void(const text::Problem&)>;

  // `in_use`: what `read` has read and the owner uses already.
  WatchedFiles(Read read, Contents in_use, Take take, Tell tell)
      : read_(std::move(read)),
        in_use_(std::move(in_use)),
        take_(std::move(take)),
        tell_(std::move(tell)) {}
  WatchedFiles(FileSet set, Contents in_use, Take take, Tell tell)
      : WatchedFiles(
            [set = std::move(set)](Contents& contents) { return ReadTogether(set, contents); },
            std::move(in_use), std::move(take), std::move(tell)) {}

  // Reads the files once. Tells of a problem only when two looks in a row have found the same,
  // because files that are replaced one after the other do not fit together for a moment; then it
  // does not tell of it again.
  void Look();

  // The next look that finds a problem again tells of it again.
  void TellAgain() { told_ = false; }

 private:
  void Found(const text::Problem& problem);

  Read read_;
  Contents in_use_;
  Take take_;
  Tell tell_;
  text::Problem last_problem_;
  bool told_ = false;        // Of the last problem.
  bool is_refused_ = false;  // Whoever was told last was told of a problem.
};

// Looks at each set once per interval, on a thread of its own, on which it calls `take` and `tell`.
//
// Thread-safety: thread-compatible.
class FileWatch {
 public:
  explicit FileWatch(std::vector<WatchedFiles> sets,
                     std::chrono::milliseconds interval = std::chrono::seconds(1));
  // Waits for a look that has begun.
  ~FileWatch();
  // Looks at all sets at once, and has problems told again that are still there.
  // Thread-safety: thread-safe.
  void LookNow();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  void Run();

  std::vector<WatchedFiles> sets_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;  // One of the next two.
  bool stop_ = false;                // Guarded by mutex_.
  bool asked_ = false;               // By LookNow(). Guarded by mutex_.
  std::thread thread_;               // Last: it uses all of the above.
};

}  // namespace lockkeeper::os
