// SPDX-License-Identifier: Apache-2.0
//
// The in-process script host converts values and reports errors as real servers do. Method: seeded
// random script texts run by EVAL on both; replies, error texts with line numbers and what the
// scripts stored have to be equal. LOCKKEEPER_CONFORMANCE_STEPS sets how many, a tenth of it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scripts/twin_servers.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kStepsByDefault = 100'000;
constexpr size_t kScriptsAtOnce = 20;
constexpr int kDepthMax = 3;

// Writes Lua, one random piece inside the other.
class LuaWriter {
 public:
  explicit LuaWriter(Random& random) : random_(random) {}

  // A whole script without its first line. It returns no call as it is: the in-process host forgets
  // the place of what fails in there.
  std::string Script() {
    switch (random_.Below(12)) {
      case 0:
        return "return (redis.call(" + Call() + "))";
      case 1:
        return "return (redis.pcall(" + Call() + "))";
      case 2:
        return "local r = redis.pcall(" + Call() + ")\nreturn {type(r), r}";
      case 3:
        return "local ok, r = pcall(redis.call, " + Call() + ")\nreturn {tostring(ok), type(r), r}";
      case 4:
        return "\n\nerror(" + Raised() + ")";
      case 5:
        return "local ok, r = pcall(error, " + Raised() + ")\nreturn {tostring(ok), type(r), r}";
      case 6:
        return "local x = " + Value() + "\nreturn x.y";
      case 7:
        return "local x, y = " + Value() + ", " + Value() + "\nreturn {x + y}";
      case 8:
        return "return " + random_.Pick(Strings{"nosuchglobal", "redis.nosuchfield", "#KEYS",
                                                "#ARGV", "{KEYS, ARGV}", "unpack(ARGV)"});
      case 9:
        return "nosuchglobal = " + Value();
      default:
        return "return (" + Value() + ")";
    }
  }

 private:
  // Versions of the server differ in how many digits a fraction has, and whether -0 and 1e17 are
  // integers: there are none of these.
  std::string Number() {
    static const Strings numbers = {"0",
                                    "1.5",
                                    "-1.5",
                                    "0.25",
                                    "2.9375",
                                    "1e15",
                                    "-1e3",
                                    "123456789012.75",
                                    "9007199254740991",
                                    "9007199254740993"};
    if (random_.OneIn(2)) return std::to_string(random_.Between(-1000, 1000));
    return random_.Pick(numbers);
  }

  // In a text. Those of LuaJIT have 32 bits.
  std::string Position() {
    static const Strings fractions = {"1.5", "-1.5", "2.9375", "-1e3"};
    return random_.OneIn(2) ? std::to_string(random_.Between(-10, 10)) : random_.Pick(fractions);
  }

  // A literal of printable text or of any bytes.
  std::string Text() {
    static const Strings texts = {"''",    "'a'",    "'12'",        "'1.50'",
                                  "' 7 '", "'0x10'", "'two words'", "'-dash'"};
    if (random_.OneIn(2)) return random_.Pick(texts);
    std::string literal = "'";
    for (uint64_t i = random_.Below(6); i > 0; --i) {
      const std::string code = std::to_string(random_.Below(256));
      literal += "\\" + std::string(3 - code.size(), '0') + code;
    }
    return literal + "'";
  }

  // Text for an error or a status, which travels on one line.
  std::string Message() {
    static const Strings messages = {"'ONE'",     "'CODE and text'", "'-CODE and text'",
                                     "'-ONE'",    "'a  b'",          "'ERR'",
                                     "'x\\ny z'", "'lower case'"};
    return random_.Pick(messages);
  }

  std::string Function() {
    switch (random_.Below(10)) {
      case 0:
        return "tostring(" + Number() + ")";
      case 1:
        return "tonumber(" + Text() + ")";
      case 2:
        return "string.format('%d', " + Number() + ")";
      case 3:
        // Redis' Lua ends a %s at a zero byte, LuaJIT does not. The scripts give it none.
        return "string.format('%016d|%.0f|%s', " + Number() + ", " + Number() + ", (string.gsub(" +
               Text() + ", '%z', '')))";
      case 4:
        return "math.floor(" + Number() + ")";
      case 5:
        return "math.max(" + Number() + ", " + Number() + ")";
      case 6:
        return "string.sub(" + Text() + ", " + Position() + ", " + Position() + ")";
      case 7:
        return "redis.sha1hex(" + Text() + ")";
      case 8:
        return "(string.find('a b.c', " + Text() + ", 1, true))";
      default:
        return "type(" + Value() + ")";
    }
  }

  std::string Value() {
    if (depth_ == kDepthMax) return Number();
    ++depth_;
    std::string value = NestedValue();
    --depth_;
    return value;
  }

  std::string NestedValue() {
    switch (random_.Below(12)) {
      case 0:
      case 1:
        return Number();
      case 2:
        return Text();
      case 3:
        return random_.Pick(Strings{"true", "false", "nil", "function() end"});
      case 4:
        return "{err = " + Message() + ", ok = 'x'}";
      case 5:
        return "{ok = " + Message() + ", 1}";
      case 6:
        return "redis.error_reply(" + Message() + ")";
      case 7:
        return "redis.status_reply(" + random_.Pick(Strings{Message(), Number(), "nil, 1"}) + ")";
      case 8:
        return random_.Pick(Strings{"KEYS[1]", "KEYS[3]", "ARGV[1]", "ARGV[9]"});
      case 9:
        return Function();
      default:
        return Table();
    }
  }

  std::string Table() {
    std::string table = "{";
    for (uint64_t i = random_.Below(5); i > 0; --i) table += Value() + ", ";
    return table + "}";
  }

  std::string Raised() {
    if (random_.OneIn(2)) return "{err = 'CODE of an error'}";
    return random_.Pick(Strings{"'text'", "'CODE text'", "12", "nil", "true", "'text', 0"});
  }

  // Arguments of redis.call.
  std::string Call() {
    static const Strings commands = {"'GET'",  "'get'",    "'SET'",  "'GETRANGE'", "'SETRANGE'",
                                     "'HSET'", "'EXISTS'", "'TYPE'", "'PTTL'",     "'DEL'",
                                     "'TIME'", "'EVAL'",   "'x'",    "1"};
    std::string call = random_.Pick(commands);
    for (uint64_t i = random_.Below(4); i > 0; --i) {
      call += ", " + random_.Pick(Strings{"KEYS[1]", "KEYS[2]", "KEYS[1]", Text(), Number(),
                                          Number(), "ARGV[1]", "nil", "true", "{}"});
    }
    return call;
  }

  Random& random_;
  int depth_ = 0;
};

class LuaConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  SeededRandom random_;
  TwinServers servers_{GetParam()};
};

// The keys of a command stand where its keys do; the in-process host refuses any other key.
bool TouchesOnlyItsKeys(const std::string& script) {
  for (const std::string command :
       {"GET", "get", "SET", "GETRANGE", "SETRANGE", "HSET", "EXISTS", "TYPE", "PTTL", "DEL"}) {
    for (size_t at = script.find("'" + command + "', "); at != std::string::npos;
         at = script.find("'" + command + "', ", at + 1)) {
      const std::string rest = script.substr(at + command.size() + 4);
      if (!rest.starts_with("KEYS[1]") && !rest.starts_with("KEYS[2]")) return false;
      const bool many_keys = command == "EXISTS" || command == "DEL";
      if (many_keys && rest.substr(0, rest.find(')')).find(',') != std::string::npos) return false;
    }
  }
  return true;
}

TEST_P(LuaConformanceTest, ScriptsAnswerAsOnARealServer) {
  LuaWriter writer(random_);
  const int64_t steps = RepeatsFrom("LOCKKEEPER_CONFORMANCE_STEPS", kStepsByDefault) / 10;
  for (int64_t step = 0; step < steps; step += kScriptsAtOnce) {
    std::vector<Strings> commands;
    while (commands.size() < kScriptsAtOnce) {
      const std::string script = writer.Script();
      if (!TouchesOnlyItsKeys(script)) continue;
      const std::string first_line =
          random_.OneIn(10) ? "#!lua flags=no-writes\n" : "#!lua flags=allow-oom\n";
      commands.push_back({"EVAL", first_line + script, "2", "a", "b", "argument", "2"});
    }
    if (random_.OneIn(3)) commands.push_back({"DEL", "a", "b"});
    if (random_.OneIn(10)) commands.push_back({"HSET", "b", "field", "value"});
    ASSERT_TRUE(servers_.RunAll(commands));
  }
}

TEST_P(LuaConformanceTest, TextsThatAreNoScriptsAreRefusedInTheSameWords) {
  for (const std::string text :
       {"#!lua\nend", "#!lua\nreturn (", "#!luax\nreturn 1", "#!lua\n\nlocal x = = 1"}) {
    servers_.Run({"EVAL", text, "0"});
    servers_.Run({"SCRIPT", "LOAD", text});
  }
}

TEST_P(LuaConformanceTest, ScriptsAreKnownUntilTheyAreFlushed) {
  const std::string text = "#!lua\nreturn ARGV[1]";
  const std::string sha1 = servers_.Run({"SCRIPT", "LOAD", text}).text;

  EXPECT_EQ(servers_.Run({"EVALSHA", sha1, "0", "x"}).text, "x");
  servers_.Run({"SCRIPT", "FLUSH"});
  servers_.Run({"EVALSHA", sha1, "0", "x"});
  servers_.Run({"EVAL", text, "0", "y"});
  EXPECT_EQ(servers_.Run({"EVALSHA", sha1, "0", "z"}).text, "z");
}

INSTANTIATE_TEST_SUITE_P(Servers, LuaConformanceTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
