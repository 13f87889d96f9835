// The truth about a phantom's scan, to compare reconstructions with.
#pragma once

#include <tools/simulate/powder.hpp>

#include <filesystem>

namespace annulus {

// A NeXus file. /entry/phantom: maps of the phases in voxels; the default plot. /entry/patterns: what an
// ideal integration, corrected for solid angle and polarisation, finds of each phase. /entry/paths: how much
// of each phase the beam of each frame met. The densities are there once more as images (read_images()).
// /entry/discs: the phantom as it was made. Throws kOutput. scan.phantom() is there.
void write_phantom_file(const std::filesystem::path& path, const PowderScan& scan);

}  // namespace annulus
