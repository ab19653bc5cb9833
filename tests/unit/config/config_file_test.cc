// SPDX-License-Identifier: Apache-2.0
// What a file may look like, and that each refusal names its line.
#include "config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process/temporary_directory.h"

namespace lockkeeper::config {
namespace {

using support::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FileContents Parse(std::string_view text) { return ParseConfigText(text, "lk.yaml"); }

TEST(ConfigFileTest, SettingsComeWithTheirLines) {
  const FileContents contents = Parse(
      "# a comment\n"
      "server:\n"
      "  listen: [\"127.0.0.1:1\", 'unix:/x']\n"
      "  connections_max: 3\n"
      "store: {embedded: true}\n");

  ASSERT_THAT(contents.problems, IsEmpty());
  ASSERT_THAT(contents.values, SizeIs(3));
  EXPECT_EQ(contents.values[0].setting->key, "server.listen");
  EXPECT_EQ(contents.values[0].value.shape, RawValue::Shape::kList);
  EXPECT_THAT(contents.values[0].value.texts, ElementsAre("127.0.0.1:1", "unix:/x"));
  EXPECT_EQ(contents.values[0].line, 3);
  EXPECT_EQ(contents.values[1].setting->key, "server.connections_max");
  EXPECT_EQ(contents.values[1].value.shape, RawValue::Shape::kText);
  EXPECT_THAT(contents.values[1].value.texts, ElementsAre("3"));
  EXPECT_EQ(contents.values[1].line, 4);
  EXPECT_EQ(contents.values[2].setting->key, "store.embedded");
  EXPECT_EQ(contents.values[2].line, 5);
}

TEST(ConfigFileTest, EmptyFilesAndSectionsGiveNothing) {
  for (const std::string_view text : {"", "\n", "# only a comment\n", "---\n", "server:\n",
                                      "server:\n  # connections_max: 1\nstore: ~\n", "{}"}) {
    const FileContents contents = Parse(text);

    EXPECT_THAT(contents.problems, IsEmpty()) << text;
    EXPECT_THAT(contents.values, IsEmpty()) << text;
  }
}

TEST(ConfigFileTest, ListInBlockStyleIsRead) {
  const FileContents contents = Parse("server:\n  listen:\n    - a:1\n    - b:2\n");

  ASSERT_THAT(contents.values, SizeIs(1));
  EXPECT_THAT(contents.values[0].value.texts, ElementsAre("a:1", "b:2"));
}

struct Refused {
  std::string text;
  std::string problem;
};

void ExpectRefused(const Refused& expected) {
  SCOPED_TRACE(expected.text);
  const FileContents contents = Parse(expected.text);

  EXPECT_THAT(contents.problems, ElementsAre(HasSubstr(expected.problem)));
}

TEST(RefusedFileTest, NamesTheLine) {
  const Refused cases[] = {
      {"server:\n  listne: [a]\n",
       R"(lk.yaml:2: unknown key "server.listne"; did you mean server.listen?)"},
      {"server:\n\n\n  embedded: true\n",
       R"(lk.yaml:4: unknown key "server.embedded"; did you mean store.embedded?)"},
      {"store:\n  colour: red\n", R"(lk.yaml:2: unknown key "store.colour")"},
      {"server:\n  shards: 1\n", R"(lk.yaml:2: unknown key "server.shards")"},
      {"\nstroe:\n  embedded: true\n",
       R"(lk.yaml:2: unknown section "stroe"; did you mean store?)"},
      {"connections_max: 2\n",
       R"(unknown section "connections_max"; did you mean server.connections_max?)"},
      {"server:\n  connections_max: 1\n  connections_max: 2\n",
       "lk.yaml:3: server.connections_max: given twice, first in line 2"},
      {"server:\n  connections_max: 1\nserver:\n  allow_insecure: true\n",
       "lk.yaml:3: server: given twice, first in line 1"},
      {"server: 7600\n", "lk.yaml:1: server: is a section"},
      {"server: [a]\n", "lk.yaml:1: server: is a section"},
      {"server:\n  connections_max:\n", "lk.yaml:2: server.connections_max: has no value"},
      {"server:\n  connections_max: ~\n", "lk.yaml:2: server.connections_max: has no value"},
      {"server:\n  connections_max: {a: b}\n",
       "lk.yaml:2: server.connections_max: must be a value, is a section"},
      {"server:\n  listen:\n    - a:1\n    - [b]\n",
       "lk.yaml:4: server.listen: each entry must be a text"},
      {"server:\n  [a, b]: 1\n", "lk.yaml:2: a key must be a word"},
      {"- server\n", "lk.yaml:1: must consist of sections"},
      {"just text\n", "lk.yaml:1: must consist of sections"},
      {"server:\n  connections_max: 1\n---\nserver:\n", "lk.yaml:3: a second document begins"},
      {"server:\n  listen: [a\n", "is not valid YAML: "},
      {"server:\n  connections_max: 1\n bad: 2\n", "lk.yaml:3: is not valid YAML: "},
      {"server:\n\tconnections_max: 1\n", "lk.yaml:2: is not valid YAML: "},
      {"server: &a\n  connections_max: *nowhere\n", "lk.yaml:2: is not valid YAML: "}};
  for (const Refused& expected : cases) ExpectRefused(expected);
}

TEST(ConfigFileTest, AllProblemsAreToldInOrder) {
  const FileContents contents = Parse("a: 1\nserver:\n  b: 2\n  connections_max: 1\n  c: 3\n");

  EXPECT_THAT(contents.problems, ElementsAre(HasSubstr("lk.yaml:1: "), HasSubstr("lk.yaml:3: "),
                                             HasSubstr("lk.yaml:5: ")));
  EXPECT_THAT(contents.values, SizeIs(1));
}

// With YAML::LoadAll it was read for ever, and into ever more memory.
TEST(ConfigFileTest, StrayCharacterBehindADocumentIsRefused) {
  const FileContents contents = Parse("%server:\n  connections_max: 1\n,  allow_insecure: false\n");

  EXPECT_THAT(contents.problems, ElementsAre(HasSubstr("a second document begins here")));
}

TEST(ConfigFileTest, DeepNestingIsRefusedAndNotRecursedInto) {
  const FileContents contents = Parse("server: " + std::string(100'000, '['));

  EXPECT_THAT(contents.problems, SizeIs(1));
}

TEST(ConfigFileTest, FileThatIsNotThereIsAProblem) {
  const TemporaryDirectory directory;

  const FileContents contents = ReadConfigFile(directory.Path("none.yaml"));

  EXPECT_THAT(contents.problems, ElementsAre(directory.Path("none.yaml") +
                                             ": cannot be opened: No such file or directory"));
}

TEST(ConfigFileTest, FolderIsAProblem) {
  const TemporaryDirectory directory;

  const FileContents contents = ReadConfigFile(directory.path());

  EXPECT_THAT(contents.problems, ElementsAre(HasSubstr("cannot be read: Is a directory")));
}

TEST(ConfigFileTest, HugeFileIsAProblem) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("huge.yaml");
  std::ofstream(path) << std::string((1 << 20) + 1, '#');

  const FileContents contents = ReadConfigFile(path);

  EXPECT_THAT(contents.problems, ElementsAre(HasSubstr("more than 1048576 bytes")));
}

}  // namespace
}  // namespace lockkeeper::config
