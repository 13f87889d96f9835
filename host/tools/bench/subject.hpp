// The frames that are measured, in files and in memory, and the plans for them.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/sources/frame_source.hpp>

#include <tools/bench/bench_options.hpp>
#include <tools/bench/measure.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

class Subject {
 public:
  // Simulated frames are written into `folder` first. Throws as simulating and opening files do.
  Subject(const BenchOptions& options, const std::filesystem::path& folder);

  // The detector, or the user's first file.
  const std::string& name() const { return name_; }
  bool simulated() const { return simulated_; }

  // Inputs and PONI file are set.
  const IntegrateConfig& config() const { return config_; }

  // As they are in the files: compressed. At most as many as were asked for.
  const std::vector<Frame>& frames() const { return frames_; }
  std::uint64_t pixels() const { return frames_.front().shape.size(); }
  std::uint64_t payload_bytes() const;  // of all frames in memory

  // Files until they hold as many frames, from the first again when they run out.
  struct Scan {
    std::vector<std::string> urls;
    Work work;  // bytes are those of the payloads
  };
  Scan scan(std::uint64_t frames) const;

  Job make_job(ErrorModel model) const;
  Job make_job(ErrorModel model, std::uint32_t bins) const;

 private:
  void simulate(const BenchOptions& options, const std::filesystem::path& folder);
  void read(std::uint64_t most);

  struct File {
    std::string url;
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;  // of their payloads
  };

  std::string name_;
  bool simulated_ = false;
  IntegrateConfig config_;
  std::vector<File> files_;
  std::vector<Frame> frames_;
};

}  // namespace annulus
