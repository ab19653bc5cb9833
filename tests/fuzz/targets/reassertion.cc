// SPDX-License-Identifier: Apache-2.0
//
// The proof of a lease that a client sends after a loss; before it a key of the store and the name
// of the lock, each with a byte 0 behind it. Nothing but what was made for this lease is a proof.
#include <string>

#include "absl/strings/ascii.h"
#include "fuzz/target.h"
#include "redis/format/reassertion.h"

namespace {

constexpr std::string_view kKey = "00112233445566778899aabbccddeeff";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockkeeper;
  std::string_view rest = fuzz::TextOf(data, size);
  const std::string key(fuzz::TakeField(rest));
  const std::string name(fuzz::TakeField(rest));
  const core::LeaseId id = *core::LeaseId::Parse("00112233445566778899aabbccddeeff");
  const redis::ProvedLease lease{name, id, core::FencingToken{7}, "ada"};

  redis::Reassertions proofs;
  proofs.SetKey(kKey);
  const auto terms = proofs.Check(lease, rest);
  if (terms) fuzz::Require(proofs.Make(lease, *terms) == rest, "a proof is what Make() made");

  const redis::ProvedTerms granted{core::Millis(5'000), core::Millis(0), {}, {1'700'000'000}};
  const std::string made = proofs.Make(lease, granted);
  fuzz::Require(proofs.Check(lease, made) == granted, "what Make() made is a proof");
  if (absl::AsciiStrToLower(key) != kKey) {
    proofs.SetKey(key);
    fuzz::Require(!proofs.Check(lease, made), "a proof is none with another key");
  }
  return 0;
}
