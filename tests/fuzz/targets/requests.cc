// SPDX-License-Identifier: Apache-2.0
//
// Messages of clients. The first byte says which message the rest is. What is accepted is within
// the limits.
#include <iterator>
#include <string_view>

#include "core/limits.h"
#include "core/validation.h"
#include "fuzz/target.h"
#include "google/protobuf/stubs/logging.h"
#include "rpc/operation.h"
#include "text/utf8.h"

namespace lockkeeper {
namespace {

template <typename Message>
void Check(const Message& message) {
  const core::ConfiguredLimits limits;
  rpc::Operation operation;
  rpc::Read(message, operation);
  rpc::ApplyDefaults(limits, operation);
  const auto subject = rpc::SubjectOf(operation);
  if (!rpc::Validate(operation, limits).ok()) return;
  fuzz::Require(subject.lock_name.size() <= core::limits::kNameBytesMax,
                "the name of an accepted lock is within the limit");
  fuzz::Require(text::FindTextFault(subject.lock_name) == text::TextFault::kNone,
                "the name of an accepted lock can be shown");
  fuzz::Require(text::FindTextFault(subject.owner) == text::TextFault::kNone,
                "an accepted owner can be shown");
}

template <typename Message>
void Parse(std::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) Check(message);
}

void ParseOfSession(std::string_view bytes) {
  v1::SessionRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  if (message.has_open()) Check(message.open());
  for (const auto& operation : message.batch().operations()) Check(operation);
  if (message.has_adopt()) Check(message.adopt());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // It logs each text that is no UTF-8.
  static auto* const kBefore = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(kBefore);
  if (size == 0) return 0;
  const auto bytes = fuzz::TextOf(data + 1, size - 1);
  constexpr void (*kParsers[])(std::string_view) = {
      ParseOfSession,
      Parse<v1::AcquireRequest>,
      Parse<v1::ExtendRequest>,
      Parse<v1::ReleaseRequest>,
      Parse<v1::FenceRequest>,
      Parse<admin::v1::GetLockRequest>,
      Parse<admin::v1::ListLocksRequest>,
      Parse<admin::v1::ForceReleaseRequest>,
      Parse<admin::v1::EndQuarantineRequest>,
      Parse<admin::v1::DrainRequest>,
      Parse<admin::v1::GetServerInfoRequest>,
      Parse<admin::v1::WatchLocksRequest>,
      Parse<admin::v1::ListContendedLocksRequest>,
  };
  kParsers[data[0] % std::size(kParsers)](bytes);
  return 0;
}

}  // namespace lockkeeper
