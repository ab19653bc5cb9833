// SPDX-License-Identifier: Apache-2.0
#include "man/roff.h"

#include <algorithm>
#include <cctype>

namespace lockkeeper::man {
namespace {

// roff would make typographic signs of some of these, and commands of others.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '"':
        escaped += "\\(dq";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      default:
        escaped += c;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace

Roff::Roff(std::string_view name, int section, std::string_view source) {
  page_ = ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH \"" + Escaped(Upper(name)) + "\" \"" +
          std::to_string(section) + "\" \"\" \"" + Escaped(source) + "\" \"lockkeeper\"\n";
}

void Roff::Line(std::string_view macro, std::string_view argument) {
  page_ += std::string(macro) + " \"" + Escaped(argument) + "\"\n";
}

void Roff::Text(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (begin > 0) page_ += ".br\n";
    line.remove_prefix(begin);
    if (!line.empty()) page_ += Escaped(line) + "\n";
  }
}

void Roff::Section(std::string_view title) { Line(".SH", Upper(title)); }

void Roff::Subsection(std::string_view title) { Line(".SS", title); }

void Roff::Paragraph(std::string_view text) {
  page_ += ".PP\n";
  Text(text);
}

void Roff::Item(std::string_view term, std::string_view text) {
  page_ += ".TP\n";
  Line(".B", term);
  Text(text);
}

}  // namespace lockkeeper::man
