// What to measure, and on which frames.
#pragma once

#include <annulus/core/instruction_set.hpp>
#include <annulus/engine/config.hpp>

#include <tools/simulate/powder.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// Where a list is empty, what suits the machine is measured: see choose_defaults.
struct BenchOptions {
  IntegrateConfig config;        // the plan and the user's own frames; without inputs frames are simulated
  SimulationOptions simulation;  // but for the number of frames

  std::vector<std::string> only;    // names of benches, of bench_names()
  unsigned rounds = 7;              // samples of each candidate
  std::uint64_t frames = 32;        // that are held in memory
  std::uint64_t scan_frames = 256;  // of one run from files to a file; files are repeated

  std::vector<InstructionSet> instruction_sets;
  std::vector<unsigned> threads;
  std::vector<unsigned> batches;
  std::vector<ErrorModel> error_models;
  std::vector<std::string> codecs;     // of codec_names()
  std::vector<std::string> detectors;  // for speed against size
  std::vector<std::uint32_t> bins;     // for speed against bins

  std::filesystem::path scratch;  // parent of the folder for files; empty: the system's
};

}  // namespace annulus
