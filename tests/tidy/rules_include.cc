// Who may include whom.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string_view>

#include "tests/tidy/rules.h"

namespace mycel::tidy {
namespace {

/// A layer and those it may include besides itself, most basic first.
struct Layer {
  std::string_view name;
  std::initializer_list<std::string_view> below;
};

const Layer kLayers[] = {
    {"core", {}},
    {"scheduler", {"core"}},
    {"transport", {"core"}},
    {"kernels", {"core"}},
    {"bindings", {"core", "scheduler", "transport", "kernels"}},
    {"bench", {"core", "scheduler", "transport", "kernels", "bindings"}},
    {"tests", {"core", "scheduler", "transport", "kernels", "bindings", "bench"}},
};

constexpr std::array<std::string_view, 5> kCoreOrder = {"base", "topo", "plan", "spi", "runtime"};

/// A family of third-party headers, known by how their paths begin, and the path prefixes that may include them.
struct Vendor {
  std::initializer_list<std::string_view> headers;
  std::initializer_list<std::string_view> allowed;
};

const Vendor kVendors[] = {
    {{"absl/"}, {"core/base/status.h", "core/base/mutex.h"}},
    {{"nlohmann/"}, {"core/topo/", "core/plan/", "transport/discover/", "bindings/cli/", "bench/", "tests/"}},
    {{"CLI/"}, {"bindings/cli/", "bench/"}},
    {{"hwy/"}, {"kernels/host/", "kernels/step/"}},
    {{"hwloc"}, {"transport/discover/"}},
    {{"infiniband/", "rdma/"}, {"transport/discover/", "transport/ucx/"}},
    {{"ucp/", "uct/", "ucs/"}, {"transport/ucx/"}},
    {{"pugixml"}, {"bindings/", "transport/discover/"}},
    {{"Clp", "Coin", "Osi", "coin/"}, {"scheduler/lp/"}},
    {{"mpi.h", "mpi/"}, {"bindings/mpi/", "bench/compare/"}},
    {{"gloo/"}, {"bench/compare/"}},
    {{"cuda", "nvml", "nccl", "cooperative_groups"},
     {"kernels/cuda/", "kernels/device/cuda.h", "transport/ipc/", "transport/discover/", "bindings/nccl/",
      "tests/install/"}},
    {{"hip/", "rocm_smi/", "hsa/"}, {"kernels/hip/", "kernels/device/hip.h", "transport/ipc/", "transport/discover/"}},
    {{"torch/", "ATen/", "c10/", "pybind11/"}, {"bindings/torch/"}},
    {{"benchmark/"}, {"bench/micro/"}},
};

const Layer* FindLayer(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kLayers), std::end(kLayers), [&](const Layer& l) { return l.name == name; });
  return found == std::end(kLayers) ? nullptr : found;
}

std::string_view FirstPart(std::string_view path) { return path.substr(0, path.find('/')); }
std::string_view SecondPart(std::string_view path) {
  const size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : FirstPart(path.substr(slash + 1));
}

/// Calls `visit(file, include)` for every include line of code.
template <typename Visit>
void ForEachInclude(const Tree& tree, const Visit& visit) {
  for (const SourceFile& file : tree) {
    for (const Include& include : file.includes) visit(file, include);
  }
}

}  // namespace

Findings CheckLayerLaw(const Tree& tree) {
  Findings findings;
  ForEachInclude(tree, [&](const SourceFile& file, const Include& include) {
    const Layer* mine = FindLayer(file.Part(0));
    const std::string_view theirs = FirstPart(include.path);
    if (mine == nullptr || FindLayer(theirs) == nullptr || theirs == mine->name) return;
    if (std::find(mine->below.begin(), mine->below.end(), theirs) != mine->below.end()) return;
    findings.push_back({"layer-law", file.path, include.line,
                        std::string(mine->name) + " may not include " + std::string(theirs) + ": " + include.path});
  });
  return findings;
}

Findings CheckCoreOrder(const Tree& tree) {
  Findings findings;
  ForEachInclude(tree, [&](const SourceFile& file, const Include& include) {
    if (file.Part(0) != "core" || FirstPart(include.path) != "core" || file.IsTest()) return;
    const auto* mine = std::find(kCoreOrder.begin(), kCoreOrder.end(), file.Part(1));
    const auto* theirs = std::find(kCoreOrder.begin(), kCoreOrder.end(), SecondPart(include.path));
    if (theirs <= mine) return;
    findings.push_back({"core-order", file.path, include.line,
                        "core/" + std::string(*mine) + " lies below and may not include " + include.path});
  });
  return findings;
}

Findings CheckIncludePaths(const Tree& tree) {
  std::set<std::string_view> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  Findings findings;
  ForEachInclude(tree, [&](const SourceFile& file, const Include& include) {
    const std::string what = "#include of " + include.path;
    if (include.path.find("..") != std::string::npos) {
      findings.push_back(
          {"include-path", file.path, include.line, what + " climbs; write it from the repository root"});
    } else if (include.quoted && FindLayer(FirstPart(include.path)) == nullptr && include.path != "mycel_config.h") {
      findings.push_back({"include-path", file.path, include.line,
                          what + " does not start at the repository root (<> is for what is not ours)"});
    } else if (include.quoted && include.path != "mycel_config.h" && paths.count(include.path) == 0) {
      findings.push_back({"include-path", file.path, include.line, what + " names no file of the tree"});
    } else if (!include.quoted && paths.count(include.path) != 0) {
      findings.push_back({"include-path", file.path, include.line, what + " is ours: write it with quotes"});
    }
  });
  return findings;
}

Findings CheckOwnHeaderFirst(const Tree& tree) {
  std::set<std::string_view> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(".cc")) continue;
    const std::string own = file.path.substr(0, file.path.size() - 3) + ".h";
    if (paths.count(own) == 0) continue;
    if (!file.includes.empty() && file.includes.front().path == own) continue;
    findings.push_back({"own-header-first", file.path, file.includes.empty() ? 0 : file.includes.front().line,
                        "includes " + own + " not at all or not first; nothing else proves that it stands alone"});
  }
  return findings;
}

Findings CheckVendorHeaders(const Tree& tree) {
  Findings findings;
  ForEachInclude(tree, [&](const SourceFile& file, const Include& include) {
    const auto begins = [](std::string_view text) {
      return [text](std::string_view prefix) { return text.starts_with(prefix); };
    };
    for (const Vendor& vendor : kVendors) {
      if (include.quoted || std::none_of(vendor.headers.begin(), vendor.headers.end(), begins(include.path))) continue;
      const bool in_core =
          file.Part(0) == "core" && file.path != "core/base/status.h" && file.path != "core/base/mutex.h";
      const bool json_reader = file.FileName().find("json") != std::string_view::npos;
      if (std::any_of(vendor.allowed.begin(), vendor.allowed.end(), begins(file.path)) && (!in_core || json_reader))
        continue;
      findings.push_back(
          {"vendor-header", file.path, include.line, "<" + include.path + "> has no place in this folder"});
    }
  });
  return findings;
}

}  // namespace mycel::tidy
