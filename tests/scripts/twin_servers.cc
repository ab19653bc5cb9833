// SPDX-License-Identifier: Apache-2.0
#include "scripts/twin_servers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/reply_text.h"

namespace lockkeeper::support {
namespace {

// Keys found by a whole iteration of SCAN, each once.
template <typename Execute>
std::vector<std::string> Iterate(const std::vector<std::string_view>& options, Execute execute) {
  std::vector<std::string> keys;
  std::string cursor = "0";
  do {
    std::vector<std::string_view> words = {"SCAN", cursor};
    words.insert(words.end(), options.begin(), options.end());
    const redis::Reply reply = execute(words);
    if (reply.items.size() != 2) {
      ADD_FAILURE() << Describe(words) << " answers " << Describe(reply);
      break;
    }
    for (const redis::Reply& key : reply.items[1].items) keys.push_back(key.text);
    cursor = reply.items[0].text;
  } while (cursor != "0");
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// The model has the words of one version's errors; programs look at their codes, which stand first.
// A script may have made a text of an error.
void LeaveCodesOnly(redis::Reply& reply) {
  for (redis::Reply& item : reply.items) LeaveCodesOnly(item);
  if (reply.type == redis::Reply::Type::kError || reply.text.starts_with("ERR ")) {
    reply.text.resize(std::min(reply.text.find(' '), reply.text.size()));
  }
}

}  // namespace

TwinServers::TwinServers(const std::string& program)
    : real_({.program = program, .environment = real_clock_.environment()}),
      connection_(real_.socket_path()) {
  const std::string info = connection_.Run({"INFO", "server"}).text;
  same_words_ = info.find("redis_version:7.0.") != std::string::npos;
  real_clock_.StandStillAt(Now());
}

// What a reply says, as far as the model can know it.
std::string TwinServers::Said(redis::Reply reply) const {
  if (!same_words_) LeaveCodesOnly(reply);
  return Describe(reply);
}

void TwinServers::AdvanceBy(core::Micros duration) {
  manual_clock_.AdvanceTo(manual_clock_.Now() + duration);
  real_clock_.StandStillAt(Now());
}

void TwinServers::Subscribe(const std::string& channel) {
  if (!listener_) listener_.emplace(real_.socket_path());
  listener_->Run({"SUBSCRIBE", channel});
  model_.Subscribe(channel, [this, channel](std::string_view message) {
    heard_.push_back(channel + " " + std::string(message));
  });
}

bool TwinServers::HeardTheSame() {
  bool same = true;
  for (; compared_ < heard_.size(); ++compared_) {
    const redis::Reply pushed = listener_->Receive();  // message, channel, text
    const std::string real = pushed.items.at(1).text + " " + pushed.items.at(2).text;
    EXPECT_EQ(real, heard_[compared_]);
    same &= real == heard_[compared_];
  }
  return same;
}

bool TwinServers::RunAll(const std::vector<std::vector<std::string>>& commands) {
  for (const auto& command : commands) connection_.Send({command.begin(), command.end()});
  bool same = true;
  for (const auto& command : commands) {
    const std::vector<std::string_view> words(command.begin(), command.end());
    const std::string real = Said(connection_.Receive());
    const std::string model = Said(model_.Execute(words));
    if (!same || real == model) continue;
    same = false;
    ADD_FAILURE() << Describe(words) << "\nthe real server answers " << real
                  << "\nthe in-process one      " << model;
  }
  return same;
}

redis::Reply TwinServers::Run(const std::vector<std::string_view>& words) {
  redis::Reply real = connection_.Run(words);
  EXPECT_EQ(Said(real), Said(model_.Execute(words))) << Describe(words);
  return real;
}

TwinServers::Keys TwinServers::ScanAll(const std::vector<std::string_view>& options) {
  return {Iterate(options, [this](const auto& words) { return connection_.Run(words); }),
          Iterate(options, [this](const auto& words) { return model_.Execute(words); })};
}

}  // namespace lockkeeper::support
