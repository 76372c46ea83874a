#include "bindings/interchange/plan_file.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "bindings/interchange/lift.h"
#include "bindings/interchange/msccl_export.h"
#include "bindings/interchange/msccl_trace.h"
#include "bindings/interchange/msccl_xml.h"
#include "bindings/interchange/mscclpp_export.h"
#include "bindings/interchange/mscclpp_json.h"
#include "bindings/interchange/mscclpp_trace.h"
#include "bindings/interchange/wrong_plan.h"
#include "core/plan/plan_json.h"
#include "core/plan/verify.h"

namespace mycel {
namespace {

/// Whether a key stands in the outermost object of a JSON text; a text that is no JSON may say anything.
bool HasTopKey(std::string_view text, std::string_view key) {
  int depth = 0;
  bool may_be_key = false;  // at depth 1, after '{' or ','
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '{':
      case '[':
        may_be_key = ++depth == 1;
        break;
      case '}':
      case ']':
        --depth;
        break;
      case ',':
        may_be_key = depth == 1;
        break;
      case '"': {
        const size_t begin = ++i;
        while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        if (depth == 1 && may_be_key && i <= text.size() && text.substr(begin, i - begin) == key) return true;
        may_be_key = false;
        break;
      }
      default:
        break;
    }
  }
  return false;
}

PlanFormat Recognise(std::string_view text) {
  const size_t first = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (first != std::string_view::npos && text[first] == '<') return PlanFormat::kMscclXml;
  if (!HasTopKey(text, "format") && HasTopKey(text, "gpus")) return PlanFormat::kMscclppJson;
  return PlanFormat::kMycel;
}

/// Proves what a file of another format was turned into.
StatusOr<LoadedPlan> JudgeTrace(const StatusOr<Trace>& trace, LoadedPlan loaded, const std::string& file_name) {
  if (!trace.ok()) {
    if (!IsWrongPlan(trace.status())) return trace.status();
    loaded.verdict = InvalidArgument(StatusMessage(trace.status()));
    return loaded;
  }
  const auto with_file = [&](const Status& status) {
    return MakeStatus(status.code(), file_name + ": " + StatusMessage(status));
  };
  StatusOr<Plan> plan = LiftTrace(*trace);
  if (!plan.ok()) return with_file(plan.status());
  loaded.plan = *std::move(plan);
  const Status verified = Verify(loaded.plan);
  if (verified.ok()) return loaded;
  if (verified.code() != StatusCode::kInvalidArgument) return with_file(verified);
  VerifyOptions out_of_place;
  out_of_place.in_place = false;
  if (Verify(loaded.plan, out_of_place).ok()) {
    return Impossible(file_name + ": is right out of place, but " + StatusMessage(verified) +
                      "; a plan of Mycel must hold in both ways");
  }
  loaded.verdict = with_file(verified);
  return loaded;
}

StatusOr<LoadedPlan> JudgeMscclXml(std::string_view text, const std::string& file_name) {
  MYCEL_ASSIGN_OR_RETURN(const msccl::Algorithm algorithm, msccl::ReadXml(text, file_name));
  LoadedPlan loaded;
  loaded.format = PlanFormat::kMscclXml;
  loaded.plan.collective = algorithm.collective;
  loaded.plan.rank_count = algorithm.rank_count();
  loaded.plan.planner = "msccl/" + algorithm.name;
  loaded.plan.topology = algorithm.notes.present ? algorithm.notes.topology : "unknown";
  return JudgeTrace(msccl::TraceOf(algorithm), std::move(loaded), file_name);
}

StatusOr<LoadedPlan> JudgeMscclppJson(std::string_view text, const std::string& file_name) {
  MYCEL_ASSIGN_OR_RETURN(const mscclpp::ExecutionPlan execution, mscclpp::ReadJson(text, file_name));
  LoadedPlan loaded;
  loaded.format = PlanFormat::kMscclppJson;
  loaded.plan.collective = execution.collective;
  loaded.plan.rank_count = execution.rank_count();
  loaded.plan.planner = "mscclpp/" + execution.name;
  loaded.plan.topology = execution.notes.present ? execution.notes.topology : "unknown";
  return JudgeTrace(mscclpp::TraceOf(execution), std::move(loaded), file_name);
}

}  // namespace

std::string_view NameOf(PlanFormat format) {
  switch (format) {
    case PlanFormat::kMycel:
      return "mycel";
    case PlanFormat::kMscclXml:
      return "msccl-xml";
    case PlanFormat::kMscclppJson:
      return "mscclpp-json";
  }
  return "?";
}

const std::vector<PlanFormat>& AllPlanFormats() {
  static const std::vector<PlanFormat> formats = {PlanFormat::kMscclXml, PlanFormat::kMscclppJson, PlanFormat::kMycel};
  return formats;
}

StatusOr<PlanFormat> ParsePlanFormat(std::string_view name) {
  std::string names;
  for (const PlanFormat format : AllPlanFormats()) {
    if (NameOf(format) == name) return format;
    names += " " + std::string(NameOf(format));
  }
  return InvalidArgument("'" + std::string(name) + "' is no plan format; use one of:" + names);
}

StatusOr<LoadedPlan> JudgePlanText(std::string_view text, const std::string& file_name) {
  switch (Recognise(text)) {
    case PlanFormat::kMscclXml:
      return JudgeMscclXml(text, file_name);
    case PlanFormat::kMscclppJson:
      return JudgeMscclppJson(text, file_name);
    case PlanFormat::kMycel:
      break;
  }
  LoadedPlan loaded;
  MYCEL_ASSIGN_OR_RETURN(loaded.plan, ReadPlanText(text, file_name));
  loaded.verdict = Verify(loaded.plan);
  // Only a plan found wrong is an answer; anything else went wrong on the way to one.
  if (!loaded.verdict.ok() && loaded.verdict.code() != StatusCode::kInvalidArgument) return loaded.verdict;
  return loaded;
}

StatusOr<LoadedPlan> JudgePlanFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return InvalidArgument(path + ": this is a folder, not a plan file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument(path + ": cannot open the plan file; check the path");
  // Read in pieces: a pipe does not say how long it is.
  std::string text;
  std::vector<char> piece(1 << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > static_cast<size_t>(kPlanFileBytesMax)) {
      return InvalidArgument(path + ": the file is larger than " + std::to_string(kPlanFileBytesMax) +
                             " bytes; use fewer chunks");
    }
  }
  if (text.empty()) return InvalidArgument(path + ": the plan file is empty or cannot be read");
  return JudgePlanText(text, path);
}

StatusOr<Plan> LoadPlanFile(const std::string& path) {
  MYCEL_ASSIGN_OR_RETURN(LoadedPlan loaded, JudgePlanFile(path));
  if (loaded.verdict.ok()) return std::move(loaded.plan);
  return InvalidArgument("plan " + path +
                         " is wrong and cannot be used (see `mycel verify`): " + StatusMessage(loaded.verdict));
}

Status RouteOn(const Topology& topology, Plan* plan) {
  if (plan->rank_count != topology.rank_count()) {
    return InvalidArgument("the plan has " + std::to_string(plan->rank_count) + " ranks, topology " + topology.name() +
                           " has " + std::to_string(topology.rank_count()) +
                           "; give the topology the plan was made for");
  }
  std::map<std::pair<Rank, Rank>, int32_t> routes;
  for (const RankPlan& rank : plan->ranks) {
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = 0; i < op.outputs; ++i) {
          Operand& out = plan->operands[static_cast<size_t>(op.operands + op.inputs + i)];
          if (out.kind != Operand::Kind::kChannel || out.route >= 0) continue;
          const Channel& channel = plan->channels[static_cast<size_t>(out.index)];
          if (topology.FindLink(topology.NodeOf(channel.source), topology.NodeOf(channel.target)).valid()) continue;
          const auto [at, is_new] =
              routes.try_emplace({channel.source, channel.target}, static_cast<int32_t>(plan->routes.size()));
          if (is_new) {
            Route route = ShortestRoute(topology, channel.source, channel.target);
            if (route.empty()) {
              return Impossible("the plan sends from rank " + std::to_string(channel.source.value()) + " to rank " +
                                std::to_string(channel.target.value()) + ", and topology " + topology.name() +
                                " has no route through switches between them");
            }
            plan->routes.push_back(std::move(route));
          }
          out.route = at->second;
        }
      }
    }
  }
  if (plan->topology_hash == 0) {
    plan->topology = topology.name();
    plan->topology_hash = topology.hash();
  }
  return OkStatus();
}

Status RouteForeign(PlanFormat format, const Topology& topology, Plan* plan) {
  return format == PlanFormat::kMycel ? OkStatus() : RouteOn(topology, plan);
}

StatusOr<std::string> WritePlanAs(const Plan& plan, PlanFormat format, std::string_view runtime) {
  switch (format) {
    case PlanFormat::kMycel:
      return WritePlan(plan);
    case PlanFormat::kMscclXml: {
      std::string names;
      for (const msccl::Limits& limits : msccl::AllLimits()) {
        names += " " + std::string(limits.runtime);
        if (!runtime.empty() && limits.runtime != runtime) continue;
        MYCEL_ASSIGN_OR_RETURN(const msccl::Algorithm algorithm, msccl::ExportPlan(plan, limits));
        return msccl::WriteXml(algorithm, limits);
      }
      return InvalidArgument("'" + std::string(runtime) + "' is no runtime of MSCCL files; use one of:" + names);
    }
    case PlanFormat::kMscclppJson: {
      MYCEL_ASSIGN_OR_RETURN(const mscclpp::ExecutionPlan execution, mscclpp::ExportPlan(plan));
      return mscclpp::WriteJson(execution);
    }
  }
  return InternalError("unknown plan format");
}

}  // namespace mycel
