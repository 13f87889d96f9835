// Which pixels a clip left out, over all frames: how often each of them, and on request which in each frame.
// Every function expects an Hdf5Session to be alive.
//
// counts: an image. first: offsets of frames in `pixels`, and the end of the last; they and the lists are
// written with the frames, counts when the file is closed. frames: how many frames the counts are of.
#pragma once

#include <annulus/core/image.hpp>
#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/sink.hpp>

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace annulus {

// What a file holds.
Outliers stored_outliers(hid_t file);

// In a new file. Nothing for kNone.
void create_outliers(hid_t file, Shape shape, Outliers kind);

// The shape of the image of counts; nothing but zeros if there is none.
Shape shape_of_outliers(hid_t file);
std::vector<std::uint32_t> read_outlier_counts(hid_t file);
void write_outlier_counts(hid_t file, const std::vector<std::uint32_t>& counts, std::uint64_t frames);

// Of consecutive frames; empty ones without lists.
std::vector<std::vector<std::uint32_t>> read_outlier_lists(hid_t file, std::uint64_t first,
                                                           std::uint64_t count);

// Cuts lists to these frames, and counts them again. Without lists, what a killed writer counted is lost.
void repair_outliers(hid_t file, std::uint64_t frames);

// What does not fit together, in a closed file; empty if all does. `note`: what was not counted.
std::string check_outliers(hid_t file, std::uint64_t frames, std::string& note);

// So that an output made of these has their outliers. With lists, if all of them have; with counts, if all
// have those; otherwise without.
void take_outliers(const std::vector<MergeInput>& inputs, bool with_lists, RunDescription& run);

// Of a file that is being written.
class OutlierLog {
 public:
  // `frames`: those that it holds.
  OutlierLog(hid_t file, const RunDescription& run, std::uint64_t frames);

  void add(const ReducedFrame& frame);
  void write_lists();   // of what was added
  void write_counts();  // last

 private:
  hid_t file_;
  Outliers kind_;
  std::uint64_t frames_ = 0;  // counted
  std::uint64_t rows_ = 0;    // that have offsets
  std::uint64_t pixels_ = 0;  // in lists
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> new_pixels_;
  std::vector<std::uint64_t> new_ends_;
};

}  // namespace annulus
