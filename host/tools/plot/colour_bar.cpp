#include <tools/plot/colour_bar.hpp>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

// In lines of text.
constexpr double kLeftEdge = 1.4;
constexpr double kRightEdge = 2.7;
constexpr double kPoint = 1;

}  // namespace

ColourBar::ColourBar(const Panel& panel, const Contrast& contrast, double em)
    : low_tip(panel.bottom), high_tip(panel.top) {
  colours = {
      panel.right + kLeftEdge * em, panel.right + kRightEdge * em, panel.bottom, panel.top, 0, 1, 0, 1};
  if (contrast.values_below()) colours.bottom += kPoint * em;
  if (contrast.values_above()) colours.top -= kPoint * em;
  for (int level = 0; level < Contrast::kLevels; ++level) levels.push_back(contrast.colour(level));
  ticks = contrast.ticks(ticks_for(colours.top - colours.bottom, 4.5 * em));
}

double needed_colour_bar_room(const std::vector<Tick>& ticks, bool with_words) {
  constexpr double kHalfALabel = 1;  // and a little paper at its right
  return kRightEdge +
         (with_words ? y_label_distance(ticks) + kHalfALabel : widest_label(ticks) + kHalfALabel);
}

double colour_bar_room(const std::vector<Tick>& ticks) {
  return std::max(kUsualColourBarRoom, needed_colour_bar_room(ticks, true));
}

void draw_colour_bar(Canvas& canvas, const ColourBar& bar, const std::string& words) {
  canvas.begin_page();
  const Panel& colours = bar.colours;
  const double middle = (colours.left + colours.right) / 2;
  const double centre = (colours.bottom + colours.top) / 2;
  // Each point is half of a kite; the other half lies below the colours, so that there is no seam.
  const std::array<double, 4> x{colours.left, middle, colours.right, middle};
  if (bar.low_tip < colours.bottom) {
    canvas.fill(x, std::array{colours.bottom, bar.low_tip, colours.bottom, centre}, bar.levels.front(), 1);
  }
  if (bar.high_tip > colours.top) {
    canvas.fill(x, std::array{colours.top, bar.high_tip, colours.top, centre}, bar.levels.back(), 1);
  }
  canvas.begin_panel(bar.colours);
  const auto count = static_cast<double>(bar.levels.size());
  double level = 0;
  for (const Colour& colour : bar.levels) {
    canvas.rectangle(0, 1, level / count, std::min(1.0, (level + 2) / count), colour);
    ++level;
  }
  canvas.begin_page();
  canvas.line(
      std::array{colours.left, middle, colours.right, colours.right, middle, colours.left, colours.left},
      std::array{colours.bottom, bar.low_tip, colours.bottom, colours.top, bar.high_tip, colours.top,
                 colours.bottom},
      kInk, canvas.thin_line());
  canvas.begin_panel(bar.colours);
  canvas.y_axis(bar.ticks, words, true);
}

}  // namespace annulus
