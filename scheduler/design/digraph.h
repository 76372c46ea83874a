// Digraphs as topology designers speak of them: ranks 0..n-1 and one-way links of equal bandwidth. Families of known
// properties, and the three expansions that make large graphs of small ones (Efficient Direct-Connect Topologies,
// NSDI 2025, after Kautz, de Bruijn, Imase and Itoh, and Fiol et al. for line digraphs).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/bfb/rank_graph.h"

namespace mycel::design {

/// A link from first to second; the same pair may occur several times. No link leads from a rank to itself.
struct Digraph {
  int32_t rank_count = 0;
  int32_t degree = 0;  // ports of a rank in each direction; a few may be unused
  std::vector<std::pair<int32_t, int32_t>> links;

  /// Ports without a link, over all ranks: what self-loops of a family's formula leave.
  int64_t UnusedPorts() const { return int64_t{rank_count} * degree - std::ssize(links); }
};

// Families. Callers keep to the ranges given; a broken one stops the process.

/// i -> i + 1. count >= 2; degree 1.
Digraph OneWayRing(int32_t count);
/// i <-> i + 1. count >= 3; degree 2.
Digraph Ring(int32_t count);
/// Product of rings: a side of 2 is one link each way, one of 1 nothing.
Digraph Torus(const std::vector<int32_t>& sides);
/// Grid without wrap-around; ranks at the rim have unused ports.
Digraph Mesh(int32_t rows, int32_t columns);
/// Everybody to everybody. count >= 2.
Digraph Complete(int32_t count);
/// Two halves of `degree` ranks, everybody to the other half.
Digraph CompleteBipartite(int32_t degree);
/// Words of `length` letters out of `letters`; neighbours differ in one place. Two letters: a hypercube.
Digraph Hamming(int32_t length, int32_t letters);
/// i -> i + offset for each of the offsets, which are distinct modulo count and not 0.
Digraph DirectedCirculant(int32_t count, const std::vector<int32_t>& offsets);
/// i <-> i + offset; an offset of count / 2 is one link each way.
Digraph Circulant(int32_t count, const std::vector<int32_t>& offsets);
/// Words of `length` letters out of degree + 1, neighbouring letters unequal; links shift a letter in.
Digraph Kautz(int32_t degree, int32_t length);
/// x -> -degree * x - a modulo count, a = 1..degree; links to itself are left out. count > 1; degree < count.
Digraph GeneralizedKautz(int32_t degree, int32_t count);
/// Words of `length` letters out of `degree`; links shift a letter in; links to itself are left out.
Digraph DeBruijn(int32_t degree, int32_t length);

// Distance-regular graphs by name; each link both ways.
Digraph Petersen();                 // 10 ranks, degree 3
Digraph Octahedron();               // 6, 4
Digraph Heawood();                  // 14, 3
Digraph ProjectivePlane3();         // 26, 4: points and lines of PG(2,3)
Digraph OddGraph4();                // 35, 4: triples out of seven, joined when disjoint
Digraph BipartiteMinusMatching5();  // 10, 4: K5,5 without a perfect matching
/// Ranks are the two-way links of `graph` (each pair of links once), joined when they share an end.
Digraph UndirectedLineGraph(const Digraph& graph);

// Expansions.

/// Ranks are the links of `graph`; (u, v) -> (v, w). N' = links, same degree.
Digraph LineGraph(const Digraph& graph);
/// `copies` of every rank; each copy of u -> each copy of v for u -> v.
Digraph DegreeExpansion(const Digraph& graph, int32_t copies);
/// Cartesian product: one coordinate moves along its graph.
Digraph Product(const Digraph& a, const Digraph& b);

/// Capacity 1 for each link.
bfb::RankGraph RankGraphOf(const Digraph& graph);
/// Every link with `bandwidth` GB/s and `latency_us`; each rank a server of its own.
StatusOr<Topology> ToTopology(const Digraph& graph, const std::string& name, const std::string& note,
                              const Rational& bandwidth, double latency_us);

}  // namespace mycel::design
