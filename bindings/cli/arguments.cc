#include "bindings/cli/arguments.h"

#include <charconv>
#include <cstdio>

#include "bindings/cli/exit_code.h"
#include "core/base/bytes.h"
#include "core/base/edit_distance.h"
#include "scheduler/select/planners.h"

namespace mycel::cli {
namespace {

/// CLI11 puts the option's name in front.
[[noreturn]] void Refuse(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

const CLI::App& DeepestParsed(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "plan" or "topo show"; empty for the root.
std::string CommandPath(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string parent = CommandPath(*app.get_parent());
  return parent.empty() ? app.get_name() : parent + " " + app.get_name();
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string Hint(const std::string& name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view nearest = NearestName(name, views);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

/// Which word of the command line nobody asked for, if that is what is wrong.
std::string Unexpected(const CLI::App& root, const CLI::App& app) {
  const std::vector<std::string> extras = root.remaining(true);
  if (extras.empty()) return {};
  const std::string word = extras.front().substr(0, extras.front().find('='));
  if (word.starts_with("-")) {
    return "unknown option " + word + Hint(word, OptionNames(app));
  }
  const std::vector<std::string> commands = CommandNames(app);
  if (commands.empty()) return "unexpected argument '" + word + "'";
  std::string list;
  for (const std::string& name : commands) list += " " + name;
  return "unknown command '" + word + "'" + Hint(word, commands) + " Commands:" + list;
}

}  // namespace

std::string UnknownName(std::string_view value, std::string_view noun, const std::vector<std::string_view>& known) {
  std::string text = "'" + std::string(value) + "' is no " + std::string(noun);
  const std::string_view nearest = NearestName(value, known);
  if (!nearest.empty()) text += "; did you mean " + std::string(nearest) + "?";
  text += nearest.empty() ? "; use one of:" : " There are:";
  for (const std::string_view name : known) text += " " + std::string(name);
  return text;
}

CLI::Option* AddBytes(CLI::App* app, int64_t* bytes, const std::string& text) {
  const auto parse = [bytes](const std::string& value) {
    const StatusOr<int64_t> parsed = ParseBytes(value);
    if (!parsed.ok()) Refuse("--bytes", StatusMessage(parsed.status()));
    *bytes = *parsed;
  };
  return app->add_option_function<std::string>("--bytes", parse, text)
      ->type_name("SIZE")
      ->default_str(FormatBytes(*bytes));
}

CLI::Option* AddNumber(CLI::App* app, const std::string& name, int64_t* value, int64_t least, int64_t most,
                       const std::string& text) {
  const auto parse = [=](const std::string& word) {
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || rest != end || number < least || number > most) {
      Refuse(name, "'" + word + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    *value = number;
  };
  return app->add_option_function<std::string>(name, parse, text)->type_name("N");
}

CLI::Option* AddTopology(CLI::App* app, std::string* name) {
  return app->add_option("--topo", *name, "topology: a name of `mycel topo list` or a file")->type_name("T");
}

CLI::Option* AddCollective(CLI::App* app, std::optional<Collective>* collective) {
  std::vector<std::string_view> names;
  std::string list;
  for (const CollectiveInfo& info : AllCollectives()) {
    names.push_back(info.name);
    list += " " + std::string(info.name);
  }
  const auto parse = [collective, names](const std::string& value) {
    const StatusOr<Collective> parsed = ParseCollective(value);
    if (!parsed.ok()) Refuse("--collective", UnknownName(value, "collective", names));
    *collective = *parsed;
  };
  return app->add_option_function<std::string>("--collective", parse, "one of" + list)->type_name("C");
}

CLI::Option* AddPlanner(CLI::App* app, std::string* planner) {
  std::vector<std::string_view> names = {"auto"};
  for (const Planner* each : AllPlanners()) names.push_back(each->name());
  std::string list;
  for (const std::string_view name : names) list += " " + std::string(name);
  const auto parse = [planner, names](const std::string& value) {
    for (const std::string_view name : names) {
      if (name == value) *planner = value;
    }
    if (*planner != value) Refuse("--planner", UnknownName(value, "planner", names));
  };
  return app->add_option_function<std::string>("--planner", parse, "one of" + list)->type_name("P");
}

CLI::Option* AddJson(CLI::App* app, bool* json) { return app->add_flag("--json", *json, "print one JSON object"); }

int ReportParseError(const CLI::App& root, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return root.exit(error) == 0 ? kDone : kDefect;  // --help, --version: prints them
  }
  const CLI::App& app = DeepestParsed(root);
  const std::string unexpected = Unexpected(root, app);
  if (!unexpected.empty()) return FailUsage(unexpected, CommandPath(app));
  if (error.get_name() == "RequiredError" && !CommandNames(app).empty()) {
    const std::string above = app.get_parent() == nullptr ? "" : root.get_name();  // no deeper than topo
    std::fputs(app.help(above).c_str(), stderr);
    return kUsage;
  }
  return FailUsage(error.what(), CommandPath(app));
}

}  // namespace mycel::cli
