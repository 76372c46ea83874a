#include "bindings/cli/svg_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/base/check.h"

namespace mycel::cli {
namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0 when there is none that XML allows.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t bytes = lead >= 0xc2 && lead < 0xe0   ? 2
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xf0 && lead < 0xf5 ? 4
                                                     : 0;
  if (bytes == 0 || at + bytes > text.size()) return 0;
  uint32_t code = lead & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80U) return 0;
    code = (code << 6) | (byte(at + i) & 0x3fU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool forbidden = (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return overlong || forbidden ? 0 : bytes;
}

std::string PointText(Point point) { return XmlNumber(point.x) + " " + XmlNumber(point.y); }

}  // namespace

std::string XmlText(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterBytes(text, at);
    const char c = text[at];
    if (bytes == 0) {
      out += '?';
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += text.substr(at, bytes);
    }
    at += std::max<size_t>(1, bytes);
  }
  return out;
}

std::string XmlNumber(double value) {
  const double tenths = std::round(value * 10);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", tenths == 0 ? 0.0 : tenths / 10);
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

std::string PathOf(const Curve& curve) {
  return "M" + PointText(curve.from) + "C" + PointText(curve.control1) + " " + PointText(curve.control2) + " " +
         PointText(curve.to);
}

std::string PathOf(const std::vector<Point>& polygon) {
  std::string out;
  for (const Point point : polygon) out += (out.empty() ? "M" : "L") + PointText(point);
  return out + "Z";
}

SvgWriter::SvgWriter(double width, double height) {
  text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  Open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
               {"width", XmlNumber(width)},
               {"height", XmlNumber(height)},
               {"viewBox", "0 0 " + XmlNumber(width) + " " + XmlNumber(height)},
               {"font-family", "Helvetica, Arial, 'DejaVu Sans', sans-serif"}});
}

void SvgWriter::Begin(std::string_view name, const XmlAttributes& attributes) {
  text_ += "<" + std::string(name);
  for (const auto& [key, value] : attributes) text_ += " " + std::string(key) + "=\"" + XmlText(value) + "\"";
}

void SvgWriter::Open(std::string_view name, const XmlAttributes& attributes) {
  Begin(name, attributes);
  text_ += ">\n";
  open_.emplace_back(name);
}

void SvgWriter::Close() {
  MYCEL_CHECK(!open_.empty());
  text_ += "</" + open_.back() + ">\n";
  open_.pop_back();
}

void SvgWriter::Add(std::string_view name, const XmlAttributes& attributes, std::string_view title) {
  Begin(name, attributes);
  text_ += title.empty() ? "/>\n" : "><title>" + XmlText(title) + "</title></" + std::string(name) + ">\n";
}

void SvgWriter::AddTitle(std::string_view title) { text_ += "<title>" + XmlText(title) + "</title>\n"; }

void SvgWriter::AddText(Point at, std::string_view text, double size, std::string_view colour, std::string_view anchor,
                        bool bold) {
  XmlAttributes attributes = {
      {"x", XmlNumber(at.x)}, {"y", XmlNumber(at.y)}, {"font-size", XmlNumber(size)}, {"fill", std::string(colour)}};
  if (anchor != "start") attributes.emplace_back("text-anchor", anchor);
  if (bold) attributes.emplace_back("font-weight", "bold");
  Begin("text", attributes);
  text_ += ">" + XmlText(text) + "</text>\n";
}

std::string SvgWriter::Take() {
  while (!open_.empty()) Close();
  return std::move(text_);
}

}  // namespace mycel::cli
