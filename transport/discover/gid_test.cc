// GID tables as ports have them, and the address each should be used with.
#include "transport/discover/gid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

using testing::HasSubstr;

struct Row {
  int32_t index;
  const char* gid;
  const char* type;  // nullptr: the kernel refuses to say
};

/// The table as /sys shows it.
std::vector<GidEntry> Table(const std::vector<Row>& rows) {
  RecordedFiles files;
  for (const Row& row : rows) {
    const std::string index = std::to_string(row.index);
    files.lines["port/gids/" + index] = row.gid;
    if (row.type != nullptr) files.lines["port/gid_attrs/types/" + index] = row.type;
  }
  return ReadGids(files, "port");
}

constexpr const char* kLinkLocal = "fe80:0000:0000:0000:966d:aeff:fe1c:0001";
constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a00:0307";
constexpr const char* kIpv4LinkLocal = "0000:0000:0000:0000:0000:ffff:a9fe:0107";
constexpr const char* kGlobal = "2001:0db8:0000:0000:0000:0000:0000:0042";
constexpr const char* kUnused = "0000:0000:0000:0000:0000:0000:0000:0000";

void ExpectChoice(const std::vector<Row>& rows, const std::string& link_layer, int32_t index,
                  const std::string& address, const std::string& reason) {
  const std::optional<GidChoice> choice = ChooseGid(Table(rows), link_layer);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->entry.index, index);
  EXPECT_EQ(choice->address, address);
  EXPECT_THAT(choice->reason, HasSubstr(reason));
}

TEST(GidTest, TheUsualTableOfARoceCard) {
  ExpectChoice(
      {{0, kLinkLocal, "IB/RoCE v1"}, {1, kLinkLocal, "RoCE v2"}, {2, kIpv4, "IB/RoCE v1"}, {3, kIpv4, "RoCE v2"}},
      "Ethernet", 3, "10.0.3.7", "RoCE v2, routable");
}

TEST(GidTest, SparseTableWhoseEmptyEntriesRefuseTheirAttributes) {
  ExpectChoice({{0, kUnused, nullptr},
                {1, kLinkLocal, "RoCE v2"},
                {2, kUnused, nullptr},
                {10, kIpv4, "RoCE v2"},
                {200, kIpv4, "RoCE v2"},
                {255, kUnused, nullptr}},
               "Ethernet", 10, "10.0.3.7", "routable");
}

TEST(GidTest, Ipv6Only) {
  ExpectChoice(
      {{0, kLinkLocal, "IB/RoCE v1"}, {1, kLinkLocal, "RoCE v2"}, {4, kGlobal, "IB/RoCE v1"}, {5, kGlobal, "RoCE v2"}},
      "Ethernet", 5, "2001:db8::42", "routable");
}

TEST(GidTest, LinkLocalOnlyIsSaid) {
  ExpectChoice({{0, kLinkLocal, "IB/RoCE v1"}, {1, kLinkLocal, "RoCE v2"}, {3, kIpv4LinkLocal, "RoCE v2"}}, "Ethernet",
               1, "fe80::966d:aeff:fe1c:1", "link-local");
}

TEST(GidTest, RoceV1IsNotRoutableWhateverItsAddress) {
  ExpectChoice({{0, kIpv4, "IB/RoCE v1"}, {1, kLinkLocal, "RoCE v2"}}, "Ethernet", 1, "fe80::966d:aeff:fe1c:1", "v2");
  ExpectChoice({{0, kLinkLocal, "IB/RoCE v1"}, {2, kIpv4, "IB/RoCE v1"}}, "Ethernet", 0, "fe80::966d:aeff:fe1c:1",
               "RoCE v1");
}

TEST(GidTest, InfiniBandTakesTheFirst) {
  ExpectChoice({{0, kLinkLocal, "IB/RoCE v1"}, {1, kGlobal, nullptr}}, "InfiniBand", 0, "fe80::966d:aeff:fe1c:1",
               "LID");
}

TEST(GidTest, EmptyTableHasNone) {
  EXPECT_FALSE(ChooseGid(Table({{0, kUnused, nullptr}, {1, kUnused, nullptr}}), "Ethernet").has_value());
  EXPECT_FALSE(ChooseGid(Table({{0, "no gid", "RoCE v2"}}), "Ethernet").has_value());
  EXPECT_FALSE(ParseGid("fe80").ok());
}

}  // namespace
}  // namespace mycel
