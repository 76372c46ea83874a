#include "bindings/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace mycel::cli {
namespace {

/// Columns that a UTF-8 text takes, one for each character.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

struct Numbered {
  std::string_view stem;
  int64_t number = -1;  // -1: the name does not end in a number
};

Numbered Split(const std::string& name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::string_view all = name;
  // A leading zero would be lost, and nine digits always fit.
  const bool plain =
      digits < name.size() && name.size() - digits <= 9 && (name[digits] != '0' || digits + 1 == name.size());
  if (!plain) return {all, -1};
  return {all.substr(0, digits), std::strtoll(name.c_str() + digits, nullptr, 10)};
}

}  // namespace

bool ColourOn() {
  static const bool on = [] {
    const char* term = std::getenv("TERM");
    const char* no_colour = std::getenv("NO_COLOR");
    if (no_colour != nullptr && *no_colour != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  }();
  return on;
}

std::string Painted(Tone tone, std::string_view text) {
  static constexpr std::string_view kCodes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
  if (!ColourOn() || tone == Tone::kPlain) return std::string(text);
  return std::string(kCodes[static_cast<size_t>(tone)]) + std::string(text) + "\033[0m";
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) c = '?';
  }
  return out;
}

std::string Decimal(double value, int digits) {
  if (!std::isfinite(value)) return value > 0 ? "inf" : "nan";
  const int magnitude = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  char buffer[400];  // the largest double has 309 digits
  std::snprintf(buffer, sizeof buffer, "%.*f", std::clamp(digits - 1 - magnitude, 0, 20), value);
  std::string text = buffer;
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string Duration(double us) {
  if (us >= 1e6) return Decimal(us / 1e6) + " s";
  if (us >= 1e3) return Decimal(us / 1e3) + " ms";
  return Decimal(us) + " us";
}

std::string SizeText(int64_t bytes) {
  std::string text = FormatBytes(bytes);
  if (text.back() >= '0' && text.back() <= '9') return Counted(bytes, "byte");
  text.insert(text.size() - 1, " ");
  return text + "iB";
}

std::string RoughSize(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {" KiB", " MiB", " GiB", " TiB", " PiB"};
  if (bytes < 1024) return SizeText(bytes);
  auto value = static_cast<double>(bytes);
  size_t power = 0;
  // What would be rounded to 1024 of one unit is 1 of the next.
  for (; value >= 1023.95 && power < kUnits.size(); ++power) value /= 1024;
  return Decimal(value) + kUnits[power - 1];
}

std::string Percent(double fraction) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.1f", 100 * fraction);
  std::string text = buffer;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " %";
}

std::string Bar(double fraction, int width) {
  const double share = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(std::lround(share * width));
  return std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(width - filled), '.');
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size();) {
    const Numbered first = Split(names[i]);
    size_t end = i + 1;
    while (first.number >= 0 && end < names.size()) {
      const Numbered next = Split(names[end]);
      if (next.stem != first.stem || next.number != first.number + static_cast<int64_t>(end - i)) break;
      ++end;
    }
    if (end - i < 3) end = i + 1;
    out += (out.empty() ? "" : " ") + Printable(names[i]);
    if (end - i >= 3) out += ".." + Printable(names[end - 1]);
    i = end;
  }
  return out;
}

std::string Counted(int64_t count, const std::string& noun) {
  const bool hisses = noun.ends_with("ch") || noun.ends_with("sh") || noun.ends_with("s");
  return std::to_string(count) + " " + noun + (count == 1 ? "" : hisses ? "es" : "s");
}

Table::Table(std::vector<std::string> headers, std::string indent) : indent_(std::move(indent)) {
  for (std::string& header : headers) {
    right_.push_back(header.starts_with(">"));
    headers_.emplace_back(right_.back() ? header.substr(1) : std::move(header), Tone::kFaint);
  }
}

void Table::Add(std::vector<Cell> row) {
  MYCEL_CHECK_EQ(row.size(), headers_.size());
  MYCEL_CHECK_GE(row.size(), size_t{2});
  for (Cell& cell : row) cell.text = Printable(cell.text);
  rows_.push_back(std::move(row));
}

void Table::AddNote(const std::string& text) { rows_.push_back({Cell(Printable(text), Tone::kFaint)}); }

std::string Table::Line(const std::vector<Cell>& row, const std::vector<size_t>& widths) const {
  std::string line = indent_;
  std::string gap;  // spaces that only matter when something follows
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string space(widths[i] - WidthOf(row[i].text), ' ');
    if (right_[i]) gap += space;
    if (!row[i].text.empty()) {
      line += gap + Painted(row[i].tone, row[i].text);
      gap.clear();
    }
    if (!right_[i]) gap += space;
    gap += "  ";
  }
  return line + "\n";
}

std::string Table::ToText() const {
  std::vector<size_t> widths;
  for (const Cell& header : headers_) widths.push_back(WidthOf(header.text));
  for (const std::vector<Cell>& row : rows_) {
    if (row.size() == 1) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i].text));
  }
  std::string text;
  const bool titled = std::any_of(headers_.begin(), headers_.end(), [](const Cell& c) { return !c.text.empty(); });
  if (titled) text += Line(headers_, widths);
  for (const std::vector<Cell>& row : rows_) {
    const bool note = row.size() == 1;
    text += note ? indent_ + "    " + Painted(row[0].tone, row[0].text) + "\n" : Line(row, widths);
  }
  return text;
}

}  // namespace mycel::cli
