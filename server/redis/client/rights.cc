// SPDX-License-Identifier: Apache-2.0
#include "redis/client/rights.h"

#include "redis/scripts.h"

namespace lockkeeper::redis {

Command RightsQuestion(const std::string& key_prefix) {
  Command question(5);
  question.Word("EVALSHA").Word(kRightsScript.sha1).Number(0);
  question.Word(key_prefix + "rights").Word(key_prefix + "daemon:rights");
  return question;
}

std::vector<std::string> MissingRights(const Reply& answer, const std::string& key_prefix) {
  std::vector<std::string> missing;
  if (answer.type != Reply::Type::kArray) return missing;
  for (const Reply& rule : answer.items) {
    const bool is_pattern = rule.text == "~" || rule.text == "&";
    missing.push_back(is_pattern ? rule.text + key_prefix + "*" : rule.text);
  }
  return missing;
}

}  // namespace lockkeeper::redis
