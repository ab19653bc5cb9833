// SPDX-License-Identifier: Apache-2.0
#include "config/url.h"

namespace lockkeeper::config {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::string_view kTlsScheme = "rediss://";

// Begin and end of the password in `url`; equal if there is none.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// From the first colon after the scheme to the last '@', because a password that was not
// percent-encoded may contain '/', '?' and '@'.
Range PasswordIn(std::string_view url) {
  const size_t scheme_end = url.find("://");
  const size_t begin = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  const size_t at = url.rfind('@');
  const size_t colon = url.find(':', begin);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) return {};
  return {.begin = colon + 1, .end = at};
}

}  // namespace

std::string MaskUrl(const text::Secret& url) {
  std::string text = url.reveal();
  const Range password = PasswordIn(text);
  if (password.begin < password.end) {
    text.replace(password.begin, password.end - password.begin, kMask);
  }
  // Not a parameter of ours, but one that URLs of other programs have, so it may be here by
  // mistake.
  constexpr std::string_view kParameter = "password=";
  if (const size_t found = text.find(kParameter); found != std::string::npos) {
    text.replace(found + kParameter.size(), std::string::npos, kMask);
  }
  return text;
}

bool HasPassword(const text::Secret& url) {
  const Range password = PasswordIn(url.reveal());
  return password.begin < password.end;
}

bool AsksForTls(const text::Secret& url) { return url.reveal().starts_with(kTlsScheme); }

text::Problem CheckStoreUrl(std::string_view url) {
  if (url.empty() || url.starts_with("redis://") || url.starts_with(kTlsScheme) ||
      url.starts_with("unix://")) {
    return std::nullopt;
  }
  return "must be redis://[user:password@]host:port[/db], rediss://... (TLS) or "
         "unix:///path?db=N";
}

}  // namespace lockkeeper::config
