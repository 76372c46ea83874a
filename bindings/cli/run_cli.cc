#include "bindings/cli/run_cli.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace mycel::cli {
namespace {

/// Removed when the program ends.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mycel-cli-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Joined(const std::vector<std::string>& arguments) {
  std::string text = "mycel";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace

CliResult RunCli(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words = {MYCEL_CLI_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).rfind("MYCEL_", 0) != 0) variables.emplace_back(*variable);
  }
  if (!environment.contains("MYCEL_CACHE_DIR")) variables.emplace_back("MYCEL_CACHE_DIR=off");
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::string out = TempPath("stdout");
  const std::string err = TempPath("stderr");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  const int failed =
      posix_spawn(&child, MYCEL_CLI_PATH, &actions, nullptr, Pointers(words).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  CliResult result;
  EXPECT_EQ(failed, 0) << MYCEL_CLI_PATH << ": " << std::strerror(failed);
  int status = 0;
  if (failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.out = ReadAll(out);
  result.err = ReadAll(err);
  return result;
}

void ExpectRefused(const std::vector<std::string>& arguments, int exit_code, const std::vector<std::string>& said) {
  const CliResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << Joined(arguments) << "\n" << result.out << result.err;
  EXPECT_EQ(result.out, "") << Joined(arguments);
  for (const std::string& text : said) {
    EXPECT_NE(result.err.find(text), std::string::npos)
        << Joined(arguments) << "\nsays: " << result.err << "but not: " << text;
  }
}

nlohmann::ordered_json RunJson(const std::vector<std::string>& arguments) {
  const CliResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << Joined(arguments) << "\n" << result.err;
  EXPECT_EQ(result.err, "") << Joined(arguments);
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(result.out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << Joined(arguments) << "\n" << result.out;
  return json;
}

std::vector<std::string> KeysOf(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

Rational FractionOf(const nlohmann::ordered_json& text) {
  EXPECT_TRUE(text.is_string()) << text;
  const StatusOr<Rational> fraction = Rational::Parse(text.is_string() ? text.get<std::string>() : "0");
  EXPECT_TRUE(fraction.ok()) << text << ": " << fraction.status();
  return fraction.value_or(Rational(0));
}

std::string TempPath(const std::string& name) {
  static const OwnFolder folder;
  return folder.path() + "/" + name;
}

std::string WriteTemp(const std::string& name, const std::string& text) {
  std::string path = TempPath(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace mycel::cli
