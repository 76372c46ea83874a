// Which name did the user mean? Used wherever a name is not found: variables, planners, topologies, options.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mycel {

/// Least number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b);

/// The candidate nearest to `name` (the first of equals), or an empty text when even that needs more than a third of
/// the name changed.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace mycel
