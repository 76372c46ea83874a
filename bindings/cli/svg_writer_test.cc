#include "bindings/cli/svg_writer.h"

#include <gtest/gtest.h>

namespace mycel::cli {
namespace {

TEST(SvgWriter, EscapesMarkupAndReplacesWhatXmlForbids) {
  EXPECT_EQ(XmlText("plain 8x8"), "plain 8x8");
  EXPECT_EQ(XmlText("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c'");
  EXPECT_EQ(XmlText("\xc3\xa9\xe2\x82\xac\xf0\x9f\x8d\x84"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8d\x84");
  EXPECT_EQ(XmlText(std::string_view("a\0b\x1f\x7f\n", 6)), "a?b???");
  EXPECT_EQ(XmlText("\xff\xc3"), "??");            // no UTF-8, and a character cut off
  EXPECT_EQ(XmlText("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(XmlText("\xe0\x80\xaf"), "???");       // overlong
  EXPECT_EQ(XmlText("\xed\xa0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(XmlText("\xef\xbf\xbf"), "???");       // U+FFFF is no XML character
  EXPECT_EQ(XmlText("\xf4\x90\x80\x80"), "????");  // beyond Unicode
}

TEST(SvgWriter, NumbersHaveOneDecimal) {
  EXPECT_EQ(XmlNumber(3), "3");
  EXPECT_EQ(XmlNumber(12.54), "12.5");
  EXPECT_EQ(XmlNumber(-0.04), "0");
  EXPECT_EQ(XmlNumber(-0.4), "-0.4");
  EXPECT_EQ(XmlNumber(99.96), "100");
}

TEST(SvgWriter, ClosesWhatIsOpen) {
  SvgWriter svg(20, 10);
  svg.Open("g", {{"class", "a\"b"}});
  svg.Add("path", {{"d", "M0 0"}}, "title & more");
  svg.AddText({1, 2}, "x<y", 12, "#000000");
  const std::string text = svg.Take();
  EXPECT_EQ(text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"10\" viewBox=\"0 0 20 10\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
            "<g class=\"a&quot;b\">\n"
            "<path d=\"M0 0\"><title>title &amp; more</title></path>\n"
            "<text x=\"1\" y=\"2\" font-size=\"12\" fill=\"#000000\">x&lt;y</text>\n"
            "</g>\n</svg>\n");
}

}  // namespace
}  // namespace mycel::cli
