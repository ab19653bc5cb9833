// SPDX-License-Identifier: Apache-2.0
#include "config/config_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

#include "config/settings.h"
#include "os/read_file.h"

namespace lockkeeper::config {
namespace {

// A configuration has a few KiB; a larger file must be something else.
constexpr size_t kFileBytesMax = 1 << 20;

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

// Counts the documents, and ignores everything else.
class DocumentCounter : public YAML::EventHandler {
 public:
  int documents() const { return documents_; }
  int last_line() const { return last_line_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents_;
    last_line_ = mark.line + 1;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int documents_ = 0;
  int last_line_ = 0;
};

// The line on which a second document begins; 0 if there is none. (Not YAML::LoadAll: with some
// stray characters after a document it finds empty documents for ever.)
int SecondDocumentLine(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  while (counter.documents() < 2 && parser.HandleNextDocument(counter)) {
  }
  return counter.documents() < 2 ? 0 : counter.last_line();
}

// Walks the two levels of the document: sections and their settings.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  void ReadDocument(const YAML::Node& document) {
    if (!document.IsDefined() || document.IsNull()) return;  // Nothing but comments.
    if (!document.IsMap()) {
      Refuse(LineOf(document), "must consist of sections such as \"server:\"");
      return;
    }
    ReadMap(document, "",
            [this](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
              ReadSection(name, key, value);
            });
  }

  FileContents Finish() { return std::move(contents_); }

  void Refuse(int line, const std::string& problem) {
    contents_.problems.push_back(path_ + ":" + std::to_string(line) + ": " + problem);
  }

 private:
  // Calls `entry` for each key of `map` that is a word and not a duplicate.
  template <typename Entry>
  void ReadMap(const YAML::Node& map, const std::string& prefix, Entry entry) {
    std::map<std::string, int> lines;
    for (const auto& pair : map) {
      const int line = LineOf(pair.first);
      if (!pair.first.IsScalar()) {
        Refuse(line, "a key must be a word");
        continue;
      }
      const std::string& name = pair.first.Scalar();
      const auto [first, is_new] = lines.emplace(name, line);
      if (!is_new) {
        Refuse(line,
               prefix + name + ": given twice, first in line " + std::to_string(first->second));
        continue;
      }
      entry(name, pair.first, pair.second);
    }
  }

  void ReadSection(const std::string& name, const YAML::Node& key, const YAML::Node& section) {
    if (!IsSection(name)) {
      Refuse(LineOf(key), "unknown section " + text::Quoted(name) + SuggestSection(name));
      return;
    }
    if (section.IsNull()) return;  // All its settings are commented out.
    if (!section.IsMap()) {
      Refuse(LineOf(key), name + ": is a section; its settings stand indented below it");
      return;
    }
    ReadMap(
        section, name + ".",
        [&](const std::string& setting, const YAML::Node& setting_key, const YAML::Node& value) {
          ReadSetting(name + "." + setting, setting_key, value);
        });
  }

  void ReadSetting(const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
    const int line = LineOf(key_node);
    const Setting* setting = FindByKey(key);
    if (setting == nullptr) {
      Refuse(line, "unknown key " + text::Quoted(key) + SuggestKey(key));
      return;
    }
    RawValue raw;
    if (value.IsScalar()) {
      raw = {.shape = RawValue::Shape::kText, .texts = {value.Scalar()}};
    } else if (value.IsSequence()) {
      raw.shape = RawValue::Shape::kList;
      for (const YAML::Node& item : value) {
        if (!item.IsScalar()) {
          Refuse(LineOf(item), key + ": each entry must be a text");
          return;
        }
        raw.texts.push_back(item.Scalar());
      }
    } else {
      Refuse(line, key + (value.IsNull() ? ": has no value; leave the line out for the default"
                                         : ": must be a value, is a section"));
      return;
    }
    contents_.values.push_back({.setting = setting, .value = std::move(raw), .line = line});
  }

  const std::string& path_;
  FileContents contents_;
};

}  // namespace

FileContents ParseConfigText(std::string_view text, const std::string& path) {
  Reader reader(path);
  try {
    const std::string document(text);
    if (const int line = SecondDocumentLine(document); line != 0) {
      reader.Refuse(line, "a second document begins here; there must be one");
    } else {
      reader.ReadDocument(YAML::Load(document));
    }
  } catch (const YAML::Exception& exception) {
    reader.Refuse(exception.mark.line + 1, "is not valid YAML: " + exception.msg);
  }
  return reader.Finish();
}

FileContents ReadConfigFile(const std::string& path) {
  std::string text;
  if (text::Problem problem = os::ReadFile(path, kFileBytesMax, text)) {
    return {.problems = {path + ": " + *problem}};
  }
  return ParseConfigText(text, path);
}

}  // namespace lockkeeper::config
