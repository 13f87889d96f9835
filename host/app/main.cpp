#include <annulus/version.hpp>

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "parse_message.hpp"

namespace annulus::app {
namespace {

int report(const std::exception& error) {
  fmt::print(stderr, "annulus: error: {}\n", error.what());
  return kInternalError;
}

int run(int argc, char** argv) {
  CLI::App program{
      "Annulus: diffraction patterns from X-ray detector frames, as fast as the detector makes them."};
  program.set_version_flag("--version", fmt::format("annulus {}", kVersion));
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);

  std::vector<std::pair<CLI::App*, Command>> commands;
  for (auto* const add : {add_integrate, add_simulate, add_plot, add_info, add_verify, add_devices,
                          add_model_report, add_bench}) {
    Command command = add(program);
    commands.emplace_back(program.get_subcommands({}).back(), std::move(command));
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version come this way too, with code 0.
    if (error.get_exit_code() == 0) return program.exit(error);
    const bool any = !program.get_subcommands().empty();
    const CLI::App& command = any ? *program.get_subcommands().front() : program;
    const bool unknown = argc > 1 && argv[1][0] != '-' && !any;
    fmt::print(stderr, "annulus: error: {} ('annulus {}--help' tells more)\n",
               unknown ? fmt::format("there is no command '{}'", argv[1]) : parse_message(error, command),
               any ? command.get_name() + " " : "");
    return kUsageError;
  }
  for (const auto& [subcommand, command] : commands) {
    if (*subcommand) return command();
  }
  return kUsageError;
}

}  // namespace
}  // namespace annulus::app

int main(int argc, char** argv) {
  using namespace annulus::app;
  // A reader that closed our output, or a file that may not grow, is an error to report, not a sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const annulus::Error& error) {
    report(error);
    return exit_code_of(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "annulus: error: out of memory (use fewer bins or threads, or smaller frames)\n");
    return kInternalError;
  } catch (const std::exception& error) {
    return report(error);
  }
}
