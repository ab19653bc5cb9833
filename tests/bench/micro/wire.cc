// SPDX-License-Identifier: Apache-2.0
//
// What goes to Redis and comes from there: columns of a record, commands, replies.
#include <benchmark/benchmark.h>

#include "bench/micro/requests.h"
#include "redis/client/reply_reader.h"
#include "redis/format/lock_record.h"
#include "redis/node/command.h"

namespace lockkeeper::bench {
namespace {

void EncodeAcquire(benchmark::State& state) {
  const core::AcquireRequest request = AcquireOf(1);
  for (auto _ : state) {
    const std::string text = redis::EncodeText(request);
    benchmark::DoNotOptimize(redis::EncodeRequest(request, text.size()));
  }
}
BENCHMARK(EncodeAcquire);

// A script call for so many locks; the figure is for one of them.
void BuildCommand(benchmark::State& state) {
  const auto locks = static_cast<size_t>(state.range(0));
  const std::string hash(40, 'a');
  const std::string columns(150, '0');
  std::vector<std::string> keys;
  keys.reserve(locks);
  for (size_t i = 0; i < locks; ++i) keys.push_back("lk:{" + NameOfLock(i) + "}");
  for (auto _ : state) {
    redis::Command command(3 + locks * 4);
    command.Word("EVALSHA").Word(hash).Number(static_cast<int64_t>(locks));
    for (const std::string& key : keys) command.Word(key);
    for (size_t i = 0; i < locks; ++i) command.Word(columns).Word("bench").Word("000000");
    benchmark::DoNotOptimize(command.wire());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BuildCommand)->Arg(1)->Arg(32);

void ReadReply(benchmark::State& state) {
  std::string wire = "*" + std::to_string(1 + 4 * state.range(0)) + "\r\n:1800000000000000\r\n";
  for (int64_t i = 0; i < state.range(0); ++i) {
    wire += ":1\r\n:1800000000000000\r\n:30000000\r\n:30000\r\n";
  }
  redis::ReplyReader reader;
  for (auto _ : state) {
    redis::Reply reply;
    reader.Feed(wire);
    if (reader.Next(reply) != redis::ReplyReader::Result::kReply) {
      state.SkipWithError("no reply");
      break;
    }
    benchmark::DoNotOptimize(reply);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ReadReply)->Arg(1)->Arg(32);

}  // namespace
}  // namespace lockkeeper::bench
