// `mycel plan --svg`: what is in the drawing, read back as XML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bindings/cli/run_cli.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"

namespace mycel::cli {
namespace {

using testing::HasSubstr;

constexpr size_t kFileBytesMax = 4'000'000;

/// A drawing with what is counted in it.
struct Drawing {
  std::string text;
  std::vector<std::string> ranks;      // labels of circles
  std::vector<std::string> titles;     // of ranks and switches
  std::vector<int> strands;            // of each tree
  std::vector<std::string> texts;      // all
  std::map<std::string, int> of_kind;  // elements by class
  int panels = 0;
  int switches = 0;
  int cuts = 0;
  std::string cut_names;  // of the first panel
};

class Walker : public pugi::xml_tree_walker {
 public:
  explicit Walker(Drawing* drawing) : drawing_(*drawing) {}
  bool for_each(pugi::xml_node& node) override {
    const std::string kind = node.attribute("class").value();
    const std::string name = node.name();
    EXPECT_NE(name, "script");
    EXPECT_NE(name, "image");
    EXPECT_FALSE(node.attribute("href") || node.attribute("xlink:href") || node.attribute("onload")) << name;
    if (!kind.empty()) ++drawing_.of_kind[kind];
    if (name == "text") drawing_.texts.emplace_back(node.text().get());
    if (kind == "panel") ++drawing_.panels;
    if (kind == "switch") ++drawing_.switches;
    if (kind == "rank") drawing_.ranks.emplace_back(node.child("text").text().get());
    if (kind == "rank" || kind == "switch") drawing_.titles.emplace_back(node.child("title").text().get());
    if (kind == "tree") drawing_.strands.push_back(0);
    if (kind == "strand") ++drawing_.strands.back();
    if (kind == "cut" && ++drawing_.cuts == 1) drawing_.cut_names = node.child("title").text().get();
    return true;
  }

 private:
  Drawing& drawing_;
};

Drawing Draw(const std::string& topology, const std::string& collective, std::vector<std::string> more = {}) {
  SCOPED_TRACE(topology + " " + collective);
  const std::string file = TempPath("drawing.svg");
  std::filesystem::remove(file);
  std::vector<std::string> arguments = {"plan", "--topo", topology, "--collective", collective, "--svg", file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CliResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Drawing drawing;
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  drawing.text = text.str();
  EXPECT_LT(drawing.text.size(), kFileBytesMax);
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_string(drawing.text.c_str());
  EXPECT_TRUE(parsed) << parsed.description() << " at byte " << parsed.offset;
  EXPECT_STREQ(document.document_element().name(), "svg");
  EXPECT_STREQ(document.document_element().attribute("xmlns").value(), "http://www.w3.org/2000/svg");
  // Its own background, so that it can be read on any page.
  EXPECT_STREQ(document.document_element().child("rect").attribute("fill").value(), "#ffffff");
  Walker walker(&drawing);
  document.traverse(walker);
  return drawing;
}

/// Every rank once in each panel, every switch once, a cut.
void CheckNodes(const Drawing& drawing, const Topology& topology) {
  SCOPED_TRACE(topology.name());
  std::vector<std::string> ranks;
  for (int panel = 0; panel < drawing.panels; ++panel) {
    for (int rank = 0; rank < topology.rank_count(); ++rank) ranks.push_back(std::to_string(rank));
  }
  EXPECT_EQ(drawing.ranks, ranks);
  EXPECT_EQ(drawing.switches, drawing.panels * (topology.node_count() - topology.rank_count()));
  EXPECT_EQ(drawing.cuts, topology.rank_count() > 1 ? drawing.panels : 0);
}

TEST(PlanSvg, EveryMachineAndCollective) {
  for (const std::string topology : {"dgx-a100-x2", "dgx1-v100", "mi250", "fat-tree-2x4-oversub", "torus-4x4",
                                     "mesh-3x3", "mixed-14", "ring8", "ring2", "ring1", "random-1-6r2s", "host-4"}) {
    for (const std::string collective : {"allgather", "allreduce", "reduce", "broadcast"}) {
      CheckNodes(Draw(topology, collective, {"--lanes", "2"}), *GalleryTopology(topology));
    }
  }
  for (const std::string collective : {"alltoall", "gather", "scatter", "reduce_scatter"}) {
    const Drawing drawing = Draw("servers-2x4", collective, {"--lanes", "2"});
    CheckNodes(drawing, *GalleryTopology("servers-2x4"));
    EXPECT_EQ(drawing.panels, 1);
  }
}

TEST(PlanSvg, TreesHaveAnEdgeForEveryOtherRank) {
  struct Row {
    std::string topology, collective, planner;
    std::vector<int> strands;
  };
  // Where no switch is between, a tree edge is a link: n - 1 for each tree.
  const std::vector<Row> rows = {
      {"ring8", "allgather", "ring", {7, 7}},     {"ring8", "allreduce", "ring", {7, 7, 7, 7}},
      {"mesh-3x3", "allgather", "forest", {8}},   {"mesh-3x3", "reduce", "forest", {8, 8}},
      {"torus-4x4", "allgather", "forest", {15}}, {"fullmesh-8", "alltoall", "direct", {7}},
      {"fullmesh-8", "gather", "direct", {7}},
  };
  for (const Row& row : rows) {
    const Drawing drawing = Draw(row.topology, row.collective, {"--planner", row.planner});
    std::vector<int> strands = drawing.strands;
    std::sort(strands.begin(), strands.end());
    EXPECT_EQ(strands, row.strands) << row.topology << " " << row.collective;
    EXPECT_EQ(drawing.panels, row.collective == "allreduce" ? 2 : 1);
  }
  // Through a switch each edge has two links, and the link to the switch is shared: 1 up, n - 1 down.
  EXPECT_THAT(Draw("star-4-4-2-2", "allgather", {"--planner", "direct"}).strands, testing::ElementsAre(4));
}

TEST(PlanSvg, BeyondThePaletteTreesAreMerged) {
  const Drawing drawing = Draw("mi250-x2", "broadcast", {"--planner", "forest"});
  EXPECT_EQ(drawing.strands.size(), 8U);
  EXPECT_THAT(drawing.texts, testing::Contains(HasSubstr("16 trees from rank 0")));
  EXPECT_THAT(drawing.texts, testing::Contains(HasSubstr("9 more trees: 56.2 % of the data")));
}

TEST(PlanSvg, SaysWhatTheFiguresAre) {
  const Drawing drawing = Draw("mixed-14", "allgather", {"--planner", "forest"});
  EXPECT_EQ(drawing.cut_names, "gpu12 gpu13 host2");
  for (const char* said : {"allgather on mixed-14", "planner forest, 14 ranks, 64 MiB", "14.58 GB/s", "100 %",
                           "1/x* = 24/25 ns/B: 2 ranks, 12.5 GB/s in", "bottleneck cut", "1 tree from rank 0"}) {
    EXPECT_THAT(drawing.texts, testing::Contains(HasSubstr(said)));
  }
  const Drawing reduced = Draw("ring4", "reduce", {"--root", "2"});
  EXPECT_THAT(reduced.texts, testing::Contains(HasSubstr("into rank 2")));
  EXPECT_THAT(reduced.texts, testing::Contains(HasSubstr("root 2")));
  // Of a reduce-scatter the data leave the smaller side.
  EXPECT_THAT(Draw("dgx-a100-x2", "reduce_scatter", {"--planner", "forest"}).texts,
              testing::Contains(HasSubstr("1/x* = 3/65 ns/B: 1 rank, 325 GB/s out")));
}

TEST(PlanSvg, AnExchangeShowsItsServersAndStages) {
  const std::string file = WriteTemp("skewed.csv", "0,500000,4000000,0\n0,0,0,0\n0,0,0,0\n0,1000000,0,0\n");
  const std::vector<std::string> more = {"--planner", "fast", "--demand", file};
  const Drawing drawing = Draw("servers-2x2", "alltoallv", more);
  EXPECT_EQ(drawing.of_kind.at("cell"), 4);
  EXPECT_EQ(drawing.of_kind.at("binding"), 1);
  EXPECT_EQ(drawing.of_kind.at("send"), 2);
  EXPECT_EQ(drawing.of_kind.at("balance"), 2);  // 2 MB move in s0, half a MB in s1
  EXPECT_EQ(drawing.of_kind.at("onward"), 2);
  for (const char* said : {"alltoallv on servers-2x2", "planner fast, 4 ranks in 2 servers", "lower bound",
                           "What s0 sends sets the bound: 400 us", "1 stage, one to one",
                           "Of 4.768 MiB between servers 2.384 MiB (50 %) move within their server for balance",
                           "Without rebalancing at least 800 us (own way out of gpu0); planner direct: "}) {
    EXPECT_THAT(drawing.texts, testing::Contains(HasSubstr(said)));
  }
  EXPECT_THAT(drawing.text, HasSubstr("s0 -&gt; s1 in stage 1: 3.815 MiB, 400 us"));
  EXPECT_EQ(Draw("servers-2x2", "alltoallv", more).text, drawing.text);
  // No stages with planner direct; within one server there is only the fabric to show.
  const Drawing direct = Draw("servers-2x2", "alltoallv", {"--planner", "direct", "--demand", file});
  EXPECT_THAT(direct.texts, testing::Contains(HasSubstr("This plan has no stages")));
  EXPECT_EQ(direct.of_kind.count("send"), 0U);
  EXPECT_EQ(Draw("servers-1x4", "alltoallv", {"--demand", file}).panels, 1);
}

TEST(PlanSvg, EqualCallsGiveEqualFiles) {
  const std::vector<std::string> more = {"--planner", "forest", "--lanes", "2"};
  EXPECT_EQ(Draw("mi250-8plus8", "broadcast", more).text, Draw("mi250-8plus8", "broadcast", more).text);
}

TEST(PlanSvg, OddNamesStayText) {
  TopologyBuilder builder("<odd> & \"quoted\"");
  const NodeId a = builder.AddRank("a<b", Rank(0), "s<1>");
  const NodeId b = builder.AddRank("c&amp;d\"e", Rank(1), "s<1>");
  const NodeId c = builder.AddRank("x'y]]>", Rank(2), "s\"2\"");
  const NodeId d = builder.AddRank("\xc3\xa9", Rank(3), "s\"2\"");
  const NodeId sw = builder.AddSwitch("</svg>");
  for (const NodeId rank : {a, b, c, d}) builder.AddDuplex(rank, sw, Rational(1));
  const std::string file = WriteTemp("odd.json", WriteTopology(*std::move(builder).Build()));
  const Drawing drawing = Draw(file, "allgather");
  EXPECT_THAT(drawing.texts, testing::Contains("allgather on <odd> & \"quoted\""));
  for (const char* title : {"a<b, rank 0, server s<1>", "c&amp;d\"e, rank 1, server s<1>",
                            "x'y]]>, rank 2, server s\"2\"", "\xc3\xa9, rank 3, server s\"2\"", "</svg>, switch"}) {
    EXPECT_THAT(drawing.titles, testing::Contains(title));
  }
}

TEST(PlanSvg, AThousandRanks) {
  for (const std::string topology : {"ring1024", "fullmesh-256"}) {
    const std::string planner = topology == "ring1024" ? "ring" : "direct";
    CheckNodes(Draw(topology, "broadcast", {"--planner", planner, "--lanes", "1"}), *GalleryTopology(topology));
  }
}

TEST(PlanSvg, WhatCannotBeWrittenIsAnError) {
  ExpectRefused({"plan", "--topo", "ring4", "--collective", "allgather", "--svg", "/no/such/folder/x.svg"}, 3,
                {"/no/such/folder/x.svg", "folder"});
  ExpectRefused({"plan", "--topo", "ring4", "--collective", "allgather", "--svg", "/"}, 3, {"cannot write /"});
  ExpectRefused({"plan", "--topo", "ring4", "--collective", "allgather", "--svg"}, 2, {"--svg"});
}

}  // namespace
}  // namespace mycel::cli
