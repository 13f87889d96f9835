#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <charconv>
#include <deque>
#include <sstream>
#include <string_view>
#include <utility>

#include "exit_code.hpp"
#include "option_names.hpp"
#include "print.hpp"
#include "shared_work.hpp"

namespace annulus::app {
namespace {

template <typename T>
constexpr bool kShowsDefault = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;

CLI::Option* add_field(CLI::App& command, const std::string& names, bool* field, const std::string& help) {
  return command.add_flag(names, *field, help);
}

CLI::Option* add_field(CLI::App& command, const std::string& names, std::optional<Range>* field,
                       const std::string& help) {
  const auto take = [field](const std::vector<double>& ends) { *field = Range{ends[0], ends[1]}; };
  return command.add_option_function<std::vector<double>>(names, take, help)
      ->expected(2)
      ->allow_extra_args(false);
}

template <typename T>
CLI::Option* add_field(CLI::App& command, const std::string& names, T* field, const std::string& help) {
  CLI::Option* const option = command.add_option(names, *field, help);
  return kShowsDefault<T> ? option->capture_default_str() : option;
}

// "-p,--poni"
std::string names_of(const std::string& key, char letter) {
  const std::string flag = flag_of(key);
  know_name(key, flag);
  return letter == 0 ? flag : fmt::format("-{},{}", letter, flag);
}

// As CLI11 names the types of options.
std::string kind_of(const CLI::Option& option) {
  const bool several = option.get_expected_min() > 1;
  const std::string type = option.get_type_name();
  const std::string noun = type.starts_with("UINT")  ? "whole number from 0"
                           : type.starts_with("INT") ? "whole number"
                                                     : "number";
  return several ? fmt::format("{} {}s", option.get_expected_min(), noun) : "a " + noun;
}

// What was wrong with a command line, in our words. command: the one whose options were being read.
std::string parse_message(const CLI::ParseError& error, const CLI::App& command) {
  // "Could not convert: --npt = -5"
  constexpr std::string_view kHead = "Could not convert: ";
  constexpr std::string_view kBetween = " = ";
  const std::string text = error.what();
  const std::size_t between = text.find(kBetween);
  if (!text.starts_with(kHead) || between == std::string::npos) return text;
  const std::string name = text.substr(kHead.size(), between - kHead.size());
  const std::string value = text.substr(between + kBetween.size());
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) return text;
  const bool several = option->get_expected_min() > 1;
  return fmt::format("{}: '{}' {} not {}", name, value, several ? "are" : "is", kind_of(*option));
}

}  // namespace

std::string above_zero(const std::string& argument) {
  double number = 0;
  const auto [end, code] = std::from_chars(argument.data(), argument.data() + argument.size(), number);
  const bool good = code == std::errc() && end == argument.data() + argument.size() && number > 0;
  return good ? std::string() : fmt::format("'{}' is not a number above 0", argument);
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::check(Check fault_of) {
  option_->check(std::move(fault_of));
  return *this;
}

Option& Option::exactly(int values) {
  option_->expected(values)->allow_extra_args(false);
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option Command::add(const std::string& key, Field field, const std::string& help, char letter) {
  const std::string names = names_of(key, letter);
  return Option(std::visit([&](auto* place) { return add_field(*parser_, names, place, help); }, field));
}

Option Command::add_positional(const std::string& key, Field field, const std::string& help) {
  know_name(key, key);
  return Option(std::visit([&](auto* place) { return add_field(*parser_, key, place, help); }, field));
}

Option Command::add_text(const std::string& key, const std::function<void(const std::string&)>& take,
                         const std::string& help, const std::string& shown, char letter,
                         const std::string& kind) {
  return Option(parser_->add_option_function<std::string>(names_of(key, letter), take, help)
                    ->default_str(shown)
                    ->type_name(kind));
}

Option Command::get(const std::string& key) const {
  return Option(parser_->get_option(name_of_option(key).value()));
}

void Command::apply_again() const {
  for (CLI::Option* const option : parser_->get_options()) {
    if (option->count() > 0) option->run_callback();
  }
}

void Command::set_action(Action action) {
  *action_ = [name = parser_->get_name(), action = std::move(action)] {
    refuse_ranks(name);
    return action();
  };
}

void Command::set_shared_action(Action action) { *action_ = std::move(action); }

struct CommandLine::Parser {
  explicit Parser(const std::string& description) : program(description) {}

  CLI::App program;
  std::deque<std::pair<CLI::App*, Action>> commands;  // which do not move
};

CommandLine::CommandLine(const std::string& description, const std::string& version)
    : parser_(std::make_unique<Parser>(description)) {
  CLI::App& program = parser_->program;
  program.set_version_flag("--version", version);
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const std::string& name, const std::string& help) {
  CLI::App* const command = parser_->program.add_subcommand(name, help);
  auto& added = parser_->commands.emplace_back(command, Action());
  return Command(command, &added.second);
}

int CommandLine::run(int argc, char** argv) {
  CLI::App& program = parser_->program;
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version come this way too, with code 0.
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      program.exit(error, text, text);
      put(text.str());
      return kSuccess;
    }
    const bool any = !program.get_subcommands().empty();
    const CLI::App& command = any ? *program.get_subcommands().front() : program;
    const bool unknown = argc > 1 && argv[1][0] != '-' && !any;
    print_error("annulus: error: {} ('annulus {}--help' tells more)\n",
                on_one_line(unknown ? fmt::format("there is no command '{}'", argv[1])
                                    : parse_message(error, command)),
                any ? command.get_name() + " " : "");
    return kUsageError;
  }
  for (const auto& [command, action] : parser_->commands) {
    if (*command) return action();
  }
  return kUsageError;
}

}  // namespace annulus::app
