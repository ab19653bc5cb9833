// SPDX-License-Identifier: Apache-2.0
//
// JSON objects to print. Writing only, and only what the command line prints: no library is worth
// it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::cli {

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

// Members stay in the order in which they were set. Thread-safety: thread-compatible.
class JsonObject {
 public:
  JsonObject& Set(std::string_view key, std::string_view value) {
    return SetRaw(key, JsonString(value));
  }
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

  // As one line without an end of line.
  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  JsonObject& SetRaw(std::string_view key, std::string_view value);

  std::string members_;
};

}  // namespace lockkeeper::cli
