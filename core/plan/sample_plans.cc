#include "core/plan/sample_plans.h"

#include <utility>

namespace mycel {
namespace {

Operand Send() { return {Operand::Kind::kSend, -1, -1}; }
Operand Recv() { return {Operand::Kind::kRecv, -1, -1}; }
Operand Scratch(int32_t cell) { return {Operand::Kind::kScratch, cell, -1}; }

/// A plan under construction with the few verbs the samples are made of.
class Sampler {
 public:
  Sampler(Collective collective, const SampleOptions& options, const std::string& name) : options_(options) {
    plan_.collective = collective;
    plan_.rank_count = options.ranks;
    if (InfoOf(collective).rooted) plan_.root = options.root;
    plan_.units_per_block = options.lanes;
    plan_.planner = "sample/" + name;
    plan_.topology = "none";
    plan_.protocol = options.protocol;
    plan_.slot_count = options.slot_count;
    plan_.slice_bytes = options.slice_bytes;
    plan_.ranks.resize(static_cast<size_t>(options.ranks));
  }

  int32_t n() const { return options_.ranks; }
  int32_t lanes() const { return options_.lanes; }
  bool direct() const { return options_.protocol == Protocol::kDirect; }
  Rank At(int32_t rank) const { return Rank(((rank % n()) + n()) % n()); }
  /// Lane l's share of part `part` of `block` cut into parts of `lanes` units.
  Chunk Part(int32_t block, int32_t part, int32_t lane) const {
    const int64_t unit = static_cast<int64_t>(part) * lanes() + lane;
    return {block, unit, unit + 1};
  }
  Operand To(Rank source, Rank target, int32_t lane) {
    return {Operand::Kind::kChannel, builder_.ChannelFor(source, target, lane).value(), -1};
  }
  Op& Add(Rank rank, int32_t lane, const Chunk& chunk, const std::vector<Operand>& inputs,
          const std::vector<Operand>& outputs, int32_t hop) {
    return builder_.Add(rank, LaneId(lane), chunk, inputs, outputs, hop * options_.hop_skew);
  }
  /// kDirect messages refer to memory: a partial sum that only travels on needs a place.
  std::vector<Operand> WithPlace(Rank rank, const Chunk& chunk, std::vector<Operand> outputs) {
    if (direct()) outputs.insert(outputs.begin(), Scratch(builder_.AddScratch(rank, chunk)));
    return outputs;
  }
  Plan& plan() { return plan_; }
  Plan Take() { return std::move(plan_); }

 private:
  SampleOptions options_;
  Plan plan_;
  PlanBuilder builder_{&plan_};
};

/// Inputs in rank order: what `rank` holds and what all others sent it.
std::vector<Operand> EveryonesShare(Sampler& s, Rank rank, int32_t lane) {
  std::vector<Operand> inputs;
  for (Rank from : Ids<Rank>(s.n())) inputs.push_back(from == rank ? Send() : s.To(from, rank, lane));
  return inputs;
}

std::vector<Operand> ToOthers(Sampler& s, Rank rank, int32_t lane) {
  std::vector<Operand> outputs;
  for (Rank to : Ids<Rank>(s.n())) {
    if (to != rank) outputs.push_back(s.To(rank, to, lane));
  }
  return outputs;
}

}  // namespace

Plan RingAllGather(const SampleOptions& options) {
  Sampler s(Collective::kAllGather, options, "ring");
  for (Rank r : Ids<Rank>(s.n())) {
    const Rank left = s.At(r.value() - 1);
    const Rank right = s.At(r.value() + 1);
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      for (int32_t step = 0; step < s.n(); ++step) {
        const Chunk chunk = s.Part(s.At(r.value() - step).value(), 0, lane);
        std::vector<Operand> outputs = {Recv()};
        if (step < s.n() - 1) outputs.push_back(s.To(r, right, lane));
        s.Add(r, lane, chunk, {step == 0 ? Send() : s.To(left, r, lane)}, outputs, step);
      }
    }
  }
  return s.Take();
}

Plan RingReduceScatter(const SampleOptions& options) {
  Sampler s(Collective::kReduceScatter, options, "ring");
  for (Rank r : Ids<Rank>(s.n())) {
    const Rank left = s.At(r.value() - 1);
    const Rank right = s.At(r.value() + 1);
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      for (int32_t step = 0; step < s.n(); ++step) {
        const Chunk chunk = s.Part(s.At(r.value() - 1 - step).value(), 0, lane);
        std::vector<Operand> inputs = {Send()};
        if (step > 0) inputs.insert(inputs.begin(), s.To(left, r, lane));
        const bool last = step == s.n() - 1;
        std::vector<Operand> outputs = {last ? Recv() : s.To(r, right, lane)};
        if (!last && step > 0) outputs = s.WithPlace(r, chunk, outputs);
        s.Add(r, lane, chunk, inputs, outputs, step).finish = last;
      }
    }
  }
  return s.Take();
}

Plan RingAllReduce(const SampleOptions& options) {
  Sampler s(Collective::kAllReduce, options, "ring");
  s.plan().units_per_block = static_cast<int64_t>(s.n()) * s.lanes();
  const int32_t n = s.n();
  for (Rank r : Ids<Rank>(n)) {
    const Rank left = s.At(r.value() - 1);
    const Rank right = s.At(r.value() + 1);
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      for (int32_t step = 0; step < 2 * n - 1; ++step) {
        const Chunk chunk = s.Part(0, s.At(r.value() - step).value(), lane);
        std::vector<Operand> inputs;
        if (step > 0) inputs.push_back(s.To(left, r, lane));
        if (step < n) inputs.push_back(Send());
        std::vector<Operand> outputs;
        // With kDirect the partial sum waits in the receive buffer until the final one overwrites it.
        if (step >= n - 1 || (s.direct() && step > 0)) outputs.push_back(Recv());
        if (step < 2 * n - 2) outputs.push_back(s.To(r, right, lane));
        s.Add(r, lane, chunk, inputs, outputs, step).finish = step == n - 1;
      }
    }
  }
  return s.Take();
}

Plan OneShotAllReduce(const SampleOptions& options) {
  Sampler s(Collective::kAllReduce, options, "one-shot");
  for (Rank r : Ids<Rank>(s.n())) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      const Chunk chunk = s.Part(0, 0, lane);
      if (s.n() > 1) s.Add(r, lane, chunk, {Send()}, ToOthers(s, r, lane), 0);
      s.Add(r, lane, chunk, EveryonesShare(s, r, lane), {Recv()}, 1).finish = true;
    }
  }
  return s.Take();
}

Plan TwoShotAllReduce(const SampleOptions& options) {
  Sampler s(Collective::kAllReduce, options, "two-shot");
  s.plan().units_per_block = static_cast<int64_t>(s.n()) * s.lanes();
  for (Rank r : Ids<Rank>(s.n())) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      for (int32_t k = 1; k < s.n(); ++k) {
        const Rank peer = s.At(r.value() + k);
        s.Add(r, lane, s.Part(0, peer.value(), lane), {Send()}, {s.To(r, peer, lane)}, 0);
      }
      std::vector<Operand> outputs = ToOthers(s, r, lane);
      outputs.insert(outputs.begin(), Recv());
      s.Add(r, lane, s.Part(0, r.value(), lane), EveryonesShare(s, r, lane), outputs, 1).finish = true;
      for (int32_t k = 1; k < s.n(); ++k) {
        const Rank peer = s.At(r.value() - k);
        s.Add(r, lane, s.Part(0, peer.value(), lane), {s.To(peer, r, lane)}, {Recv()}, 2);
      }
    }
  }
  return s.Take();
}

Plan ChainBroadcast(const SampleOptions& options) {
  Sampler s(Collective::kBroadcast, options, "chain");
  for (int32_t depth = 0; depth < s.n(); ++depth) {
    const Rank r = s.At(options.root.value() + depth);
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      std::vector<Operand> outputs = {Recv()};
      if (depth < s.n() - 1) outputs.push_back(s.To(r, s.At(r.value() + 1), lane));
      s.Add(r, lane, s.Part(0, 0, lane), {depth == 0 ? Send() : s.To(s.At(r.value() - 1), r, lane)}, outputs, depth);
    }
  }
  return s.Take();
}

Plan ChainReduce(const SampleOptions& options) {
  Sampler s(Collective::kReduce, options, "chain");
  for (int32_t depth = s.n() - 1; depth >= 0; --depth) {
    const Rank r = s.At(options.root.value() + depth);
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      const Chunk chunk = s.Part(0, 0, lane);
      std::vector<Operand> inputs = {Send()};
      if (depth < s.n() - 1) inputs.push_back(s.To(s.At(r.value() + 1), r, lane));
      std::vector<Operand> outputs = {depth == 0 ? Recv() : s.To(r, s.At(r.value() - 1), lane)};
      if (depth > 0 && depth < s.n() - 1) outputs = s.WithPlace(r, chunk, outputs);
      s.Add(r, lane, chunk, inputs, outputs, s.n() - 1 - depth).finish = depth == 0;
    }
  }
  return s.Take();
}

Plan DirectAllToAll(const SampleOptions& options) {
  Sampler s(Collective::kAllToAll, options, "direct");
  const int32_t n = s.n();
  for (Rank r : Ids<Rank>(n)) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      s.Add(r, lane, s.Part(r.value() * n + r.value(), 0, lane), {Send()}, {Recv()}, 0);
      for (int32_t k = 1; k < n; ++k) {
        const Rank to = s.At(r.value() + k);
        s.Add(r, lane, s.Part(r.value() * n + to.value(), 0, lane), {Send()}, {s.To(r, to, lane)}, 0);
      }
      for (int32_t k = 1; k < n; ++k) {
        const Rank from = s.At(r.value() - k);
        s.Add(r, lane, s.Part(from.value() * n + r.value(), 0, lane), {s.To(from, r, lane)}, {Recv()}, 1);
      }
    }
  }
  return s.Take();
}

Plan StarGather(const SampleOptions& options) {
  Sampler s(Collective::kGather, options, "star");
  const Rank root = options.root;
  for (Rank r : Ids<Rank>(s.n())) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      const Chunk chunk = s.Part(r.value(), 0, lane);
      if (r != root) s.Add(r, lane, chunk, {Send()}, {s.To(r, root, lane)}, 0);
      s.Add(root, lane, chunk, {r == root ? Send() : s.To(r, root, lane)}, {Recv()}, r == root ? 0 : 1);
    }
  }
  return s.Take();
}

Plan StarScatter(const SampleOptions& options) {
  Sampler s(Collective::kScatter, options, "star");
  const Rank root = options.root;
  for (Rank r : Ids<Rank>(s.n())) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      const Chunk chunk = s.Part(r.value(), 0, lane);
      s.Add(root, lane, chunk, {Send()}, {r == root ? Recv() : s.To(root, r, lane)}, 0);
      if (r != root) s.Add(r, lane, chunk, {s.To(root, r, lane)}, {Recv()}, 1);
    }
  }
  return s.Take();
}

Plan DirectAllToAllV(const SampleOptions& options, const std::vector<int64_t>& demand) {
  Sampler s(Collective::kAllToAllV, options, "direct");
  s.plan().block_units = demand;
  const int32_t n = s.n();
  const auto share = [&](Rank from, Rank to, int32_t lane) -> Chunk {
    const int32_t block = from.value() * n + to.value();
    const int64_t units = demand[static_cast<size_t>(block)];
    return {block, ElementOf(units, lane, s.lanes()), ElementOf(units, lane + 1, s.lanes())};
  };
  for (Rank r : Ids<Rank>(n)) {
    for (int32_t lane = 0; lane < s.lanes(); ++lane) {
      for (int32_t k = 0; k < n; ++k) {
        const Rank to = s.At(r.value() + k);
        const Chunk chunk = share(r, to, lane);
        if (chunk.units() > 0) s.Add(r, lane, chunk, {Send()}, {k == 0 ? Recv() : s.To(r, to, lane)}, 0);
      }
      for (int32_t k = 1; k < n; ++k) {
        const Rank from = s.At(r.value() - k);
        const Chunk chunk = share(from, r, lane);
        if (chunk.units() > 0) s.Add(r, lane, chunk, {s.To(from, r, lane)}, {Recv()}, 1);
      }
    }
  }
  return s.Take();
}

std::vector<SamplePlan> AllSamplePlans(const SampleOptions& options) {
  // A rank that lets others read its send buffer must not receive into it before they have.
  const bool direct = options.protocol == Protocol::kDirect && options.ranks > 1;
  std::vector<int64_t> demand;
  for (int32_t i = 0; i < options.ranks * options.ranks; ++i) demand.push_back((i * 7 + 3) % 11);
  std::vector<SamplePlan> plans;
  plans.push_back({"ring allgather", RingAllGather(options), true});
  plans.push_back({"ring reduce_scatter", RingReduceScatter(options), true});
  plans.push_back({"ring allreduce", RingAllReduce(options), true});
  plans.push_back({"one-shot allreduce", OneShotAllReduce(options), !direct});
  plans.push_back({"two-shot allreduce", TwoShotAllReduce(options), true});
  plans.push_back({"chain broadcast", ChainBroadcast(options), true});
  plans.push_back({"chain reduce", ChainReduce(options), true});
  plans.push_back({"direct alltoall", DirectAllToAll(options), !direct});
  plans.push_back({"star gather", StarGather(options), true});
  plans.push_back({"star scatter", StarScatter(options), true});
  plans.push_back({"direct alltoallv", DirectAllToAllV(options, demand), false});
  return plans;
}

}  // namespace mycel
