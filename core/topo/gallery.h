// Gallery: machines by name, so that planning needs no file. Names are fixed ("dgx1-v100") or parametric ("ring12").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

struct GalleryEntry {
  std::string_view pattern;      // a name, or one with parameters: "torus-AxB[xC]"
  std::string_view description;  // one line
  std::string_view example;      // a name that fits the pattern
};

/// Largest number of ranks that a parametric name may ask for.
inline constexpr int64_t kGalleryRankCountMax = 4096;

const std::vector<GalleryEntry>& GalleryList();

/// InvalidArgument: no such name (with near ones), or a parameter out of range (with the range).
StatusOr<Topology> GalleryTopology(std::string_view name);

/// A gallery name, else a topology file. InvalidArgument lists near names when it is neither.
StatusOr<Topology> LoadTopology(const std::string& name_or_file);

}  // namespace mycel
