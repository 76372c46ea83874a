#include "bindings/cli/terminal.h"

#include <gtest/gtest.h>

namespace mycel::cli {
namespace {

TEST(Terminal, NumbersForEyes) {
  EXPECT_EQ(Decimal(57.142857), "57.14");
  EXPECT_EQ(Decimal(0), "0");
  EXPECT_EQ(Decimal(1234567), "1234567");
  EXPECT_EQ(Decimal(0.000123456), "0.0001235");
  EXPECT_EQ(Decimal(300), "300");
  EXPECT_EQ(Decimal(-2.5), "-2.5");
  EXPECT_EQ(Decimal(1.0 / 0.0), "inf");
  EXPECT_EQ(Duration(0.7), "0.7 us");
  EXPECT_EQ(Duration(12345), "12.35 ms");
  EXPECT_EQ(Duration(2.5e6), "2.5 s");
  EXPECT_EQ(SizeText(64 << 20), "64 MiB");
  EXPECT_EQ(SizeText(1000), "1000 bytes");
  EXPECT_EQ(SizeText(1), "1 byte");
  EXPECT_EQ(SizeText(0), "0 bytes");
  EXPECT_EQ(Percent(0.153846), "15.4 %");
  EXPECT_EQ(Percent(1), "100 %");
  EXPECT_EQ(Counted(1, "switch"), "1 switch");
  EXPECT_EQ(Counted(2, "switch"), "2 switches");
  EXPECT_EQ(Counted(0, "rank"), "0 ranks");
}

TEST(Terminal, Bars) {
  EXPECT_EQ(Bar(0.5, 4), "##..");
  EXPECT_EQ(Bar(7, 3), "###");
  EXPECT_EQ(Bar(-1, 3), "...");
}

TEST(Terminal, RunsOfNames) {
  EXPECT_EQ(JoinNames({"gpu0", "gpu1", "gpu2", "gpu3"}), "gpu0..gpu3");
  EXPECT_EQ(JoinNames({"gpu0", "gpu1", "ib", "gpu4", "gpu5", "gpu6"}), "gpu0 gpu1 ib gpu4..gpu6");
  EXPECT_EQ(JoinNames({"a9", "a10", "a11"}), "a9..a11");
  EXPECT_EQ(JoinNames({"a01", "a02", "a03"}), "a01 a02 a03");  // zeros in front are part of the name
  EXPECT_EQ(JoinNames({"3", "4", "5"}), "3..5");
  EXPECT_EQ(JoinNames({}), "");
  EXPECT_EQ(JoinNames({"x99999999999999999999", "y"}), "x99999999999999999999 y");
}

TEST(Terminal, ControlCharactersNeverReachIt) {
  EXPECT_EQ(Printable("a\033[31mb\tc\nd\x7f"), "a?[31mb?c\nd?");
  EXPECT_EQ(JoinNames({"a\033"}), "a?");
}

TEST(Terminal, TablesLineUp) {
  Table table({"name", ">size", "what"}, "");
  table.Add({"a", "1", "x"});
  table.Add({"long name", "1000", ""});
  table.AddNote("a note");
  table.Add({"\xC3\xBC", "22", "y"});
  EXPECT_EQ(table.ToText(),
            "name       size  what\n"
            "a             1  x\n"
            "long name  1000\n"
            "    a note\n"
            "\xC3\xBC            22  y\n");
}

}  // namespace
}  // namespace mycel::cli
