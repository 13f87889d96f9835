// Writes an output whose numbers are known in closed form: writer PATH new|append|overwrite pattern|cake
// FIRST COUNT Flushes after every second batch; beside the output, the file `flushed` says for how many
// frames flush() returned.
#include <annulus/core/error.hpp>

#include <fcntl.h>

#include <cstdio>
#include <string>

#include "samples.hpp"

namespace {

using namespace annulus;

constexpr std::uint64_t kBatch = 5;

void tell(const std::filesystem::path& path, std::uint64_t frames) {
  const int file = ::open((path.parent_path() / "flushed").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (::pwrite(file, &frames, sizeof frames, 0) != sizeof frames) std::perror("flushed");
  ::close(file);
}

void write(const std::filesystem::path& path, IfExists if_exists, bool cake, std::uint64_t first,
           std::uint64_t count) {
  // Rows of a cake this large are written as those of real ones are, in chunks of a few azimuths.
  const auto plan = cake ? samples::make_cake(64, 512) : samples::make_plan(96);
  RunDescription run = samples::make_run();
  run.expected_frames = 16;  // so that the frames take many chunks
  const auto sink = open_nexus(path, samples::job_of(plan), run, if_exists);
  const std::uint64_t batch = cake ? 1 : kBatch;
  for (std::uint64_t done = 0; done < count; done += batch) {
    // In the file frames are numbered from where it is continued.
    auto frames = samples::make_frames(*plan, first + done, std::min(batch, count - done));
    for (ReducedFrame& frame : frames) frame.id.index -= first;
    sink->append(frames);
    if (done / batch % 2 == 0) continue;
    sink->flush();
    tell(path, first + std::min(done + batch, count));
  }
  sink->close();
  tell(path, first + count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string mode = argv[2];
  const IfExists if_exists = mode == "append"      ? IfExists::kAppend
                             : mode == "overwrite" ? IfExists::kOverwrite
                                                   : IfExists::kRefuse;
  try {
    write(argv[1], if_exists, std::string(argv[3]) == "cake", std::stoull(argv[4]), std::stoull(argv[5]));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 5;
  }
  return 0;
}
