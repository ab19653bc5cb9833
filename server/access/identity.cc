// SPDX-License-Identifier: Apache-2.0
#include "access/identity.h"

#include "text/problem.h"

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

}  // namespace lockkeeper::access
