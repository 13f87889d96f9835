// The command line as commands describe it: which options they have, and where the values go.
//
// How arguments are parsed is known to command_line.cpp alone, which takes long to compile.
#pragma once

#include <annulus/plan/integration_options.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace annulus::app {

// Where the value of an option goes; what the user does not name keeps its value, which the help shows. A
// bool is a flag without a value.
using Field =
    std::variant<bool*, std::string*, std::filesystem::path*, std::uint32_t*, std::uint64_t*, std::int64_t*,
                 double*, std::optional<std::uint32_t>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::optional<Range>*, std::vector<std::string>*, std::vector<std::uint32_t>*,
                 std::vector<std::uint64_t>*>;

// What is wrong with an argument, or an empty text.
using Check = std::function<std::string(const std::string& argument)>;

// For numbers of which 0 makes no sense.
std::string above_zero(const std::string& argument);

// One option while it is described.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& group(const std::string& heading);
  Option& required();
  Option& excludes(const Option& other);
  Option& needs(const Option& other);
  Option& check(Check fault_of);
  Option& exactly(int values);  // of a list: not as many as there are arguments
  Option& one_at_a_time();      // of a list: given once more for the next

 private:
  CLI::Option* option_;
};

// Returns an exit code; throws annulus::Error.
using Action = std::function<int()>;

// One command: its options, and what it does. Keys are as in the library's table: "max_count" is --max-count
// here.
class Command {
 public:
  Command(CLI::App* parser, Action* action) : parser_(parser), action_(action) {}

  Option add(const std::string& key, Field field, const std::string& help, char letter = 0);

  // Arguments without a flag.
  Option add_positional(const std::string& key, Field field, const std::string& help);

  // One argument that `take` makes sense of. kind, shown: what the help says of its type and its default.
  Option add_text(const std::string& key, const std::function<void(const std::string&)>& take,
                  const std::string& help, const std::string& shown, char letter = 0,
                  const std::string& kind = "TEXT");

  // One that was added before.
  Option get(const std::string& key) const;

  // Gives the fields the values that were on the command line once more.
  void apply_again() const;

  // What happens when the command is chosen.
  void set_action(Action action);

  // The same for a command whose work several ranks share (shared_work.hpp); the others refuse them.
  void set_shared_action(Action action);

 private:
  CLI::App* parser_;
  Action* action_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Commands are handles, which may be copied, for as long as this lives.
  Command add_command(const std::string& name, const std::string& help);

  // Parses and acts. Returns an exit code, also for --help and for arguments that make no sense, of which it
  // tells.
  int run(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace annulus::app
