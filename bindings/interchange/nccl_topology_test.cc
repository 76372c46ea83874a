// Topology files of NCCL and RCCL: what they become, and how what is wrong with one is said.
#include "bindings/interchange/nccl_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/base/rng.h"
#include "core/topo/gallery.h"
#include "transport/discover/assemble.h"

namespace mycel {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Seed(const std::string& name) {
  std::ifstream in("bindings/interchange/nccl_topologies/" + name + ".xml");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << name;
  return text.str();
}

NcclTopology Read(const std::string& text) {
  StatusOr<NcclTopology> read = ReadNcclTopology(text, "FILE");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : NcclTopology();
}

Assembled Assemble(const NcclTopology& read, int times = 1) {
  std::vector<const Machine*> servers;
  for (int i = 0; i < times; ++i) {
    for (const Machine& machine : read.servers) servers.push_back(&machine);
  }
  StatusOr<Assembled> assembled = AssembleServers(servers, {"read", "", 1});
  EXPECT_TRUE(assembled.ok()) << assembled.status();
  return *std::move(assembled);
}

Rational Between(const Topology& topology, const std::string& from, const std::string& to) {
  for (const Link& link : topology.links()) {
    if (topology.node(link.source).id == from && topology.node(link.target).id == to) return link.bandwidth;
  }
  return Rational(0);
}

TEST(NcclTopologyTest, DumpsAreTheGallerysMachines) {
  const NcclTopology dgx = Read(Seed("dgx-h100"));
  EXPECT_TRUE(dgx.notes.empty());
  EXPECT_EQ(Assemble(dgx).topology.hash(), GalleryTopology("dgx-h100")->hash());
  EXPECT_EQ(Assemble(dgx, 2).topology.hash(), GalleryTopology("dgx-h100-x2")->hash());
  ASSERT_EQ(dgx.servers.size(), 1);
  const Machine& machine = dgx.servers[0];
  EXPECT_EQ(machine.gpus[5].pci.numa_node, 1);
  EXPECT_EQ(machine.gpus[5].pci.gbps, Rational(32 * 16 * 128, 8 * 130));
  const std::vector<std::vector<int32_t>> nics = NicsOfGpus(machine);
  EXPECT_EQ(machine.nics[static_cast<size_t>(nics[0].front())].name, "mlx5_2:1") << "of the same bridge";

  const NcclTopology mi = Read(Seed("mi300x"));
  EXPECT_EQ(Assemble(mi).topology.hash(), GalleryTopology("mi300x")->hash());
  EXPECT_EQ(Assemble(mi, 2).topology.hash(), GalleryTopology("mi300x-x2")->hash());
}

TEST(NcclTopologyTest, HostsAreToldApartAndRanksKeepTheirOrder) {
  const NcclTopology two = Read(Seed("two-hosts"));
  ASSERT_EQ(two.servers.size(), 2);
  EXPECT_EQ(two.servers[0].host, "0xa");
  EXPECT_THAT(two.notes, ElementsAre("<c2c> is not used", "<pcilink> is not used"));
  const Topology topology = Assemble(two).topology;
  EXPECT_EQ(Between(topology, "gpu0", "gpu1"), Rational(300));
  EXPECT_EQ(Between(topology, "gpu2", "gpu3"), Rational(300)) << "a target without a class";
  EXPECT_EQ(Between(topology, "s0.mlx5_0:1", "network"), Rational(25));
  EXPECT_EQ(Between(topology, "s1.eth0", "network"), Rational(25, 2)) << "of no PCI device";
}

/// A file whose parts can each be spoiled.
std::string File(const std::string& cpu, const std::string& pci, const std::string& gpu, const std::string& link,
                 const std::string& net) {
  return "<system version=\"1\">\n<cpu " + cpu + ">\n<pci " + pci + ">\n<gpu " + gpu + ">\n" + link +
         "\n</gpu></pci>\n<pci busid=\"0000:09:00.0\"><nic>\n" + net + "\n</nic></pci></cpu></system>\n";
}

constexpr const char* kCpu = "numaid=\"0\"";
constexpr const char* kPci = "busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\"";
constexpr const char* kGpu = "dev=\"0\" sm=\"90\" rank=\"0\"";
constexpr const char* kLink = "<nvlink target=\"0000:05:00.0\" count=\"2\" tclass=\"0x068000\"/>";
constexpr const char* kNet = "<net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" port=\"1\"/>";

TEST(NcclTopologyTest, RanksThatAreNotInOrderAreNumberedAnewAndThatIsSaid) {
  EXPECT_TRUE(Read(File(kCpu, kPci, kGpu, kLink, kNet)).notes.empty());
  EXPECT_THAT(Read(File(kCpu, kPci, "dev=\"0\" sm=\"90\" rank=\"8\"", kLink, kNet)).notes,
              ElementsAre(HasSubstr("numbered anew")));
}

TEST(NcclTopologyTest, AFileWithoutGpusHasThoseOfThePciClass) {
  const NcclTopology read = Read(R"(<system version="1"><cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/></pci></cpu></system>)");
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("the file has no <gpu>")));
  const Topology topology = Assemble(read).topology;
  EXPECT_EQ(topology.rank_count(), 2);
  EXPECT_EQ(Between(topology, "gpu0", "s0.pci-ffff:ff:01.0"), Rational(16 * 16 * 128, 8 * 130));
}

TEST(NcclTopologyTest, GenerationsHaveTheirSpeeds) {
  const auto speed = [](const std::string& gpu, const std::string& link) {
    return Read(File(kCpu, kPci, gpu, link, kNet)).servers[0].gpus[0].wires[0].gbps;
  };
  const auto nvlink = [&](const std::string& sm) { return speed("dev=\"0\" sm=\"" + sm + "\"", kLink); };
  EXPECT_EQ(nvlink("60"), Rational(20));
  EXPECT_EQ(nvlink("70"), Rational(25));
  EXPECT_EQ(nvlink("80"), Rational(25));
  EXPECT_EQ(nvlink("86"), Rational(225, 16));
  EXPECT_EQ(nvlink("100"), Rational(50));
  EXPECT_EQ(nvlink("50"), Rational(0)) << "not known";
  const std::string xgmi = "<xgmi target=\"0000:02:00.0\" count=\"1\" tclass=\"0x038000\"/>";
  EXPECT_EQ(speed("dev=\"0\" sm=\"90\" gcn=\"910\"", xgmi), Rational(50));
  EXPECT_EQ(speed("dev=\"0\" sm=\"94\" gcn=\"gfx942\"", xgmi), Rational(64));
  EXPECT_EQ(speed("dev=\"0\" sm=\"1\" gcn=\"gfx1100\"", xgmi), Rational(0));
}

TEST(NcclTopologyTest, EveryBadFileNamesLineAndAttribute) {
  struct Row {
    std::string text;
    std::string said;
  };
  const auto with_pci = [](const std::string& pci) { return File(kCpu, pci, kGpu, kLink, kNet); };
  const auto with_gpu = [](const std::string& gpu) { return File(kCpu, kPci, gpu, kLink, kNet); };
  const auto with_link = [](const std::string& link) { return File(kCpu, kPci, kGpu, link, kNet); };
  const auto with_net = [](const std::string& net) { return File(kCpu, kPci, kGpu, kLink, net); };
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "<pci busid=\"0000:01:00.0\">";
  for (int i = 0; i < 40; ++i) deep += "</pci>";
  const Row rows[] = {
      {"", "not well-formed XML"},
      {"<system>", "not well-formed XML"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]><system/>", "document type"},
      {"<system/><system/>", "second top element"},
      {"\n<algo/>", "FILE:2: <algo>: is the top element"},
      {"<system version=\"1\"/>", "holds no GPU"},
      {"<system><cpu numaid=\"0\"/></system>", "holds no GPU"},
      {File("numa=\"0\"", kPci, kGpu, kLink, kNet), "FILE:2: <cpu>: attribute numaid is missing; is numa meant"},
      {File("numaid=\"x\"", kPci, kGpu, kLink, kNet), "FILE:2: <cpu>: attribute numaid is 'x'"},
      {File("numaid=\"-2\"", kPci, kGpu, kLink, kNet), "from -1 to 4096"},
      {with_pci("class=\"0x030200\""), "FILE:3: <pci>: attribute busid is missing"},
      {with_pci("busid=\"\""), "attribute busid is ''"},
      {with_pci("busid=\"0000:01:00.0\" link_speed=\"fast\" link_width=\"16\""), "FILE:3: <pci>: attribute link_speed"},
      {with_pci("busid=\"0000:01:00.0\" link_speed=\"8 GT/s\" link_width=\"1000\""), "attribute link_width is '1000'"},
      {with_pci("busid=\"0000:01:00.0\" link_speed=\"1e300 GT/s\" link_width=\"16\""), "attribute link_speed"},
      {with_gpu("sm=\"90\""), "FILE:4: <gpu>: attribute dev is missing"},
      {with_gpu("dev=\"0\""), "attribute sm is missing"},
      {with_gpu("dev=\"0\" sm=\"9e1\""), "attribute sm is '9e1'"},
      {with_gpu("dev=\"0\" sm=\"90\" rank=\"-1\""), "attribute rank is '-1'"},
      {with_link("<nvlink count=\"2\"/>"), "FILE:5: <nvlink>: attribute target is missing"},
      {with_link("<nvlink target=\"0000:05:00.0\"/>"), "attribute count is missing"},
      {with_link("<nvlink target=\"0000:05:00.0\" count=\"0\"/>"), "attribute count is '0'"},
      {with_link("<nvlink target=\"0000:05:00.0\" count=\"2\"/>"), "FILE:5: attribute tclass is missing, and no <gpu>"},
      {with_net("<net dev=\"0\" speed=\"1\"/>"), "FILE:8: <net>: attribute name is missing"},
      {with_net("<net name=\"a\" dev=\"0\"/>"), "attribute speed is missing"},
      {with_net("<net name=\"a\" speed=\"999999999999\"/>"), "attribute speed"},
      {with_net("<net name=\"a\" speed=\"1\" port=\"x\"/>"), "attribute port is 'x'"},
      {"<system><cpu numaid=\"0\">" + deep + "</cpu></system>", "nested deeper than 32"},
      {"<system><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\" sm=\"90\"/><gpu dev=\"1\" sm=\"90\"/></pci></cpu>"
       "</system>",
       "<gpu>: is the second of PCI device 1"},
      {"<system><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\" sm=\"90\"/></pci><pci busid=\"1\"><gpu dev=\"1\" "
       "sm=\"90\"/></pci></cpu></system>",
       "a second one at 1"},
      {"<system><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\" sm=\"90\" rank=\"0\"/></pci><pci busid=\"2\"><gpu "
       "dev=\"1\" sm=\"90\" rank=\"0\"/></pci></cpu></system>",
       "attribute rank is 0 a second time"},
  };
  for (const Row& row : rows) {
    const Status status = ReadNcclTopology(row.text, "FILE").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(StatusMessage(status), HasSubstr("FILE:"));
    EXPECT_THAT(StatusMessage(status), HasSubstr(row.said));
  }
}

TEST(NcclTopologyTest, ALargeHostLoads) {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">\n";
  for (int i = 0; i < 1024; ++i) {
    const std::string bus = std::to_string(i);
    text += "<pci busid=\"g" + bus + "\"><gpu dev=\"" + bus + "\" sm=\"90\"><nvlink target=\"x\" count=\"18\" " +
            "tclass=\"0x068000\"/></gpu></pci>\n<pci busid=\"n" + bus + "\"><nic>" + kNet + "</nic></pci>\n";
  }
  const NcclTopology read = Read(text + "</cpu></system>");
  EXPECT_EQ(Assemble(read).topology.rank_count(), 1024);
}

TEST(NcclTopologyTest, SpoiledFilesAreReadOrRefused) {
  constexpr uint64_t kSeed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  const std::string good = Seed("two-hosts");
  int read_count = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (uint64_t edits = 1 + rng.Below(4); edits > 0; --edits) {
      const size_t at = rng.Below(text.size());
      switch (rng.Below(3)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          text.erase(at, 1 + rng.Below(20));
          break;
        default:
          text.insert(at, good.substr(rng.Below(good.size()), rng.Below(40)));
      }
    }
    const StatusOr<NcclTopology> read = ReadNcclTopology(text, "FILE");
    if (!read.ok()) {
      EXPECT_THAT(StatusMessage(read.status()), HasSubstr("FILE:"));
      continue;
    }
    ++read_count;
    std::vector<const Machine*> servers;
    for (const Machine& machine : read->servers) servers.push_back(&machine);
    const StatusOr<Assembled> assembled = AssembleServers(servers, {"read", "", 1});
    if (assembled.ok()) {
      EXPECT_TRUE(CheckConnected(assembled->topology).ok()) << text;
    } else {
      EXPECT_EQ(assembled.status().code(), StatusCode::kUnimplemented) << assembled.status() << text;
    }
  }
  EXPECT_GT(read_count, 100);
}

}  // namespace
}  // namespace mycel
