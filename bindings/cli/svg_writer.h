// Writes SVG 1.1 as text: elements with attributes, escaped whatever the names hold. Numbers have one decimal, so equal
// drawings are equal texts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/curve.h"

namespace mycel::cli {

/// `text` as XML content or attribute value: markup characters escaped, bytes that are no UTF-8 and control characters
/// replaced by '?', since XML allows neither.
std::string XmlText(std::string_view text);
/// One decimal, no trailing zero: "12.5", "3", "-0.4" (but never "-0").
std::string XmlNumber(double value);

/// The value of a `d` attribute.
std::string PathOf(const Curve& curve);
/// A closed polygon.
std::string PathOf(const std::vector<Point>& polygon);

using XmlAttributes = std::vector<std::pair<std::string_view, std::string>>;

class SvgWriter {
 public:
  /// A document of `width` x `height` pixels.
  SvgWriter(double width, double height);

  void Open(std::string_view name, const XmlAttributes& attributes);
  void Close();
  /// An element without children; `title`, when not empty, is what a viewer shows when pointed at.
  void Add(std::string_view name, const XmlAttributes& attributes, std::string_view title = {});
  void AddTitle(std::string_view title);
  /// `anchor`: start, middle or end.
  void AddText(Point at, std::string_view text, double size, std::string_view colour, std::string_view anchor = "start",
               bool bold = false);
  /// The whole document; nothing may be added afterwards.
  std::string Take();

 private:
  void Begin(std::string_view name, const XmlAttributes& attributes);

  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace mycel::cli
