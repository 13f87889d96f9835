// Files that annulus makes of frames and patterns: they hold neither frames nor patterns, and those who want
// some say what they were given instead.
#pragma once

#include <hdf5.h>

namespace annulus {

enum class DerivedFile {
  kNone,         // anything else
  kImages,       // maps, sinograms, slices of tomograms (outputs/image_file.hpp)
  kVolume,       // a pattern in every voxel (xrd_ct/volume_file.hpp)
  kCorrelation,  // of snapshots (fxs/correlation_file.hpp)
};

// Known by names that only they have; no text is read for that. Within an Hdf5Session.
DerivedFile derived_file(hid_t file);

// "a file of images", "a tomogram of all bins", "a correlation of snapshots"; of kNone "another file".
const char* noun_of(DerivedFile kind);

}  // namespace annulus
