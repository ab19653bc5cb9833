// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace lockkeeper::bench {
namespace {

std::vector<double> Sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double Median(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

std::string Number(double value, int decimals = 3) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= ' ') quoted += c;
  }
  return quoted + "\"";
}

// The medians of a row's figures.
Figures MediansOf(const Report& report, const Row& row) {
  Figures medians;
  for (const auto& [figure, value] : report.rounds.front().at(row.name)) {
    std::vector<double> values;
    values.reserve(report.rounds.size());
    for (const Round& round : report.rounds) values.push_back(round.at(row.name).at(figure));
    medians[figure] = Median(Sorted(std::move(values)));
  }
  return medians;
}

std::vector<double> ValuesOf(const Report& report, const Ratio& ratio) {
  std::vector<double> values;
  values.reserve(report.rounds.size());
  for (const Round& round : report.rounds) values.push_back(ratio.of(round));
  return Sorted(std::move(values));
}

std::string Cell(const Figures& figures, const std::string& figure, int decimals) {
  const auto found = figures.find(figure);
  return " | " + (found == figures.end() ? "" : Number(found->second, decimals));
}

// An object of what `write` makes of each element.
template <typename Elements, typename Write>
std::string Object(const Elements& elements, const Write& write) {
  std::string text;
  for (const auto& element : elements) {
    const auto [name, value] = write(element);
    text.append(text.empty() ? "" : ", ").append(Quoted(name)).append(": ").append(value);
  }
  return "{" + text + "}";
}

using Member = std::pair<std::string, std::string>;

}  // namespace

std::string ToMarkdown(const Report& report) {
  std::ostringstream text;
  for (const auto& [name, value] : report.machine) text << "- " << name << ": " << value << "\n";
  text << "- command: `" << report.command << "`, medians of " << report.rounds.size()
       << " rounds\n- other programs used "
       << Number(100 * Median(Sorted(report.other_programs)), 0) << " % of the machine (up to "
       << Number(100 * Sorted(report.other_programs).back(), 0) << " % in a round)\n";
  for (const auto& [row, why] : report.left_out) {
    text << "- left out: " << row << ", because " << why << "\n";
  }
  text << "\n";
  text << "| row | what | per second | p50 µs | p99 µs | server's CPU µs per rpc |\n"
       << "|---|---|---|---|---|---|\n";
  for (const Row& row : report.rows) {
    const Figures medians = MediansOf(report, row);
    text << "| " << row.name << " | " << row.what << Cell(medians, row.rate, 0)
         << Cell(medians, row.latency + "_p50_us", 0) << Cell(medians, row.latency + "_p99_us", 0)
         << Cell(medians, "server_cpu_us_per_rpc", 1) << " |\n";
  }
  text << "\n| ratio | what | target | median | lowest to highest |\n|---|---|---|---|---|\n";
  for (const Ratio& ratio : report.ratios) {
    const std::vector<double> values = ValuesOf(report, ratio);
    text << "| " << ratio.name << " | " << ratio.meaning << " | " << ratio.target << " | "
         << Number(Median(values)) << " | " << Number(values.front()) << " to "
         << Number(values.back()) << " |\n";
  }
  return text.str();
}

std::string ToJson(const Report& report) {
  const auto rows = [&](const Row& row) {
    return Member(row.name, Object(MediansOf(report, row), [](const auto& figure) {
                    return Member(figure.first, Number(figure.second));
                  }));
  };
  const auto medians = [&](const Ratio& ratio) {
    return Member(ratio.name, Number(Median(ValuesOf(report, ratio))));
  };
  const auto ranges = [&](const Ratio& ratio) {
    const std::vector<double> values = ValuesOf(report, ratio);
    return Member(ratio.name, "[" + Number(values.front()) + ", " + Number(values.back()) + "]");
  };
  std::string others;
  for (const double share : report.other_programs) {
    others.append(others.empty() ? "" : ", ").append(Number(share));
  }
  const auto text = [](const auto& fact) { return Member(fact.first, Quoted(fact.second)); };
  return Object(std::vector<Member>{{"machine", Object(report.machine, text)},
                                    {"rows", Object(report.rows, rows)},
                                    {"ratios", Object(report.ratios, medians)},
                                    {"ratio_ranges", Object(report.ratios, ranges)},
                                    {"left_out", Object(report.left_out, text)},
                                    {"other_programs", "[" + others + "]"}},
                [](const Member& member) { return member; }) +
         "\n";
}

}  // namespace lockkeeper::bench
