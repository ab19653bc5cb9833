// SPDX-License-Identifier: Apache-2.0
#include "access/policy_file.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "config/yaml_reader.h"
#include "core/limits.h"
#include "text/duration.h"
#include "text/near_miss.h"
#include "text/utf8.h"

namespace lockkeeper::access {
namespace {

using config::YamlReader;

// Above this a quota cannot be meant.
constexpr int64_t kCountMax = 1'000'000'000;
constexpr std::chrono::seconds kLeewayMax = std::chrono::minutes(5);

std::string Suggest(std::string_view word, const std::vector<std::string>& known) {
  const auto near = text::NearMiss(word, known);
  return near ? "; did you mean \"" + *near + "\"?" : "";
}

std::string OneOf(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

template <typename Value>
std::vector<std::string> KeysOf(const std::map<std::string, Value>& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// The values of an enum, which has `count`, by their names.
template <typename Value>
std::map<std::string, Value> ByName(size_t count) {
  std::map<std::string, Value> values;
  for (size_t i = 0; i < count; ++i) {
    values.emplace(NameOf(static_cast<Value>(i)), static_cast<Value>(i));
  }
  return values;
}

// `word` as one of `values`, or nothing and a problem.
template <typename Value>
std::optional<Value> ReadWord(YamlReader& yaml, const YAML::Node& where, const std::string& what,
                              const std::string& word, const std::map<std::string, Value>& values) {
  if (const auto found = values.find(word); found != values.end()) return found->second;
  const std::vector<std::string> known = KeysOf(values);
  yaml.Reject(where, what + ": must be one of " + OneOf(known) + ", is " + text::Quoted(word) +
                         Suggest(word, known));
  return std::nullopt;
}

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& path) : yaml_(path) {}

  PolicyFile Parse(std::string_view text) {
    yaml_.Read(text, [this](const YAML::Node& document) { ReadDocument(document); });
    return Finish();
  }

 private:
  using Reader = std::function<void(const YAML::Node& value, const std::string& what)>;

  // Reads a map whose keys have a reader each; others are problems.
  void ReadKeys(const YAML::Node& map, const std::string& what,
                const std::map<std::string, Reader>& readers) {
    yaml_.ReadMapOf(map, what,
                    [&](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
                      const auto reader = readers.find(name);
                      if (reader != readers.end()) {
                        return reader->second(value, Under(what, name));
                      }
                      const std::vector<std::string> known = KeysOf(readers);
                      yaml_.Reject(key, Under(what, name) + ": unknown key" + Suggest(name, known) +
                                            " (there are " + OneOf(known) + ")");
                    });
  }

  static std::string Under(const std::string& what, const std::string& name) {
    return what.empty() ? name : what + "." + name;
  }

  void ReadEach(const YAML::Node& list, const std::string& what, const Reader& read) {
    if (list.IsNull()) return;
    if (!list.IsSequence()) return yaml_.Reject(list, what + ": must be a list");
    int number = 0;
    for (const YAML::Node& item : list) {
      read(item, what + "[" + std::to_string(++number) + "]");
    }
  }

  Reader Into(std::string& text) {
    return [this, &text](const YAML::Node& value, const std::string& what) {
      text = yaml_.ReadText(value, what).value_or("");
      CheckText(value, what, text);
    };
  }

  Reader Into(std::vector<std::string>& texts) {
    return [this, &texts](const YAML::Node& value, const std::string& what) {
      texts = yaml_.ReadTexts(value, what);
      for (const std::string& text : texts) CheckText(value, what, text);
    };
  }

  // No name has other characters, and answers and the log show these texts.
  void CheckText(const YAML::Node& where, const std::string& what, const std::string& text) {
    if (text::FindTextFault(text) == text::TextFault::kNone) return;
    yaml_.Reject(where,
                 what + ": must be UTF-8 without control characters, is " + text::Quoted(text));
  }

  Reader Into(std::optional<int64_t>& count) {
    return [this, &count](const YAML::Node& value, const std::string& what) {
      const auto text = yaml_.ReadText(value, what);
      int64_t number = 0;
      if (!text) return;
      if (!absl::SimpleAtoi(*text, &number) || number < 0 || number > kCountMax) {
        return yaml_.Reject(value, what + ": must be a number from 0 to " +
                                       std::to_string(kCountMax) + ", is " + text::Quoted(*text));
      }
      count = number;
    };
  }

  Reader Into(std::optional<core::Millis>& duration, core::Millis low, core::Millis high) {
    return [this, &duration, low, high](const YAML::Node& value, const std::string& what) {
      const auto text = yaml_.ReadText(value, what);
      core::Millis parsed{};
      if (!text) return;
      if (text::Problem problem = text::ParseDuration(*text, parsed)) {
        return yaml_.Reject(value, what + ": " + *problem);
      }
      if (parsed < low || parsed > high) {
        return yaml_.Reject(value, what + ": must be " + text::FormatDuration(low) + " to " +
                                       text::FormatDuration(high) + ", is " + *text);
      }
      duration = parsed;
    };
  }

  void ReadDocument(const YAML::Node& document) {
    if (!document.IsDefined() || document.IsNull()) return;  // Nothing but comments.
    ReadKeys(document, "",
             {{"certificates",
               [this](const auto& list, const auto& what) {
                 ReadEach(list, what, [this](const auto& item, const auto& name) {
                   ReadCertificate(item, name);
                 });
               }},
              {"jwt",
               [this](const auto& list, const auto& what) {
                 ReadEach(list, what,
                          [this](const auto& item, const auto& name) { ReadIssuer(item, name); });
               }},
              {"roles", [this](const auto& roles, const auto& what) { ReadRoles(roles, what); }},
              {"bindings",
               [this](const auto& list, const auto& what) {
                 ReadEach(list, what,
                          [this](const auto& item, const auto& name) { ReadBinding(item, name); });
               }},
              {"quotas", [this](const auto& quotas, const auto& what) {
                 ReadQuotas(quotas, what, file_.policy.quotas);
               }}});
  }

  void ReadCertificate(const YAML::Node& item, const std::string& what) {
    CertificateMapping entry;
    std::string from;
    ReadKeys(item, what,
             {{"from", Into(from)},
              {"match", Into(entry.mapping.match)},
              {"principal", Into(entry.mapping.principal)}});
    const auto field = ReadWord<CertificateField>(yaml_, item, what + ".from", from,
                                                  {{"spiffe", CertificateField::kSpiffe},
                                                   {"dns", CertificateField::kDns},
                                                   {"cn", CertificateField::kCommonName}});
    if (text::Problem problem = entry.mapping.Check()) yaml_.Reject(item, what + "." + *problem);
    entry.field = field.value_or(CertificateField::kSpiffe);
    file_.certificates.push_back(std::move(entry));
  }

  void ReadIssuer(const YAML::Node& item, const std::string& what) {
    JwtIssuer issuer;
    std::optional<core::Millis> leeway;
    ReadKeys(item, what,
             {{"issuer", Into(issuer.issuer)},
              {"audience", Into(issuer.audience)},
              {"jwks_file", Into(issuer.jwks_file)},
              {"claim", Into(issuer.claim)},
              {"match", Into(issuer.mapping.match)},
              {"principal", Into(issuer.mapping.principal)},
              {"leeway", Into(leeway, core::Millis(0), kLeewayMax)}});
    for (const auto& [name, text] :
         {std::pair("issuer", &issuer.issuer), std::pair("audience", &issuer.audience),
          std::pair("jwks_file", &issuer.jwks_file), std::pair("claim", &issuer.claim)}) {
      if (text->empty()) yaml_.Reject(item, Under(what, name) + ": must be given");
    }
    if (text::Problem problem = issuer.mapping.Check()) yaml_.Reject(item, what + "." + *problem);
    if (leeway) issuer.leeway = std::chrono::duration_cast<std::chrono::seconds>(*leeway);
    const bool known =
        std::any_of(file_.issuers.begin(), file_.issuers.end(), [&](const JwtIssuer& other) {
          return other.issuer == issuer.issuer && other.audience == issuer.audience;
        });
    if (known) yaml_.Reject(item, what + ": this issuer and audience stand in another entry");
    file_.issuers.push_back(std::move(issuer));
  }

  void ReadRoles(const YAML::Node& roles, const std::string& what) {
    if (roles.IsNull()) return;
    yaml_.ReadMapOf(roles, what,
                    [&](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
                      ReadRole(name, key, value, Under(what, name));
                    });
  }

  void ReadRole(const std::string& name, const YAML::Node& key, const YAML::Node& value,
                const std::string& what) {
    Role role;
    if (name.empty()) yaml_.Reject(key, what + ": a role must have a name");
    CheckText(key, "roles", name);
    ReadKeys(value, what,
             {{"rules",
               [&](const auto& list, const auto& rules) {
                 ReadEach(list, rules, [&](const auto& item, const auto& rule) {
                   role.rules.push_back(ReadRule(item, rule));
                 });
               }},
              {"quotas", [&](const auto& quotas, const auto& key_name) {
                 ReadQuotas(quotas, key_name, role.quotas);
               }}});
    role_lines_[name] = YamlReader::LineOf(key);
    file_.policy.roles.emplace(name, std::move(role));
  }

  Rule ReadRule(const YAML::Node& item, const std::string& what) {
    static const auto kVerbsByName = ByName<Verb>(kVerbs);
    Rule rule;
    std::vector<std::string> words;
    ReadKeys(
        item, what,
        {{"verbs", Into(words)}, {"prefixes", Into(rule.prefixes)}, {"names", Into(rule.names)}});
    for (const std::string& word : words) {
      if (auto verb = ReadWord<Verb>(yaml_, item, what + ".verbs", word, kVerbsByName)) {
        rule.verbs.insert(*verb);
      }
    }
    if (words.empty()) yaml_.Reject(item, what + ".verbs: must be given");
    const bool about_locks = std::any_of(rule.verbs.begin(), rule.verbs.end(),
                                         [](Verb verb) { return IsAboutLock(verb); });
    if (about_locks && rule.prefixes.empty() && rule.names.empty()) {
      yaml_.Reject(item, what +
                             ": must name its locks, by prefixes or names; "
                             "prefixes: [\"\"] is all locks");
    }
    for (const std::string& prefix : rule.prefixes) CheckPrefix(item, what, prefix);
    for (const std::string& name : rule.names) CheckName(item, what, name);
    return rule;
  }

  void CheckPrefix(const YAML::Node& item, const std::string& what, const std::string& prefix) {
    CheckBraces(item, what + ".prefixes", prefix);
    const size_t place = prefix.find(kPrincipalPlaceholder);
    if (place != std::string::npos && prefix.find('/', place) == std::string::npos) {
      yaml_.Reject(item, what + ".prefixes: a '/' must follow " +
                             std::string(kPrincipalPlaceholder) +
                             ", which no name in its place has: else \"ann\" reaches the locks of "
                             "\"anna\"");
    }
  }

  void CheckName(const YAML::Node& item, const std::string& what, const std::string& name) {
    if (name.empty()) yaml_.Reject(item, what + ".names: a lock's name is not empty");
    CheckBraces(item, what + ".names", name);
  }

  // Names of locks have no braces, but of the placeholder.
  void CheckBraces(const YAML::Node& item, const std::string& what, const std::string& text) {
    const std::string rest = absl::StrReplaceAll(text, {{kPrincipalPlaceholder.data(), ""}});
    if (rest.find_first_of("{}") != std::string::npos) {
      yaml_.Reject(item, what + ": the only word in braces is " +
                             std::string(kPrincipalPlaceholder) + ", is " + text::Quoted(text));
    }
    if (rest.size() > core::limits::kNameBytesMax) {
      yaml_.Reject(item, what + ": a lock's name has at most " +
                             std::to_string(core::limits::kNameBytesMax) + " bytes");
    }
  }

  void ReadBinding(const YAML::Node& item, const std::string& what) {
    static const auto kProofsByName = ByName<Proof>(kProofs);
    Binding binding;
    std::vector<std::string> words;
    ReadKeys(item, what,
             {{"roles", Into(binding.roles)},
              {"principals", Into(binding.principals)},
              {"proofs", Into(words)},
              {"issuers", Into(binding.issuers)}});
    if (binding.roles.empty()) yaml_.Reject(item, what + ".roles: must be given");
    if (binding.principals.empty()) {
      yaml_.Reject(item, what + ".principals: must be given; [\"*\"] is all, anonymous included");
    }
    for (const std::string& pattern : binding.principals) {
      const size_t star = pattern.find('*');
      if (pattern.empty() || (star != std::string::npos && star + 1 != pattern.size())) {
        yaml_.Reject(
            item, what + ".principals: '*' may stand at the end only, is " + text::Quoted(pattern));
      }
    }
    for (const std::string& word : words) {
      if (auto proof = ReadWord<Proof>(yaml_, item, what + ".proofs", word, kProofsByName)) {
        binding.proofs.insert(*proof);
      }
    }
    binding_lines_.push_back(YamlReader::LineOf(item));
    file_.policy.bindings.push_back(std::move(binding));
  }

  void ReadQuotas(const YAML::Node& value, const std::string& what, Quotas& quotas) {
    namespace limits = core::limits;
    if (value.IsNull()) return;
    ReadKeys(
        value, what,
        {{"leases", Into(quotas.leases)},
         {"waiters", Into(quotas.waiters)},
         {"sessions", Into(quotas.sessions)},
         {"operations_per_second", Into(quotas.operations_per_second)},
         {"max_ttl", Into(quotas.max_ttl, limits::kTtlMin, limits::kTtlCeiling)},
         {"max_wait", Into(quotas.max_wait, core::Millis(0), limits::kWaitTimeoutMax)},
         {"max_hold", Into(quotas.max_hold, limits::kMaxHoldMin, limits::kMaxHoldMax)},
         {"max_lock_delay", Into(quotas.max_lock_delay, core::Millis(0), limits::kLockDelayMax)},
         {"max_hold_at_least",
          Into(quotas.max_hold_at_least, core::Millis(0), limits::kHoldAtLeastMax)}});
  }

  // What can only be seen once everything was read.
  void CheckTogether() {
    const Policy::Parts& policy = file_.policy;
    const std::vector<std::string> known = KeysOf(policy.roles);
    std::set<std::string> bound;
    for (size_t i = 0; i < policy.bindings.size(); ++i) {
      const Binding& binding = policy.bindings[i];
      const std::string what = "bindings[" + std::to_string(i + 1) + "]";
      for (const std::string& role : binding.roles) {
        bound.insert(role);
        if (policy.roles.contains(role)) continue;
        yaml_.Reject(binding_lines_[i], what + ".roles: there is no role " + text::Quoted(role) +
                                            Suggest(role, known));
      }
      for (const std::string& issuer : binding.issuers) {
        const bool is_known =
            std::any_of(file_.issuers.begin(), file_.issuers.end(),
                        [&](const auto& entry) { return entry.issuer == issuer; });
        if (!is_known) {
          yaml_.Reject(binding_lines_[i],
                       what + ".issuers: no entry of jwt has the issuer " + text::Quoted(issuer));
        }
      }
      if (!binding.issuers.empty() && !binding.proofs.empty() &&
          !binding.proofs.contains(Proof::kJwt)) {
        yaml_.Reject(binding_lines_[i],
                     what + ": only a JWT has an issuer, and proofs leaves jwt out");
      }
    }
    for (const auto& [name, role] : policy.roles) {
      if (!bound.contains(name)) Warn(role_lines_[name], "roles." + name + ": no binding gives it");
      CheckRole(name, role);
    }
  }

  void CheckRole(const std::string& name, const Role& role) {
    std::set<Verb> verbs;
    for (const Rule& rule : role.rules) verbs.insert(rule.verbs.begin(), rule.verbs.end());
    if (verbs.contains(Verb::kAcquire) && !verbs.contains(Verb::kRelease)) {
      Warn(role_lines_[name],
           "roles." + name + ": may acquire and not release; its locks end with their ttl only");
    }
    if (!verbs.contains(Verb::kAcquire) &&
        (verbs.contains(Verb::kExtend) || verbs.contains(Verb::kRelease))) {
      Warn(role_lines_[name], "roles." + name +
                                  ": may extend or release and not acquire; only who acquired a "
                                  "lease may extend or release it");
    }
  }

  void Warn(int line, const std::string& warning) {
    file_.warnings.push_back(yaml_.NoteAt(line, warning));
  }

  PolicyFile Finish() {
    CheckTogether();
    file_.problems = yaml_.TakeProblems();
    return std::move(file_);
  }

  YamlReader yaml_;
  PolicyFile file_;
  std::map<std::string, int> role_lines_;
  std::vector<int> binding_lines_;
};

}  // namespace

PolicyFile ParsePolicy(std::string_view text, const std::string& path) {
  return PolicyReader(path).Parse(text);
}

}  // namespace lockkeeper::access
