// SPDX-License-Identifier: Apache-2.0
//
// The marker of a store, which is written as it was read.
#include <string>

#include "fuzz/target.h"
#include "redis/format/store_marker.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lockkeeper::fuzz::Require;
  const auto text = lockkeeper::fuzz::TextOf(data, size);
  const auto without_beat = lockkeeper::redis::WithoutBeat(text);
  const auto seen = lockkeeper::redis::ParseMarker(text);
  if (!seen) return 0;
  const std::string written = seen->marker.Text();
  Require(written.starts_with(seen->marker.Stamp()), "a marker begins with its stamp");
  const auto again =
      lockkeeper::redis::ParseMarker(written + std::string(text.substr(without_beat.size())));
  Require(again && again->marker == seen->marker, "a marker is read as it was written");
  return 0;
}
