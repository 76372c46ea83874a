#include "scheduler/sim/symmetry.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/base/rng.h"

namespace mycel::sim {
namespace {

constexpr int kRoundsMax = 64;

/// Mixes numbers in order.
class Hash {
 public:
  explicit Hash(uint64_t start = 0) : state_(start) {}
  Hash& Add(uint64_t value) {
    state_ ^= value + (state_ << 6) + (state_ >> 2);
    state_ = SplitMix64(state_);
    return *this;
  }
  Hash& Add(double value) { return Add(std::bit_cast<uint64_t>(value)); }
  Hash& Add(int64_t value) { return Add(static_cast<uint64_t>(value)); }
  Hash& Add(int32_t value) { return Add(static_cast<uint64_t>(static_cast<int64_t>(value))); }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_;
};

/// A channel on one of the ways that its messages take.
struct Leg {
  int32_t channel = 0;
  int32_t way = 0;
  int32_t ordinal = 0;  // among the channel's, in the order of first use
  int32_t next = -1;    // of the same channel
};
struct Legs {
  std::vector<Leg> legs;
  std::vector<int32_t> first;  // by channel

  int32_t Find(int32_t channel, int32_t ordinal) const {
    int32_t leg = first[static_cast<size_t>(channel)];
    while (leg >= 0 && legs[static_cast<size_t>(leg)].ordinal != ordinal) leg = legs[static_cast<size_t>(leg)].next;
    return leg;
  }
};

Legs LegsOf(const Model& model) {
  Legs out;
  out.first.assign(model.channels.size(), -1);
  for (const Model::Output& output : model.outputs) {
    int32_t* at = &out.first[static_cast<size_t>(output.channel)];
    int32_t ordinal = 0;
    for (; *at >= 0; ++ordinal) {
      Leg& leg = out.legs[static_cast<size_t>(*at)];
      if (leg.way == output.way) break;
      at = &leg.next;
    }
    if (*at >= 0) continue;
    *at = static_cast<int32_t>(out.legs.size());  // before the list may move
    out.legs.push_back({output.channel, output.way, ordinal, -1});
  }
  return out;
}

template <typename F>
void ForEachLink(const Ways& ways, int32_t way, F&& f) {
  const int32_t first = ways.first[static_cast<size_t>(way)];
  for (int32_t i = first; i < ways.first[static_cast<size_t>(way) + 1]; ++i) {
    f(ways.links[static_cast<size_t>(i)].link, i - first);
  }
}

/// Colours of lanes and links that tell more apart with each round.
class Refinement {
 public:
  explicit Refinement(const Model& model) : model_(model), legs_(LegsOf(model)) {
    for (int32_t a = 0; a < model.actor_count(); ++a) actors_.push_back(OwnColour(a));
    for (const double capacity : model.capacities) links_.push_back(Hash().Add(capacity).value());
  }

  void Refine() {
    std::vector<uint64_t> ways;
    for (size_t w = 0; w < model_.ways.size(); ++w) {
      Hash hash;
      hash.Add(model_.ways.latency_us[w]);
      ForEachLink(model_.ways, static_cast<int32_t>(w), [&](int32_t link, int32_t) { hash.Add(Link(link)); });
      ways.push_back(hash.value());
    }
    std::vector<uint64_t> links = links_;
    for (const Leg& leg : legs_.legs) {
      const Model::Channel& channel = model_.channels[static_cast<size_t>(leg.channel)];
      const uint64_t colour = Hash(Actor(channel.source)).Add(channel.source_port).Add(leg.ordinal).value();
      // A sum: the order in which channels are listed says nothing.
      ForEachLink(model_.ways, leg.way, [&](int32_t link, int32_t position) {
        links[static_cast<size_t>(link)] += Hash(colour).Add(position).value();
      });
    }
    std::vector<uint64_t> actors;
    for (int32_t a = 0; a < model_.actor_count(); ++a) actors.push_back(NewColour(a, ways));
    links_ = std::move(links);
    actors_ = std::move(actors);
  }

  Classes ToClasses() const {
    Classes classes;
    classes.actors = Number(actors_, &classes.of_actor);
    classes.links = Number(links_, &classes.of_link);
    return classes;
  }

 private:
  uint64_t Actor(int32_t id) const { return actors_[static_cast<size_t>(id)]; }
  uint64_t Link(int32_t id) const { return links_[static_cast<size_t>(id)]; }

  template <typename F>
  void ForEachOp(int32_t actor, F&& f) const {
    const int32_t last = model_.actors[static_cast<size_t>(actor) + 1].ops;
    for (int32_t i = model_.actors[static_cast<size_t>(actor)].ops; i < last; ++i) {
      f(model_.ops[static_cast<size_t>(i)], model_.ops[static_cast<size_t>(i) + 1]);
    }
  }

  /// What an actor does, whoever is at the other end.
  uint64_t OwnColour(int32_t actor) const {
    Hash hash;
    ForEachOp(actor, [&](const Model::Op& op, const Model::Op& next) {
      hash.Add(op.slicing.slices).Add(op.slicing.steps).Add(op.slicing.align).Add(op.bytes).Add(op.skew);
      hash.Add(op.breadth).Add(next.inputs - op.inputs).Add(next.outputs - op.outputs).Add(next.waits - op.waits);
      for (int32_t i = op.inputs; i < next.inputs; ++i) {
        hash.Add(model_.channels[static_cast<size_t>(model_.inputs[static_cast<size_t>(i)])].target_port);
      }
      for (int32_t i = op.outputs; i < next.outputs; ++i) {
        const int32_t id = model_.outputs[static_cast<size_t>(i)].channel;
        const Model::Channel& channel = model_.channels[static_cast<size_t>(id)];
        hash.Add(channel.source_port).Add(channel.back_us);
      }
      for (int32_t i = op.waits; i < next.waits; ++i) hash.Add(model_.waits[static_cast<size_t>(i)].op);
    });
    return hash.value();
  }

  uint64_t NewColour(int32_t actor, const std::vector<uint64_t>& ways) const {
    Hash hash(Actor(actor));
    ForEachOp(actor, [&](const Model::Op& op, const Model::Op& next) {
      for (int32_t i = op.inputs; i < next.inputs; ++i) {
        const int32_t id = model_.inputs[static_cast<size_t>(i)];
        const Model::Channel& channel = model_.channels[static_cast<size_t>(id)];
        hash.Add(Actor(channel.source)).Add(channel.source_port);
      }
      for (int32_t i = op.outputs; i < next.outputs; ++i) {
        const Model::Output& output = model_.outputs[static_cast<size_t>(i)];
        const Model::Channel& channel = model_.channels[static_cast<size_t>(output.channel)];
        hash.Add(Actor(channel.target)).Add(channel.target_port).Add(ways[static_cast<size_t>(output.way)]);
      }
      for (int32_t i = op.waits; i < next.waits; ++i) hash.Add(Actor(model_.waits[static_cast<size_t>(i)].actor));
    });
    return hash.value();
  }

  static int32_t Number(const std::vector<uint64_t>& colours, std::vector<int32_t>* numbers) {
    std::unordered_map<uint64_t, int32_t> known;
    for (const uint64_t colour : colours) {
      numbers->push_back(known.emplace(colour, static_cast<int32_t>(known.size())).first->second);
    }
    return static_cast<int32_t>(known.size());
  }

  const Model& model_;
  Legs legs_;
  std::vector<uint64_t> actors_;
  std::vector<uint64_t> links_;
};

std::vector<int32_t> FirstOfEach(const std::vector<int32_t>& class_of, int32_t classes) {
  std::vector<int32_t> first(static_cast<size_t>(classes), -1);
  for (size_t i = 0; i < class_of.size(); ++i) {
    int32_t& at = first[static_cast<size_t>(class_of[i])];
    if (at < 0) at = static_cast<int32_t>(i);
  }
  return first;
}

/// Checks the claim's two properties, and builds the quotient as it goes.
class Folding {
 public:
  Folding(const Model& model, const Classes& classes)
      : whole_(model),
        classes_(classes),
        legs_(LegsOf(model)),
        actors_(FirstOfEach(classes.of_actor, classes.actors)),
        links_(FirstOfEach(classes.of_link, classes.links)) {}

  std::optional<Folded> Run() {
    if (!NameChannels() || !LanesAreAlike() || !LinksAreAlike()) return std::nullopt;
    Build();
    return std::move(out_);
  }

 private:
  const Model::Channel& ChannelAt(int32_t id) const { return whole_.channels[static_cast<size_t>(id)]; }
  int32_t ActorClass(int32_t actor) const { return classes_.of_actor[static_cast<size_t>(actor)]; }
  int32_t LinkClass(int32_t link) const { return classes_.of_link[static_cast<size_t>(link)]; }
  const Model::Op& OpAt(int32_t op) const { return whole_.ops[static_cast<size_t>(op)]; }

  /// Channels are known by their source's class and port there. False where a channel has no other end, or a
  /// representative lacks one that another member has.
  bool NameChannels() {
    std::map<std::pair<int32_t, int32_t>, int32_t> by_port;
    for (size_t c = 0; c < whole_.channels.size(); ++c) {
      const Model::Channel& channel = whole_.channels[c];
      if (channel.source < 0 || channel.target < 0) return false;
      const int32_t source = ActorClass(channel.source);
      if (actors_[static_cast<size_t>(source)] != channel.source) continue;
      by_port.emplace(std::pair(source, channel.source_port), static_cast<int32_t>(channels_.size()));
      channels_.push_back(static_cast<int32_t>(c));
    }
    out_.channel_of.reserve(whole_.channels.size());
    for (const Model::Channel& channel : whole_.channels) {
      const auto at = by_port.find({ActorClass(channel.source), channel.source_port});
      if (at == by_port.end()) return false;
      out_.channel_of.push_back(at->second);
    }
    return true;
  }

  bool ChannelIsAlike(int32_t a, int32_t b) const {
    const Model::Channel& x = ChannelAt(a);
    const Model::Channel& y = ChannelAt(b);
    return out_.channel_of[static_cast<size_t>(a)] == out_.channel_of[static_cast<size_t>(b)] &&
           x.source_port == y.source_port && x.target_port == y.target_port && x.back_us == y.back_us &&
           ActorClass(x.target) == ActorClass(y.target) && ActorClass(x.source) == ActorClass(y.source);
  }

  bool WaysAreAlike(int32_t a, int32_t b) const {
    const Ways& ways = whole_.ways;
    const auto x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    const int32_t count = ways.first[x + 1] - ways.first[x];
    if (ways.latency_us[x] != ways.latency_us[y] || count != ways.first[y + 1] - ways.first[y]) return false;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t p = ways.links[static_cast<size_t>(ways.first[x] + i)].link;
      const int32_t q = ways.links[static_cast<size_t>(ways.first[y] + i)].link;
      if (LinkClass(p) != LinkClass(q)) return false;
    }
    return true;
  }

  /// Ops number a and b of the model, which stand at the same place in their lanes.
  bool OpsAreAlike(int32_t a, int32_t b) const {
    const Model::Op &x = OpAt(a), &y = OpAt(b), &x_end = OpAt(a + 1), &y_end = OpAt(b + 1);
    if (x.slicing.slices != y.slicing.slices || x.slicing.steps != y.slicing.steps || x.bytes != y.bytes ||
        x.slicing.align != y.slicing.align || x.skew != y.skew || x.breadth != y.breadth ||
        x_end.inputs - x.inputs != y_end.inputs - y.inputs || x_end.outputs - x.outputs != y_end.outputs - y.outputs ||
        x_end.waits - x.waits != y_end.waits - y.waits) {
      return false;
    }
    for (int32_t i = 0; i < x_end.inputs - x.inputs; ++i) {
      const int32_t p = whole_.inputs[static_cast<size_t>(x.inputs + i)];
      const int32_t q = whole_.inputs[static_cast<size_t>(y.inputs + i)];
      if (!ChannelIsAlike(p, q)) return false;
    }
    for (int32_t i = 0; i < x_end.outputs - x.outputs; ++i) {
      const Model::Output& p = whole_.outputs[static_cast<size_t>(x.outputs + i)];
      const Model::Output& q = whole_.outputs[static_cast<size_t>(y.outputs + i)];
      if (!ChannelIsAlike(p.channel, q.channel) || !WaysAreAlike(p.way, q.way)) return false;
    }
    for (int32_t i = 0; i < x_end.waits - x.waits; ++i) {
      const Model::Wait& p = whole_.waits[static_cast<size_t>(x.waits + i)];
      const Model::Wait& q = whole_.waits[static_cast<size_t>(y.waits + i)];
      if (p.op != q.op || ActorClass(p.actor) != ActorClass(q.actor)) return false;
    }
    return true;
  }

  /// Property 1.
  bool LanesAreAlike() const {
    for (int32_t a = 0; a < whole_.actor_count(); ++a) {
      const int32_t first = actors_[static_cast<size_t>(ActorClass(a))];
      const int32_t mine = whole_.actors[static_cast<size_t>(a)].ops;
      const int32_t model = whole_.actors[static_cast<size_t>(first)].ops;
      const int32_t count = whole_.actors[static_cast<size_t>(a) + 1].ops - mine;
      if (count != whole_.actors[static_cast<size_t>(first) + 1].ops - model) return false;
      for (int32_t i = 0; i < count; ++i) {
        if (!OpsAreAlike(mine + i, model + i)) return false;
      }
    }
    return true;
  }

  /// Property 2. What passes a link is counted by leg of the representative channel.
  bool LinksAreAlike() {
    struct Pass {
      int32_t link;
      int32_t leg;  // of the representative
    };
    std::vector<int32_t> first(whole_.capacities.size() + 1, 0);
    std::vector<Pass> passes;
    for (const Leg& leg : legs_.legs) {
      const int32_t channel = channels_[static_cast<size_t>(out_.channel_of[static_cast<size_t>(leg.channel)])];
      const int32_t alike = legs_.Find(channel, leg.ordinal);
      if (alike < 0) return false;
      ForEachLink(whole_.ways, leg.way, [&](int32_t link, int32_t) {
        passes.push_back({link, alike});
        ++first[static_cast<size_t>(link) + 1];
      });
    }
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<int32_t> legs_on(passes.size());
    std::vector<int32_t> next(first.begin(), first.end() - 1);
    for (const Pass& pass : passes) {
      legs_on[static_cast<size_t>(next[static_cast<size_t>(pass.link)]++)] = pass.leg;
    }
    for (size_t link = 0; link < whole_.capacities.size(); ++link) {
      std::sort(legs_on.begin() + first[link], legs_on.begin() + first[link + 1]);
    }
    for (size_t link = 0; link < whole_.capacities.size(); ++link) {
      const auto alike = static_cast<size_t>(links_[static_cast<size_t>(LinkClass(static_cast<int32_t>(link)))]);
      if (whole_.capacities[link] != whole_.capacities[alike]) return false;
      if (!std::equal(legs_on.begin() + first[link], legs_on.begin() + first[link + 1], legs_on.begin() + first[alike],
                      legs_on.begin() + first[alike + 1])) {
        return false;
      }
    }
    for (const int32_t link : links_) {
      for (int32_t i = first[static_cast<size_t>(link)]; i < first[static_cast<size_t>(link) + 1]; ++i) {
        std::vector<LinkUse>& uses = uses_of_leg_[legs_on[static_cast<size_t>(i)]];
        if (uses.empty() || uses.back().link != LinkClass(link)) uses.push_back({LinkClass(link), 0});
        ++uses.back().weight;
      }
    }
    return true;
  }

  void Build() {
    Model& model = out_.model;
    model.slot_count = whole_.slot_count;
    for (const int32_t link : links_) model.capacities.push_back(whole_.capacities[static_cast<size_t>(link)]);
    model.ways.first = {0};
    for (const int32_t id : channels_) {
      Model::Channel channel = ChannelAt(id);
      channel.source = ActorClass(channel.source);
      channel.target = ActorClass(channel.target);
      model.channels.push_back(channel);
      model.channel_of_plan.push_back(whole_.channel_of_plan[static_cast<size_t>(id)]);
    }
    for (const int32_t actor : actors_) AddActor(actor);
    model.actors.push_back({0, 0, static_cast<int32_t>(model.ops.size())});
    Model::Op end;
    end.inputs = static_cast<int32_t>(model.inputs.size());
    end.outputs = static_cast<int32_t>(model.outputs.size());
    end.waits = static_cast<int32_t>(model.waits.size());
    model.ops.push_back(end);
    ListWakes(&model);
    out_.actor_of = classes_.of_actor;
  }

  void AddActor(int32_t id) {
    Model& model = out_.model;
    const Model::Actor& actor = whole_.actors[static_cast<size_t>(id)];
    const int32_t last = whole_.actors[static_cast<size_t>(id) + 1].ops;
    model.actors.push_back({actor.rank, actor.lane, static_cast<int32_t>(model.ops.size())});
    for (int32_t i = actor.ops; i < last; ++i) {
      Model::Op op = OpAt(i);
      const Model::Op& end = OpAt(i + 1);
      const int32_t inputs = op.inputs, outputs = op.outputs, waits = op.waits;
      op.inputs = static_cast<int32_t>(model.inputs.size());
      op.outputs = static_cast<int32_t>(model.outputs.size());
      op.waits = static_cast<int32_t>(model.waits.size());
      model.ops.push_back(op);
      for (int32_t k = inputs; k < end.inputs; ++k) {
        model.inputs.push_back(out_.channel_of[static_cast<size_t>(whole_.inputs[static_cast<size_t>(k)])]);
      }
      for (int32_t k = outputs; k < end.outputs; ++k) {
        const Model::Output& output = whole_.outputs[static_cast<size_t>(k)];
        model.outputs.push_back({out_.channel_of[static_cast<size_t>(output.channel)], WayOf(output)});
      }
      for (int32_t k = waits; k < end.waits; ++k) {
        const Model::Wait& wait = whole_.waits[static_cast<size_t>(k)];
        model.waits.push_back({ActorClass(wait.actor), wait.op});
      }
    }
  }

  /// Legs that load the same links equally share a way.
  int32_t WayOf(const Model::Output& output) {
    int32_t leg = legs_.first[static_cast<size_t>(output.channel)];
    while (legs_.legs[static_cast<size_t>(leg)].way != output.way) leg = legs_.legs[static_cast<size_t>(leg)].next;
    const double latency_us = whole_.ways.latency_us[static_cast<size_t>(output.way)];
    std::vector<int64_t> key = {std::bit_cast<int64_t>(latency_us)};
    const std::vector<LinkUse>& uses = uses_of_leg_.at(leg);
    for (const LinkUse& use : uses) key.insert(key.end(), {use.link, use.weight});
    Ways& ways = out_.model.ways;
    const auto [at, added] = ways_.emplace(std::move(key), static_cast<int32_t>(ways.size()));
    if (added) {
      ways.links.insert(ways.links.end(), uses.begin(), uses.end());
      ways.first.push_back(static_cast<int32_t>(ways.links.size()));
      ways.latency_us.push_back(latency_us);
    }
    return at->second;
  }

  const Model& whole_;
  const Classes& classes_;
  Legs legs_;
  std::vector<int32_t> actors_;    // representatives, by class
  std::vector<int32_t> links_;     // the same
  std::vector<int32_t> channels_;  // the same: those of representative sources
  std::unordered_map<int32_t, std::vector<LinkUse>> uses_of_leg_;
  std::map<std::vector<int64_t>, int32_t> ways_;
  Folded out_;
};

}  // namespace

std::optional<Classes> FindClasses(const Model& model) {
  if (model.actor_count() < 2) return std::nullopt;
  for (const Model::Channel& channel : model.channels) {
    if (channel.source < 0 || channel.target < 0) return std::nullopt;
  }
  Refinement refinement(model);
  Classes classes = refinement.ToClasses();
  for (int round = 0; round < kRoundsMax; ++round) {
    if (classes.actors * 2 > model.actor_count()) return std::nullopt;
    refinement.Refine();
    Classes finer = refinement.ToClasses();
    if (finer.actors == classes.actors && finer.links == classes.links) return classes;
    classes = std::move(finer);
  }
  return std::nullopt;
}

std::optional<Folded> Fold(const Model& model, const Classes& classes) { return Folding(model, classes).Run(); }

}  // namespace mycel::sim
