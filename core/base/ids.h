// Strong integers: a rank is not a channel is not a lane. One template, no arithmetic.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace mycel {

/// An index of kind `Tag`; -1 (the default) means "none".
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int64_t value) : value_(static_cast<int32_t>(value)) {}

  constexpr int32_t value() const { return value_; }
  /// For indexing an array that has one entry per id.
  constexpr size_t index() const { return static_cast<size_t>(value_); }
  constexpr bool valid() const { return value_ >= 0; }

  constexpr auto operator<=>(const Id&) const = default;

 private:
  int32_t value_ = -1;
};

template <typename Tag>
std::ostream& operator<<(std::ostream& out, Id<Tag> id) {
  return out << id.value();
}

/// `for (Rank r : Ids<Rank>(n))`: the ids 0..n-1.
template <typename IdType>
class Ids {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(int64_t value) : value_(value) {}
    constexpr IdType operator*() const { return IdType(value_); }
    constexpr Iterator& operator++() {
      ++value_;
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const { return value_ != other.value_; }

   private:
    int64_t value_;
  };
  constexpr explicit Ids(int64_t count) : count_(count) {}
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(count_); }

 private:
  int64_t count_;
};

using Rank = Id<struct RankTag>;          // member of a communicator or of a topology, 0..n-1
using NodeId = Id<struct NodeTag>;        // rank or switch of a topology
using ChannelId = Id<struct ChannelTag>;  // directed slot ring of a plan
using LaneId = Id<struct LaneTag>;        // share of a rank's work (what NCCL calls a channel)

}  // namespace mycel

template <typename Tag>
struct std::hash<mycel::Id<Tag>> {
  size_t operator()(mycel::Id<Tag> id) const noexcept { return std::hash<int32_t>()(id.value()); }
};
