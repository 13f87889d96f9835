// A picture being drawn with PLplot: one at a time, headless, to a PNG or SVG file.
#pragma once

#include <tools/plot/plot.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace annulus {

struct Colour {
  int red;
  int green;
  int blue;
};
inline constexpr Colour kInk{38, 38, 38};

// A part of the picture in pixels from its lower left corner, and the data that it shows.
struct Panel {
  double left, right, bottom, top;      // pixels
  double x_low, x_high, y_low, y_high;  // data
};

struct Tick {
  double at;          // in the coordinates of the panel
  std::string label;  // empty: a minor tick
};

// Ticks at 1, 2 or 5 times a power of ten, about `wanted` of them.
std::vector<Tick> linear_ticks(double low, double high, int wanted);

// Ticks at angles that people know, about `wanted` of them; like linear_ticks for a few degrees.
std::vector<Tick> degree_ticks(double low, double high, int wanted);

// Ticks for an axis of logarithms: whole decades with a label, their multiples without; with fewer than three
// decades twice and five times a decade have a label, too.
std::vector<Tick> decade_ticks(double low, double high);

// The same; but numbers in equal steps, about `wanted` of them, where that gives fewer than three labels.
std::vector<Tick> log_ticks(double low, double high, int wanted);

// Dark violet over green to yellow, for level 0 to 255: brightness grows evenly, also in grey and for the
// colour-blind.
Colour stack_colour(int level);

// Dark blue over white to dark red: level 127 and 128 are the middle, and both sides are equally bright.
Colour two_sided_colour(int level);

// How many labelled ticks fit on a length, each with `room`.
inline int ticks_for(double length, double room) { return std::max(2, static_cast<int>(length / room)); }

// About how wide a text is, and the widest label, in lines of text.
double text_width(const std::string& text);
double widest_label(const std::vector<Tick>& ticks);

// From the edge of a panel to the middle of the words beside its y axis, in lines of text.
double y_label_distance(const std::vector<Tick>& ticks);

// Which end of a text goes where there is no room for all of it. The end of a path says more than its
// beginning.
enum class Cut { kLeft, kRight };

// What of a text fits a width in lines of text, with dots in place of the rest.
std::string fitted(const std::string& text, double width, Cut cut);

class Canvas {
 public:
  static constexpr std::uint32_t kLargest = 16384;  // side of a picture, pixels
  static constexpr double kSmallestText = 9;        // height of a line, pixels

  // Throws kUsage for another ending than .png or .svg or an absurd size.
  // Without `em` the text suits a picture of one panel.
  Canvas(const std::filesystem::path& picture, std::uint32_t width, std::uint32_t height,
         std::optional<double> em = {});
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  double width() const { return width_; }
  double height() const { return height_; }
  bool is_vector() const { return vector_; }
  double em() const { return em_; }                // height of a line of text, in pixels
  double thin_line() const { return 0.06 * em_; }  // of frames and ticks

  void begin_panel(const Panel& panel);
  void begin_page();  // all of the picture, in pixels
  void fill(std::span<const double> x, std::span<const double> y, Colour colour, double opacity);
  void line(std::span<const double> x, std::span<const double> y, Colour colour, double points);
  void rectangle(double x_low, double x_high, double y_low, double y_high, Colour colour);

  // Frame, outward ticks and labels of the current panel.
  void frame();
  void x_axis(const std::vector<Tick>& ticks, const std::string& label);
  void y_axis(const std::vector<Tick>& ticks, const std::string& label, bool on_the_right = false);
  // Above the current panel; `width`: the pixels that it may have, without: those of the panel.
  void title(const std::string& text, Cut cut, std::optional<double> width = {});
  void text(double x, double y, const std::string& text, double justification, Colour colour);

  // Puts the finished picture in its place. Throws kOutput.
  void finish();

 private:
  void use(Colour colour, double opacity = 1);

  std::unique_lock<std::mutex> lock_;
  std::filesystem::path picture_;
  std::filesystem::path temporary_;
  double width_;
  double height_;
  double em_;
  bool vector_;
  bool open_ = false;
  Panel panel_{};
};

}  // namespace annulus
