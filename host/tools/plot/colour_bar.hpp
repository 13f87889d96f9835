// The bar beside a map that says which value has which colour.
#pragma once

#include <tools/plot/colour_map.hpp>

#include <vector>

namespace annulus {

// As high as the panel at its left. An end is a point if there are values beyond.
struct ColourBar {
  ColourBar(const Panel& panel, const Contrast& contrast, double em);

  Panel colours{};  // without the points; from 0 to 1
  double low_tip;   // of the points, in pixels; where the colours end if there is no point
  double high_tip;
  std::vector<Tick> ticks;
  std::vector<Colour> levels;
};

// What a bar takes to the right of the panel, in lines of text, with words beside it or without.
double needed_colour_bar_room(const std::vector<Tick>& ticks, bool with_words);

// More than usual only if its labels are wide.
constexpr double kUsualColourBarRoom = 11;
double colour_bar_room(const std::vector<Tick>& ticks);

// words: what the values are.
void draw_colour_bar(Canvas& canvas, const ColourBar& bar, const std::string& words);

}  // namespace annulus
