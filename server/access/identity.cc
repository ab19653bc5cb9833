// SPDX-License-Identifier: Apache-2.0
#include "access/identity.h"

#include "text/utf8.h"

namespace lockkeeper::access {

std::string_view NameOf(Proof proof) {
  switch (proof) {
    case Proof::kNone:
      return "anonymous";
    case Proof::kCertificate:
      return "certificate";
    case Proof::kToken:
      return "token";
    case Proof::kJwt:
      return "jwt";
  }
  return "";
}

std::string DescriptionOf(const Identity& identity) {
  if (identity.proof == Proof::kNone) return "an anonymous caller";
  return "principal " + text::Quoted(identity.principal) + " (" +
         std::string(NameOf(identity.proof)) + ")";
}

bool IsPrincipal(std::string_view name) {
  return !name.empty() && name.size() <= kPrincipalBytesMax && name != kAnonymous &&
         text::FindTextFault(name) == text::TextFault::kNone;
}

text::Problem CheckPrincipal(std::string_view name) {
  if (IsPrincipal(name)) return std::nullopt;
  return "must be 1 to " + std::to_string(kPrincipalBytesMax) +
         " bytes of UTF-8 without control characters, and not \"" + std::string(kAnonymous) +
         "\", is " + text::Quoted(name);
}

}  // namespace lockkeeper::access
