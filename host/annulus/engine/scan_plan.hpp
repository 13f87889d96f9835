// From a configuration to the frames it names and the plan for them: what all commands that run frames begin
// with.
#pragma once

#include <annulus/engine/config.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/sources/frame_stream.hpp>
#include <annulus/sources/streams.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct ScanPlan {
  std::vector<std::string> urls;        // the files, or the folder that is followed
  std::unique_ptr<FrameStream> stream;  // of the configuration's inputs
  std::string poni_text;                // of the PONI file, or made from what the frames' file states
  std::shared_ptr<const Plan> plan;
  bool plan_loaded = false;           // from the folder of plans, not built
  std::vector<std::string> notes;     // for the user: about that folder, and frames that are missing
  std::vector<std::string> warnings;  // of what can hardly be meant, and why
  std::vector<std::string> masks;     // what leaves out pixels: "gaps of Pilatus1M", names of files

  // What the frames' own file decided: "geometry", "wavelength", "dummy" and "mask", with a text for the
  // user.
  std::vector<std::pair<std::string, std::string>> from_file;
};

// Opens the configuration's inputs and makes the plan for them. All files have to agree with the first in
// what is taken from it. Throws kUsage for a configuration that makes no sense, and what reading its files
// and build_plan throw. Once a stop is requested no file that is still to come is waited for.
ScanPlan make_scan_plan(const IntegrateConfig& config, std::stop_token stop = {});

// The same for frames that come from elsewhere: `stream` and `urls` of the result are empty, and the
// configuration's inputs mean nothing.
ScanPlan make_scan_plan(const IntegrateConfig& config, FrameStream& stream, std::stop_token stop = {});

// The stream of a configuration's inputs alone, without a plan. `settings` say what to do with its files;
// where and how to open them is the configuration's.
struct OpenedInputs {
  std::vector<std::string> urls;  // the files, or the folder that is followed
  std::unique_ptr<FrameStream> stream;
};
OpenedInputs open_inputs(const IntegrateConfig& config, FileStreamSettings settings = {});

}  // namespace annulus
