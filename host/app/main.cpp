#include <annulus/engine/probe_server.hpp>
#include <annulus/version.hpp>

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "commands.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

// What is closed would be given to the next file that is opened, and messages would go into an output. Opened
// so that writing to it fails.
void occupy_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) (void)!::open("/dev/null", O_RDONLY);
  }
}

// The code of a run, unless what it printed did not reach its reader. A reader that closed its pipe has seen
// enough (annulus info FILE | head -1): whether the run was good does not depend on that.
int finish(int code) {
  const int fault = finish_printing();
  if (fault == 0 || fault == EPIPE) return code;
  print_error(
      "annulus: error: standard output: cannot be written: {} (what was to be printed there is lost; make "
      "room, or send it elsewhere)\n",
      std::strerror(fault));
  return code == kSuccess || code == kSomeFramesBad ? kOutputError : code;
}

int run(int argc, char** argv) {
  CommandLine program(
      "Annulus: diffraction patterns from X-ray detector frames, as fast as the detector makes them.",
      fmt::format("annulus {}", kVersion));
  for (auto* const add :
       {add_integrate, add_merge, add_renormalise, add_separate, add_map, add_tomo, add_correlate,
        add_simulate, add_plot, add_info, add_verify, add_devices, add_model_report, add_bench}) {
    add(program);
  }
  return program.run(argc, argv);
}

}  // namespace
}  // namespace annulus::app

int main(int argc, char** argv) {
  using namespace annulus::app;
  // A reader that closed our output is no reason to leave a run half done, and a file that may not grow is an
  // error to report.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  occupy_standard_streams();
  try {
    // HDF5 files are opened first in a process of this program that does nothing else.
    constexpr std::string_view kServer = "serve-probes";
    if (argc == 2 && argv[1] == kServer) return annulus::serve_hdf5_probes();
    std::error_code no_proc;
    constexpr const char* kSelf = "/proc/self/exe";
    std::filesystem::path self = std::filesystem::read_symlink(kSelf, no_proc);
    if (no_proc) self = argv[0];
    if (!no_proc && !std::filesystem::exists(self)) self = kSelf;  // replaced by another version meanwhile
    annulus::set_probe_command({self.string(), std::string(kServer)});
    return finish(run(argc, argv));
  } catch (const std::exception& error) {
    return finish(report_failure(error));
  }
}
