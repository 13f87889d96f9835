#include <annulus/core/error.hpp>
#include <annulus/version.hpp>

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "commands.hpp"
#include "exit_code.hpp"
#include "option_names.hpp"

namespace annulus::app {
namespace {

int report(const std::exception& error) {
  fmt::print(stderr, "annulus: error: {}\n", in_our_words(error.what()));
  return kInternalError;
}

int run(int argc, char** argv) {
  CommandLine program(
      "Annulus: diffraction patterns from X-ray detector frames, as fast as the detector makes them.",
      fmt::format("annulus {}", kVersion));
  for (auto* const add : {add_integrate, add_simulate, add_plot, add_info, add_verify, add_devices,
                          add_model_report, add_bench}) {
    add(program);
  }
  return program.run(argc, argv);
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
