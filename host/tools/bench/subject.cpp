#include <annulus/core/error.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/scan_plan.hpp>

#include <tools/bench/subject.hpp>
#include <tools/simulate/scan_writer.hpp>

namespace annulus {

Subject::Subject(const BenchOptions& options, const std::filesystem::path& folder) : config_(options.config) {
  simulated_ = config_.inputs.empty();
  if (simulated_) simulate(options, folder);
  config_.inputs = expand_inputs(config_.inputs);
  if (!simulated_) name_ = config_.inputs.front();
  read(options.frames);
}

void Subject::simulate(const BenchOptions& options, const std::filesystem::path& folder) {
  SimulationOptions simulation = options.simulation;
  simulation.frames = options.frames;
  const PowderScan powder(simulation);
  ScanOutput output;
  output.folder = folder;
  const ScanFiles files = write_scan(powder, output);
  name_ = powder.geometry().detector.name;
  config_.poni = files.poni.string();
  for (const auto& file : files.frames) config_.inputs.push_back(file.string());
}

// Files beyond the frames that are wanted are not even opened.
void Subject::read(std::uint64_t most) {
  const OpenOptions open = open_options(config_);
  for (const std::string& url : config_.inputs) {
    if (frames_.size() >= most) break;
    const auto source = open_source(url, open);
    File file{url, source->info().frames, 0};
    for (std::uint64_t i = 0; i < file.frames; ++i) {
      // Later frames of a long stack are taken to be as large as those in memory.
      if (frames_.size() < most) frames_.push_back(source->read(i));
      file.bytes += frames_.back().payload.size();
      if (frames_.back().shape == frames_.front().shape && frames_.back().type == frames_.front().type)
        continue;
      throw Error(ErrorKind::kInput, describe(frames_.back()),
                  "its shape or type differs from that of the first", "measure frames of one kind at a time");
    }
    files_.push_back(std::move(file));
  }
  if (frames_.empty()) throw Error(ErrorKind::kInput, config_.inputs.front(), "no frame to read");
}

std::uint64_t Subject::payload_bytes() const {
  std::uint64_t bytes = 0;
  for (const Frame& frame : frames_) bytes += frame.payload.size();
  return bytes;
}

Subject::Scan Subject::scan(std::uint64_t frames) const {
  Scan scan;
  for (std::size_t i = 0; scan.work.frames < frames; ++i) {
    const File& file = files_[i % files_.size()];
    scan.urls.push_back(file.url);
    scan.work.frames += file.frames;
    scan.work.bytes += file.bytes;
  }
  scan.work.pixels = scan.work.frames * pixels();
  return scan;
}

Job Subject::make_job(ErrorModel model) const { return make_job(model, config_.integration.bins); }

Job Subject::make_job(ErrorModel model, std::uint32_t bins) const {
  IntegrateConfig config = config_;
  config.recipe.error_model = model;
  config.integration.bins = bins;
  return annulus::make_job(make_scan_plan(config).plan, config.recipe);
}

}  // namespace annulus
