// `mycel convert PLAN --to FORMAT`: a plan in another runtime's words. Whatever is read is proved right before it is
// written; exit code 1 when it is wrong.
#include <CLI/CLI.hpp>
#include <memory>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/terminal.h"
#include "bindings/interchange/msccl_algorithm.h"
#include "bindings/interchange/plan_file.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"

namespace mycel::cli {
namespace {

struct ConvertArguments {
  std::string plan;
  PlanFormat to = PlanFormat::kMycel;
  std::string runtime;   // of MSCCL files; empty: the first
  std::string topology;  // empty: none
  std::string out;       // empty: standard output
};

struct Converted {
  std::string text;
  Status verdict;  // why there is no text
};

StatusOr<Converted> Convert(const ConvertArguments& arguments) {
  const Progress progress("converting " + arguments.plan);
  Converted converted;
  MYCEL_ASSIGN_OR_RETURN(LoadedPlan loaded, JudgePlanFile(arguments.plan));
  converted.verdict = loaded.verdict;
  if (!converted.verdict.ok()) return converted;
  if (!arguments.topology.empty()) {
    MYCEL_ASSIGN_OR_RETURN(const Topology topology, LoadTopology(arguments.topology));
    MYCEL_RETURN_IF_ERROR(RouteOn(topology, &loaded.plan));
    // Routes that the file brought along must exist there too.
    converted.verdict = ComputeLinkLoads(loaded.plan, topology).status();
    if (!converted.verdict.ok()) return converted;
  }
  MYCEL_ASSIGN_OR_RETURN(converted.text, WritePlanAs(loaded.plan, arguments.to, arguments.runtime));
  return converted;
}

ExitCode RunConvert(const ConvertArguments& arguments, bool runtime_given) {
  if (runtime_given && arguments.to != PlanFormat::kMscclXml) {
    return FailUsage("--runtime is for --to msccl-xml only; leave it out", "convert");
  }
  const StatusOr<Converted> converted = Convert(arguments);
  if (!converted.ok()) return Fail(converted.status());
  if (!converted->verdict.ok()) {
    Fail(converted->verdict);
    return kNo;
  }
  if (arguments.out.empty()) return Print(converted->text);
  const Status written = WriteFile(arguments.out, converted->text);
  return written.ok() ? kDone : Fail(written);
}

}  // namespace

std::vector<Command> DeclareConvert(CLI::App& root) {
  CLI::App* app = root.add_subcommand("convert", "write a plan in another format: MSCCL, MSCCL++ or Mycel");
  auto arguments = std::make_shared<ConvertArguments>();
  app->add_option("PLAN", arguments->plan, "a plan file: Mycel's, MSCCL's XML or MSCCL++'s JSON")
      ->required()
      ->type_name("");
  std::vector<std::string_view> formats;
  std::string format_list;
  for (const PlanFormat format : AllPlanFormats()) {
    formats.push_back(NameOf(format));
    format_list += " " + std::string(NameOf(format));
  }
  const auto parse_format = [arguments, formats](const std::string& value) {
    const StatusOr<PlanFormat> format = ParsePlanFormat(value);
    if (!format.ok()) throw CLI::ValidationError("--to", UnknownName(value, "plan format", formats));
    arguments->to = *format;
  };
  app->add_option_function<std::string>("--to", parse_format, "one of" + format_list)->required()->type_name("FORMAT");
  app->add_option("--out", arguments->out, "write to this file instead of standard output")->type_name("FILE");
  AddTopology(app, &arguments->topology)->description("give messages without a route the shortest one here");
  std::vector<std::string_view> runtimes;
  std::string runtime_list;
  for (const msccl::Limits& limits : msccl::AllLimits()) {
    runtimes.push_back(limits.runtime);
    runtime_list += " " + std::string(limits.runtime);
  }
  const auto parse_runtime = [arguments, runtimes](const std::string& value) {
    for (const std::string_view runtime : runtimes) {
      if (runtime == value) arguments->runtime = value;
    }
    if (arguments->runtime != value) {
      throw CLI::ValidationError("--runtime", UnknownName(value, "runtime of MSCCL files", runtimes));
    }
  };
  CLI::Option* runtime = app->add_option_function<std::string>(
      "--runtime", parse_runtime, "whose limits and spelling an MSCCL file keeps to, one of" + runtime_list);
  runtime->type_name("R")->default_str(std::string(runtimes.front()));
  return {{app, [arguments, runtime] { return RunConvert(*arguments, runtime->count() > 0); }}};
}

}  // namespace mycel::cli
