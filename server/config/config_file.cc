// SPDX-License-Identifier: Apache-2.0
#include "config/config_file.h"

#include "config/settings.h"
#include "config/yaml_reader.h"
#include "os/read_file.h"
#include "text/problem.h"

namespace lockkeeper::config {
namespace {

// Such a file has a few KiB; a larger one must be something else. os::FileSet has the same.
constexpr size_t kFileBytesMax = 1 << 20;

// Walks the two levels of the document: sections and their settings.
class ConfigReader {
 public:
  explicit ConfigReader(const std::string& path) : yaml_(path) {}

  FileContents Parse(std::string_view text) {
    contents_.text = text;
    yaml_.Read(text, [this](const YAML::Node& document) { ReadDocument(document); });
    return Finish();
  }

 private:
  void ReadDocument(const YAML::Node& document) {
    if (!document.IsDefined() || document.IsNull()) return;  // Nothing but comments.
    if (!document.IsMap()) {
      return yaml_.Reject(document, "must consist of sections such as \"server:\"");
    }
    yaml_.ReadMap(document, "",
                  [this](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
                    ReadSection(name, key, value);
                  });
  }

  FileContents Finish() {
    contents_.problems = yaml_.TakeProblems();
    return std::move(contents_);
  }

  void ReadSection(const std::string& name, const YAML::Node& key, const YAML::Node& section) {
    if (!IsSection(name)) {
      yaml_.Reject(key, "unknown section " + text::Quoted(name) + SuggestSection(name));
      return;
    }
    if (section.IsNull()) return;  // All its settings are commented out.
    if (!section.IsMap()) {
      yaml_.Reject(key, name + ": is a section; its settings stand indented below it");
      return;
    }
    yaml_.ReadMap(
        section, name + ".",
        [&](const std::string& setting, const YAML::Node& setting_key, const YAML::Node& value) {
          ReadSetting(name + "." + setting, setting_key, value);
        });
  }

  void ReadSetting(const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
    const int line = YamlReader::LineOf(key_node);
    const Setting* setting = FindByKey(key);
    if (setting == nullptr) {
      yaml_.Reject(line, "unknown key " + text::Quoted(key) + SuggestKey(key));
      return;
    }
    RawValue raw;
    if (value.IsScalar()) {
      raw = {.shape = RawValue::Shape::kText, .texts = {value.Scalar()}};
    } else if (value.IsSequence()) {
      raw.shape = RawValue::Shape::kList;
      for (const YAML::Node& item : value) {
        if (!item.IsScalar()) {
          yaml_.Reject(item, key + ": each entry must be a text");
          return;
        }
        raw.texts.push_back(item.Scalar());
      }
    } else {
      yaml_.Reject(line,
                   key + (value.IsNull() ? ": has no value; leave the line out for the default"
                                         : ": must be a value, is a section"));
      return;
    }
    contents_.values.push_back({.setting = setting, .value = std::move(raw), .line = line});
  }

  YamlReader yaml_;
  FileContents contents_;
};

}  // namespace

FileContents ParseConfigText(std::string_view text, const std::string& path) {
  return ConfigReader(path).Parse(text);
}

FileContents ReadConfigFile(const std::string& path) {
  std::string text;
  if (const text::Problem problem = os::ReadFile(path, kFileBytesMax, text)) {
    return {.text = {}, .values = {}, .problems = {path + ": " + *problem}};
  }
  return ParseConfigText(text, path);
}

}  // namespace lockkeeper::config
