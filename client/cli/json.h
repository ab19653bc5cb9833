// SPDX-License-Identifier: Apache-2.0
//
// The output of the command line for programs, as JSON or as shell variables. It only writes.
// text/escape does the hard part; a JSON library would save fifty lines and cost each source file a
// second of compiling.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::cli {

// Keeps members in the order in which they were set. Thread-safety: thread-compatible.
class JsonObject {
 public:
  JsonObject& Set(std::string_view key, std::string_view value);
  JsonObject& Set(std::string_view key, const char* value) {
    return Set(key, std::string_view(value));
  }
  JsonObject& Set(std::string_view key, bool value) {
    return SetRaw(key, value ? "true" : "false");
  }
  JsonObject& Set(std::string_view key, std::integral auto value) {
    return SetRaw(key, std::to_string(value));
  }
  JsonObject& Set(std::string_view key, const JsonObject& value) {
    return SetRaw(key, value.ToString());
  }
  JsonObject& Set(std::string_view key, const std::vector<JsonObject>& values);
  JsonObject& Set(std::string_view key, const std::vector<std::string>& values);

  // One line, without a line break at the end.
  std::string ToString() const;

  // One assignment for each member, to be evaluated by a POSIX shell: LOCKKEEPER_LEASE_ID='...' for
  // `lease_id`. Objects and lists have their JSON text.
  std::string ToShell() const;

 private:
  struct Member {
    std::string key;
    std::string json;
    std::string plain;
  };

  JsonObject& SetRaw(std::string_view key, const std::string& value) {
    return SetRaw(key, value, value);
  }
  JsonObject& SetRaw(std::string_view key, std::string json, std::string plain);

  std::vector<Member> members_;
};

}  // namespace lockkeeper::cli
