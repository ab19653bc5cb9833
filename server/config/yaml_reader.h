// SPDX-License-Identifier: Apache-2.0
//
// Walks a YAML document and collects what is wrong with it, each problem with "file:line: " before
// it. For the configuration and for the files that it names.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

namespace lockkeeper::config {

// Thread-safety: thread-compatible.
class YamlReader {
 public:
  // `path` appears in the problems.
  explicit YamlReader(std::string path) : path_(std::move(path)) {}

  // Calls `read` with the only document of `text`, which may be null. Text that is not valid YAML,
  // or has a second document, is a problem.
  void Read(std::string_view text, absl::FunctionRef<void(const YAML::Node&)> read);

  // Calls `entry` with the key's text, the key and the value of each entry of `map`. A key that is
  // not a word, or that is a duplicate, is a problem; `prefix` stands before its name.
  using Entry = absl::FunctionRef<void(const std::string& name, const YAML::Node& key,
                                       const YAML::Node& value)>;
  void ReadMap(const YAML::Node& map, const std::string& prefix, Entry entry);

  // The same for a value that must be a map. `what` names it in the problem.
  void ReadMapOf(const YAML::Node& value, const std::string& what, Entry entry);

  // The text of a scalar, or nothing and a problem. `what` names it in the problem.
  std::optional<std::string> ReadText(const YAML::Node& value, const std::string& what);

  // The texts of a list, or of a scalar as a list of one. Texts that cannot be read are problems.
  std::vector<std::string> ReadTexts(const YAML::Node& value, const std::string& what);

  // Adds a problem at the line of `where`. It may have texts of the file as they are.
  void Reject(const YAML::Node& where, const std::string& problem);
  void Reject(int line, const std::string& problem);

  // "file:line: " and `note`, with what is in the way of one line escaped.
  std::string NoteAt(int line, const std::string& note) const;

  std::vector<std::string> TakeProblems() { return std::move(problems_); }

  // From 1.
  static int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

 private:
  const std::string path_;
  std::vector<std::string> problems_;
};

}  // namespace lockkeeper::config
