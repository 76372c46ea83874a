// The shapes behind the gallery's names. Internal to core/topo: gallery.cc has checked the parameters' ranges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/topology.h"

namespace mycel::shapes {

// Switchless grids of ranks, each its own server.
Topology Ring(const std::string& name, int64_t rank_count);
/// Any number of dimensions; the last one counts fastest. A dimension of 2 has both of its links, one of 1 has none.
Topology Torus(const std::string& name, const std::vector<int64_t>& dimensions);
Topology Mesh(const std::string& name, int64_t rows, int64_t columns);
Topology Hypercube(const std::string& name, int64_t dimension);
Topology FullMesh(const std::string& name, int64_t rank_count);

// Ranks behind switches.
Topology Star(const std::string& name, const std::vector<int64_t>& bandwidths);
Topology FatTree(const std::string& name, int64_t leaf_count, int64_t ranks_per_leaf, bool oversubscribed);
/// Servers of NVSwitch; `rails`: one fabric switch for each place in a server instead of one for all.
Topology Dgx(const std::string& name, int64_t server_count, Rational nvlink, Rational rdma, bool rails);
Topology Mi300x(const std::string& name, int64_t server_count);
/// `gcds_used`: the first 8 or all 16 dies of each server.
Topology Mi250(const std::string& name, const std::string& note, int64_t server_count, int64_t gcds_used);
Topology Servers(const std::string& name, int64_t server_count, int64_t ranks_per_server);
Topology Host(const std::string& name, int64_t rank_count);

// Irregular machines.
Topology Dgx1V100();
Topology Mixed14();
Topology Random1();
Topology Random2();

}  // namespace mycel::shapes
