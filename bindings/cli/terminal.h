// What text output is made of: tones, tables, bars. Colour appears only when standard output is a terminal, NO_COLOR is
// unset and TERM is not "dumb"; what is written into files and pipes is plain text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mycel::cli {

enum class Tone : uint8_t { kPlain, kStrong, kFaint, kGood, kBad };

/// Whether standard output takes colours.
bool ColourOn();
std::string Painted(Tone tone, std::string_view text);

/// `text` with control characters (which names in files may contain) replaced by '?'; newlines stay.
std::string Printable(std::string_view text);

/// About `digits` significant digits, never an exponent: 0.0123, 57.14, 1234.
std::string Decimal(double value, int digits = 4);
/// Microseconds in the unit that reads best: "0.7 us", "12.3 ms", "1.05 s".
std::string Duration(double us);
/// A number of bytes for eyes: "64 MiB", "1000 bytes".
std::string SizeText(int64_t bytes);
/// About so many bytes: "454.4 MiB" where SizeText would say "476440075 bytes".
std::string RoughSize(int64_t bytes);
/// 0.1538 -> "15.4 %".
std::string Percent(double fraction);
/// A bar of `width` characters, `fraction` (0..1) of it filled.
std::string Bar(double fraction, int width);

/// One of a list as people write it: "gpu0 gpu1 gpu2 gpu3" -> "gpu0..gpu3". Order is kept; runs are of three or more
/// names that differ only in a number that grows by one.
std::string JoinNames(const std::vector<std::string>& names);
/// "1 rank", "3 ranks", "2 switches".
std::string Counted(int64_t count, const std::string& noun);

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
  Cell(std::string value, Tone tone_value = Tone::kPlain)  // NOLINT(google-explicit-constructor): a text is a cell
      : text(std::move(value)), tone(tone_value) {}
  Cell(const char* value) : text(value) {}  // NOLINT(google-explicit-constructor)
};

/// Rows whose columns line up. A header that begins with '>' is right-aligned, and so is its column.
class Table {
 public:
  explicit Table(std::vector<std::string> headers, std::string indent = "  ");
  void Add(std::vector<Cell> row);
  /// A line of its own under the last row, not in columns.
  void AddNote(const std::string& text);
  bool empty() const { return rows_.empty(); }
  std::string ToText() const;

 private:
  std::string Line(const std::vector<Cell>& row, const std::vector<size_t>& widths) const;

  std::vector<Cell> headers_;
  std::vector<bool> right_;
  std::string indent_;
  std::vector<std::vector<Cell>> rows_;  // a note is a row of one cell (tables have at least two columns)
};

}  // namespace mycel::cli
