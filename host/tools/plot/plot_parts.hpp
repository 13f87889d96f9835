// What pictures of patterns, stacks and cakes have in common.
#pragma once

#include <tools/plot/canvas.hpp>
#include <tools/plot/plot.hpp>

#include <filesystem>
#include <string>

namespace annulus {

// A page of the size that the user wants, or of the usual one.
Canvas page_for(const PlotOptions& options, const std::filesystem::path& picture);

// The part of the axis to show. Throws kUsage for a range without extent or with its ends exchanged.
Range drawn_range(const OutputHeader& header, const PlotOptions& options);

// "run42.nxs: 20 frames"
std::string title_of(const std::filesystem::path& file, const std::string& drawn);

// The user's title or, if there is none, the usual one, which begins with a path.
void draw_title(Canvas& canvas, const PlotOptions& options, const std::string& usual);

}  // namespace annulus
