#include "shared_work.hpp"

#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "exit_code.hpp"
#include "failure.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

namespace fs = std::filesystem;

// Modules are found from where the program is, which has the same place in a build and in an installation.
fs::path mpi_module() {
  std::error_code ignored;
  return (fs::read_symlink("/proc/self/exe", ignored).parent_path() / ANNULUS_MODULES_FROM_PROGRAM /
          "annulus_mpi.so")
      .lexically_normal();
}

// What was printed must be out before others end: the one who started the ranks ends all with the first that
// leaves with a fault.
int leave(Ranks& ranks, int code) {
  finish_printing();
  ranks.wait_for_all();
  return code;
}

}  // namespace

int share_work(const std::function<void(Ranks& ranks)>& work, const std::function<int()>& tell) {
  const std::shared_ptr<Ranks> ranks = join_ranks(mpi_module());
  if (ranks->size() == 1) {
    work(*ranks);
    return tell();
  }
  share_machine(ranks->cores());
  try {
    work(*ranks);
  } catch (const FailedTogether& error) {
    return leave(*ranks, ranks->is_first() ? report_failure(error) : exit_code_of(error.kind()));
  } catch (const std::exception& error) {
    // The others know nothing of it, and would wait.
    print_error("annulus: rank {} fails, and ends the job\n", ranks->rank());
    const int code = report_failure(error);
    ranks->end_others(code);
    return code;
  }
  if (!ranks->is_first()) return leave(*ranks, kSuccess);
  int code = kInternalError;
  try {
    code = tell();
  } catch (const std::exception& error) {
    code = report_failure(error);
  }
  return leave(*ranks, code);
}

void refuse_ranks(const std::string& command) {
  const Launch launch = launch_of_environment();
  if (launch.size <= 1) return;
  throw Error(ErrorKind::kUsage, command,
              fmt::format("does its work in one process, and {} ranks were started", launch.size),
              "start it without mpirun; integrate, correlate and map share their work");
}

}  // namespace annulus::app
