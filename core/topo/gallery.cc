// Names -> shapes. A family recognises its names and checks their parameters; the families stand in one table.
#include "core/topo/gallery.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/edit_distance.h"
#include "core/topo/gallery_shapes.h"
#include "core/topo/topology_json.h"

namespace mycel {
namespace {

// Nothing: the name is not of this family. An error: it is, but a parameter is out of range.
using Made = std::optional<StatusOr<Topology>>;

struct Family {
  GalleryEntry entry;
  Made (*make)(const std::string& name);
};

// "4x4x2" -> {4, 4, 2}. Nothing unless all parts are plain positive integers. Huge ones become kHuge.
std::optional<std::vector<int64_t>> Numbers(std::string_view text, char separator) {
  constexpr int64_t kHuge = 1'000'000'000;
  std::vector<int64_t> numbers{0};
  bool in_number = false;
  for (const char c : text) {
    if (c == separator && in_number) {
      numbers.push_back(0);
      in_number = false;
    } else if (c >= '0' && c <= '9' && (in_number || c != '0')) {
      numbers.back() = std::min(numbers.back() * 10 + (c - '0'), kHuge);
      in_number = true;
    } else {
      return std::nullopt;
    }
  }
  if (!in_number) return std::nullopt;
  return numbers;
}

// The parameters behind `prefix`, when there are between `least` and `most`.
std::optional<std::vector<int64_t>> Parameters(std::string_view name, std::string_view prefix, size_t least,
                                               size_t most, char separator = 'x') {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  auto numbers = Numbers(name.substr(prefix.size()), separator);
  if (!numbers || numbers->size() < least || numbers->size() > most) return std::nullopt;
  return numbers;
}

bool TakeSuffix(std::string_view& name, std::string_view suffix) {
  if (name.size() < suffix.size() || name.substr(name.size() - suffix.size()) != suffix) return false;
  name.remove_suffix(suffix.size());
  return true;
}

Status CheckProduct(const std::string& name, const std::vector<int64_t>& numbers, int64_t per_unit = 1,
                    int64_t max = kGalleryRankCountMax) {
  int64_t count = per_unit;
  for (const int64_t number : numbers) count = number > max / count ? max + 1 : count * number;
  if (count <= max) return OkStatus();
  return InvalidArgument("topology " + name.substr(0, 60) + " has more than " + std::to_string(max) +
                         " ranks; the gallery goes up to " + std::to_string(max) + ", use a smaller number");
}

// Number of servers in `name` = `model` or `model`-xN.
std::optional<int64_t> ServerCount(std::string_view name, std::string_view model) {
  if (name == model) return 1;
  const auto numbers = Parameters(name, std::string(model) + "-x", 1, 1);
  return numbers ? std::optional(numbers->front()) : std::nullopt;
}

// Runs `shape` unless a parameter is out of range.
template <typename Shape>
Made Checked(const Status& range, const Shape& shape) {
  if (!range.ok()) return StatusOr<Topology>(range);
  return StatusOr<Topology>(shape());
}

Made MakeRing(const std::string& name) {
  const auto n = Parameters(name, "ring", 1, 1);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::Ring(name, n->front()); });
}

Made MakeTorus(const std::string& name) {
  const auto n = Parameters(name, "torus-", 2, 3);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::Torus(name, *n); });
}

Made MakeMesh(const std::string& name) {
  const auto n = Parameters(name, "mesh-", 2, 2);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::Mesh(name, n->front(), n->back()); });
}

Made MakeHypercube(const std::string& name) {
  const auto n = Parameters(name, "hypercube-", 1, 1);
  if (!n) return std::nullopt;
  const int64_t ranks = n->front() < 30 ? int64_t{1} << n->front() : kGalleryRankCountMax + 1;
  return Checked(CheckProduct(name, {ranks}), [&] { return shapes::Hypercube(name, n->front()); });
}

Made MakeFullMesh(const std::string& name) {
  constexpr int64_t kFullMeshMax = 1024;  // a million links
  const auto n = Parameters(name, "fullmesh-", 1, 1);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n, 1, kFullMeshMax), [&] { return shapes::FullMesh(name, n->front()); });
}

Made MakeStar(const std::string& name) {
  const auto bandwidths = Parameters(name, "star-", 1, kGalleryRankCountMax, '-');
  if (!bandwidths) return std::nullopt;
  return StatusOr<Topology>(shapes::Star(name, *bandwidths));
}

Made MakeFatTree(const std::string& name) {
  std::string_view rest = name;
  const bool oversubscribed = TakeSuffix(rest, "-oversub");
  const auto n = Parameters(rest, "fat-tree-", 2, 2);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::FatTree(name, n->front(), n->back(), oversubscribed); });
}

Made MakeDgxModel(const std::string& name, std::string_view base, std::string_view model, int64_t nvlink, int64_t rdma,
                  bool rails) {
  const auto servers = ServerCount(base, model);
  if (!servers) return std::nullopt;
  return Checked(CheckProduct(name, {*servers}, 8),
                 [&] { return shapes::Dgx(name, *servers, Rational(nvlink), Rational(rdma), rails); });
}

Made MakeDgxA100(const std::string& name) { return MakeDgxModel(name, name, "dgx-a100", 300, 25, false); }
Made MakeDgxH100(const std::string& name) { return MakeDgxModel(name, name, "dgx-h100", 450, 50, false); }
Made MakeDgxH200(const std::string& name) {
  std::string_view base = name;
  const bool rails = TakeSuffix(base, "-rails");
  return MakeDgxModel(name, base, "dgx-h200", 450, 50, rails);
}

Made MakeMi250(const std::string& name) {
  constexpr int64_t kGcds = 16;
  const auto servers = ServerCount(name, "mi250");
  if (!servers) return std::nullopt;
  return Checked(CheckProduct(name, {*servers}, kGcds),
                 [&] { return shapes::Mi250(name, "16 GCDs a server, xGMI links of 50 GB/s", *servers, kGcds); });
}

Made MakeMi250Halves(const std::string& name) {
  if (name != "mi250-8plus8") return std::nullopt;
  return StatusOr<Topology>(shapes::Mi250(name, "GCDs 0-7 of each server", 2, 8));
}

Made MakeMi300x(const std::string& name) {
  const auto servers = ServerCount(name, "mi300x");
  if (!servers) return std::nullopt;
  return Checked(CheckProduct(name, {*servers}, 8), [&] { return shapes::Mi300x(name, *servers); });
}

Made MakeServers(const std::string& name) {
  const auto n = Parameters(name, "servers-", 2, 2);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::Servers(name, n->front(), n->back()); });
}

Made MakeHost(const std::string& name) {
  const auto n = Parameters(name, "host-", 1, 1);
  if (!n) return std::nullopt;
  return Checked(CheckProduct(name, *n), [&] { return shapes::Host(name, n->front()); });
}

template <Topology (*Shape)()>
Made MakeFixed(const std::string& name) {
  Topology topology = Shape();
  if (topology.name() != name) return std::nullopt;
  return StatusOr<Topology>(std::move(topology));
}

constexpr Family kFamilies[] = {
    {{"dgx-a100[-xN]", "N NVIDIA DGX A100 servers: 8 GPUs, NVSwitch 300 GB/s, InfiniBand 25 GB/s a GPU", "dgx-a100-x2"},
     MakeDgxA100},
    {{"dgx-h100[-xN]", "N NVIDIA DGX H100 servers: 8 GPUs, NVSwitch 450 GB/s, InfiniBand 50 GB/s a GPU",
      "dgx-h100-x16"},
     MakeDgxH100},
    {{"dgx-h200[-xN][-rails]", "N NVIDIA DGX H200 servers: as dgx-h100; -rails: one switch for each place in a server",
      "dgx-h200-x4-rails"},
     MakeDgxH200},
    {{"dgx1-v100", "NVIDIA DGX-1: 8 V100 in a hybrid cube mesh of 25 GB/s bricks", "dgx1-v100"},
     MakeFixed<shapes::Dgx1V100>},
    {{"mi250[-xN]", "N AMD MI250 servers: 16 GCDs, xGMI links of 50 GB/s, InfiniBand 16 GB/s a GCD", "mi250-x2"},
     MakeMi250},
    {{"mi250-8plus8", "GCDs 0-7 of two AMD MI250 servers", "mi250-8plus8"}, MakeMi250Halves},
    {{"mi300x[-xN]", "N AMD MI300X servers: 8 GPUs, all pairs xGMI 64 GB/s, network 50 GB/s a GPU", "mi300x-x2"},
     MakeMi300x},
    {{"host-N", "N ranks of one CPU machine sharing memory, 8 GB/s each", "host-4"}, MakeHost},
    {{"servers-SxG", "S servers of G ranks: scale-up switch 50 GB/s, scale-out switch 5 GB/s a rank", "servers-4x8"},
     MakeServers},
    {{"ringN", "N ranks in a ring of 25 GB/s links", "ring8"}, MakeRing},
    {{"torus-AxB[xC]", "a two- or three-dimensional torus of 25 GB/s links", "torus-4x4"}, MakeTorus},
    {{"mesh-AxB", "a grid without wrap-around, links of 1 GB/s", "mesh-3x3"}, MakeMesh},
    {{"hypercube-D", "2^D ranks, D links of 25 GB/s each", "hypercube-3"}, MakeHypercube},
    {{"fullmesh-N", "N ranks, a link of 25 GB/s between every two", "fullmesh-8"}, MakeFullMesh},
    {{"star-B-B-...", "one switch, a rank for each B, joined by B GB/s", "star-4-4-2-2"}, MakeStar},
    {{"fat-tree-LxR[-oversub]", "L leaf switches of R ranks at 25 GB/s, uplinks for all of them, or (-oversub) half",
      "fat-tree-2x4-oversub"},
     MakeFatTree},
    {{"mixed-14", "three unlike servers of 8, 4 and 2 ranks", "mixed-14"}, MakeFixed<shapes::Mixed14>},
    {{"random-1-6r2s", "6 ranks and 2 switches with no symmetry", "random-1-6r2s"}, MakeFixed<shapes::Random1>},
    {{"random-2-9r3s", "9 ranks and 3 switches with no symmetry", "random-2-9r3s"}, MakeFixed<shapes::Random2>},
};

Made Find(const std::string& name) {
  for (const Family& family : kFamilies) {
    if (Made made = family.make(name)) return made;
  }
  return std::nullopt;
}

// "; near: ring8, ringN", the few names most like `name`.
std::string NearNames(std::string_view name) {
  constexpr size_t kLongest = 64;
  constexpr size_t kNear = 3;
  const std::string_view wanted = name.substr(0, kLongest);
  std::vector<std::pair<size_t, std::string_view>> ranked;
  for (const Family& family : kFamilies) {
    ranked.emplace_back(EditDistance(wanted, family.entry.example), family.entry.example);
    if (family.entry.pattern != family.entry.example) {
      ranked.emplace_back(EditDistance(wanted, family.entry.pattern), family.entry.pattern);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  std::string text = "; near names: ";
  for (size_t i = 0; i < kNear; ++i) text.append(i == 0 ? "" : ", ").append(ranked[i].second);
  return text;
}

std::string Quoted(std::string_view name) {
  constexpr size_t kShown = 100;
  return "'" + std::string(name.substr(0, kShown)) + (name.size() > kShown ? "...'" : "'");
}

}  // namespace

const std::vector<GalleryEntry>& GalleryList() {
  static const std::vector<GalleryEntry> list = [] {
    std::vector<GalleryEntry> entries;
    for (const Family& family : kFamilies) entries.push_back(family.entry);
    return entries;
  }();
  return list;
}

StatusOr<Topology> GalleryTopology(std::string_view name) {
  if (Made made = Find(std::string(name))) return *std::move(made);
  return InvalidArgument("no topology in the gallery is called " + Quoted(name) + NearNames(name) +
                         "; `mycel topo list` shows all");
}

StatusOr<Topology> LoadTopology(const std::string& name_or_file) {
  if (Made made = Find(name_or_file)) return *std::move(made);
  std::error_code ignored;
  if (std::filesystem::exists(name_or_file, ignored)) return ReadTopologyFile(name_or_file);
  return InvalidArgument(Quoted(name_or_file) + " is neither a topology of the gallery nor a file" +
                         NearNames(name_or_file) + "; `mycel topo list` shows all");
}

}  // namespace mycel
