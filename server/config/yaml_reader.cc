// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>

#include <map>
#include <sstream>

#include "text/escape.h"

namespace lockkeeper::config {
namespace {

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

}  // namespace

void YamlReader::Read(std::string_view text, absl::FunctionRef<void(const YAML::Node&)> read) {
  try {
    const std::string document(text);
    if (const int line = SecondDocumentLine(document); line != 0) {
      Reject(line, "a second document begins here; there must be one");
    } else {
      read(YAML::Load(document));
    }
  } catch (const YAML::Exception& exception) {
    Reject(exception.mark.line + 1, "is not valid YAML: " + exception.msg);
  }
}

void YamlReader::ReadMap(const YAML::Node& map, const std::string& prefix, Entry entry) {
  std::map<std::string, int> lines;
  for (const auto& pair : map) {
    const int line = LineOf(pair.first);
    if (!pair.first.IsScalar()) {
      Reject(line, "a key must be a word");
      continue;
    }
    const std::string& name = pair.first.Scalar();
    const auto [first, is_new] = lines.emplace(name, line);
    if (!is_new) {
      Reject(line, prefix + name + ": given twice, first in line " + std::to_string(first->second));
      continue;
    }
    entry(name, pair.first, pair.second);
  }
}

void YamlReader::ReadMapOf(const YAML::Node& value, const std::string& what, Entry entry) {
  if (!value.IsMap()) return Reject(value, what + ": must consist of keys and values");
  ReadMap(value, what + ".", entry);
}

std::optional<std::string> YamlReader::ReadText(const YAML::Node& value, const std::string& what) {
  if (value.IsScalar()) return value.Scalar();
  Reject(value, what + (value.IsNull() ? ": has no value" : ": must be one text"));
  return std::nullopt;
}

std::vector<std::string> YamlReader::ReadTexts(const YAML::Node& value, const std::string& what) {
  std::vector<std::string> texts;
  if (!value.IsSequence()) {
    if (auto text = ReadText(value, what)) texts.push_back(std::move(*text));
    return texts;
  }
  for (const YAML::Node& item : value) {
    if (item.IsScalar()) {
      texts.push_back(item.Scalar());
    } else {
      Reject(item, what + ": each entry must be a text");
    }
  }
  return texts;
}

void YamlReader::Reject(const YAML::Node& where, const std::string& problem) {
  Reject(LineOf(where), problem);
}

void YamlReader::Reject(int line, const std::string& problem) {
  problems_.push_back(NoteAt(line, problem));
}

std::string YamlReader::NoteAt(int line, const std::string& note) const {
  return path_ + ":" + std::to_string(line) + ": " + text::InOneLine(note);
}

}  // namespace lockkeeper::config
