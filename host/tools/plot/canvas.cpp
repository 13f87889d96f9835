#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/outputs/sink_checks.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <plplot/plplot.h>
#include <tools/plot/canvas.hpp>
#include <tools/plot/picture_mark.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace annulus {
namespace {

constexpr std::uint32_t kSmallest = 160;
constexpr double kDotsPerInch = 72;  // so that a point is a pixel in both drivers
constexpr PLINT kPen = 1;  // the one entry of PLplot's colour table that is changed for every stroke

// PLplot reads '#' as the start of an escape.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : to_utf8(text)) result += c == '#' ? std::string("##") : std::string(1, c);
  return result;
}

// PLplot asks at the terminal for another name if it cannot open a file, so it must be able to: the file is
// there before.
std::filesystem::path create_picture(const std::filesystem::path& picture) {
  remove_abandoned(picture);
  TemporaryFile file = create_temporary(picture);
  if (file.descriptor < 0) {
    throw Error(ErrorKind::kOutput, picture.string(),
                std::string("cannot be written: ") + std::strerror(errno),
                "choose another name for the picture");
  }
  ::close(file.descriptor);
  return file.name;
}

// A PNG or SVG that was cut short by a full disk lacks its end.
bool is_complete(const std::filesystem::path& path, bool vector) {
  constexpr std::array<unsigned char, 12> kPngEnd{0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
  const std::string svg_end = "</svg>";
  std::array<char, 16> tail{};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const off_t end = lseek(descriptor, 0, SEEK_END);
  const off_t start = std::max<off_t>(end - static_cast<off_t>(tail.size()), 0);
  const ssize_t got = pread(descriptor, tail.data(), tail.size(), start);
  ::close(descriptor);
  if (got < static_cast<ssize_t>(tail.size())) return false;
  if (vector) return std::string_view(tail.data(), tail.size()).find(svg_end) != std::string_view::npos;
  return std::memcmp(tail.data() + 4, kPngEnd.data(), kPngEnd.size()) == 0;
}

// The colour of a level, 0 to 255, on the way through equally spaced ones.
Colour between(std::span<const Colour> points, int level) {
  const double position = std::clamp(level, 0, 255) / 255.0 * static_cast<double>(points.size() - 1);
  const auto index = std::min<std::size_t>(static_cast<std::size_t>(position), points.size() - 2);
  const double share = position - static_cast<double>(index);
  const auto mix = [share](int a, int b) { return static_cast<int>(std::lround(a + share * (b - a))); };
  const Colour& a = points[index];
  const Colour& b = points[index + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

}  // namespace

Colour stack_colour(int level) {
  constexpr std::array<Colour, 9> kPoints{{{68, 1, 84},
                                           {71, 44, 122},
                                           {59, 81, 139},
                                           {44, 113, 142},
                                           {33, 144, 141},
                                           {39, 173, 129},
                                           {92, 200, 99},
                                           {170, 220, 50},
                                           {253, 231, 37}}};
  return between(kPoints, level);
}

Colour two_sided_colour(int level) {
  constexpr std::array<Colour, 7> kPoints{{{12, 44, 102},
                                           {40, 108, 178},
                                           {142, 188, 222},
                                           {248, 248, 248},
                                           {240, 168, 138},
                                           {198, 64, 62},
                                           {108, 8, 32}}};
  return between(kPoints, level);
}

// PLplot cannot tell how wide a text is: this is the advance of a digit in its sans serif font, a little more
// than that of most letters.
double text_width(const std::string& text) {
  constexpr double kAdvance = 0.86;
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return kAdvance * static_cast<double>(std::count_if(text.begin(), text.end(), starts_character));
}

double widest_label(const std::vector<Tick>& ticks) {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, text_width(tick.label));
  return widest;
}

double y_label_distance(const std::vector<Tick>& ticks) { return widest_label(ticks) + 1.75; }

std::string fitted(const std::string& text, double width, Cut cut) {
  std::string result = text;
  for (std::size_t length = text.size(); length > 8 && text_width(result) > width;) {
    length -= std::max<std::size_t>(1, length / 32);
    result = cut == Cut::kLeft ? keep_tail(text, length) : keep_head(text, length);
  }
  return result;
}

Canvas::Canvas(const std::filesystem::path& picture, std::uint32_t width, std::uint32_t height,
               std::optional<double> em)
    : picture_(picture), width_(width), height_(height) {
  static std::mutex one_at_a_time;  // PLplot keeps its state in globals
  std::string ending = picture.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (ending != ".png" && ending != ".svg") {
    throw Error(ErrorKind::kUsage, picture.string(), "pictures are made as PNG or SVG",
                "choose a name that ends in .png or .svg");
  }
  if (std::min(width, height) < kSmallest || std::max(width, height) > kLargest) {
    throw Error(ErrorKind::kUsage, picture.string(),
                fmt::format("cannot be {} x {} pixels large", width, height),
                fmt::format("choose from {} to {}", kSmallest, kLargest));
  }
  vector_ = ending == ".svg";
  em_ = std::clamp(em.value_or(std::min(width_ / 68, height_ / 42)), kSmallestText, 60.0);
  check_output_folder(picture_);
  temporary_ = create_picture(picture_);

  lock_ = std::unique_lock(one_at_a_time);
  PLINT stream = 0;
  plmkstrm(&stream);
  plsdev(vector_ ? "svgcairo" : "pngcairo");
  plsfnam(temporary_.c_str());
  plspage(kDotsPerInch, kDotsPerInch, static_cast<PLINT>(width), static_cast<PLINT>(height), 0, 0);
  plscolbg(255, 255, 255);
  plinit();
  open_ = true;
  pladv(0);
  plfontld(1);
  plsfont(PL_FCI_SANS, PL_FCI_UPRIGHT, PL_FCI_MEDIUM);
  // PLplot takes the height of a letter in millimetres.
  plschr(em_ * 25.4 / kDotsPerInch, 1.0);
  plsmaj(0, 0);
  plsmin(0, 0);
}

Canvas::~Canvas() {
  if (open_) plend1();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void Canvas::use(Colour colour, double opacity) {
  plscol0a(kPen, colour.red, colour.green, colour.blue, opacity);
  plcol0(kPen);
}

void Canvas::begin_panel(const Panel& panel) {
  panel_ = panel;
  plvpor(panel.left / width_, panel.right / width_, panel.bottom / height_, panel.top / height_);
  plwind(panel.x_low, panel.x_high, panel.y_low, panel.y_high);
}

void Canvas::begin_page() { begin_panel({0, width_, 0, height_, 0, width_, 0, height_}); }

void Canvas::fill(std::span<const double> x, std::span<const double> y, Colour colour, double opacity) {
  use(colour, opacity);
  plfill(static_cast<PLINT>(x.size()), x.data(), y.data());
}

void Canvas::line(std::span<const double> x, std::span<const double> y, Colour colour, double points) {
  use(colour);
  plwidth(points);
  plline(static_cast<PLINT>(x.size()), x.data(), y.data());
}

void Canvas::rectangle(double x_low, double x_high, double y_low, double y_high, Colour colour) {
  const std::array<double, 4> x{x_low, x_high, x_high, x_low};
  const std::array<double, 4> y{y_low, y_low, y_high, y_high};
  fill(x, y, colour, 1);
}

// Draws outside of the panel, so everything is put into pixels of the whole page first.
void Canvas::frame() {
  const Panel data = panel_;
  begin_page();
  const std::array<double, 5> x{data.left, data.right, data.right, data.left, data.left};
  const std::array<double, 5> y{data.bottom, data.bottom, data.top, data.top, data.bottom};
  line(x, y, kInk, thin_line());
  begin_panel(data);
}

void Canvas::x_axis(const std::vector<Tick>& ticks, const std::string& label) {
  const Panel data = panel_;
  begin_page();
  for (const Tick& tick : ticks) {
    const double x =
        data.left + (tick.at - data.x_low) / (data.x_high - data.x_low) * (data.right - data.left);
    const double length = (tick.label.empty() ? 0.22 : 0.4) * em_;
    line(std::array{x, x}, std::array{data.bottom - length, data.bottom}, kInk, thin_line());
    if (!tick.label.empty()) text(x, data.bottom - 1.25 * em_, tick.label, 0.5, kInk);
  }
  text((data.left + data.right) / 2, data.bottom - 2.95 * em_, label, 0.5, kInk);
  begin_panel(data);
}

void Canvas::y_axis(const std::vector<Tick>& ticks, const std::string& label, bool on_the_right) {
  const Panel data = panel_;
  const double edge = on_the_right ? data.right : data.left;
  const double outward = on_the_right ? 1 : -1;
  begin_page();
  for (const Tick& tick : ticks) {
    const double y =
        data.bottom + (tick.at - data.y_low) / (data.y_high - data.y_low) * (data.top - data.bottom);
    const double length = (tick.label.empty() ? 0.22 : 0.4) * em_;
    line(std::array{edge, edge + outward * length}, std::array{y, y}, kInk, thin_line());
    if (tick.label.empty()) continue;
    text(edge + outward * 0.65 * em_, y, tick.label, on_the_right ? 0 : 1, kInk);
  }
  use(kInk);
  const double x = edge + outward * y_label_distance(ticks) * em_;
  plptex(x, (data.bottom + data.top) / 2, 0, 1, 0.5, escaped(label).c_str());
  begin_panel(data);
}

void Canvas::title(const std::string& text_of_title, Cut cut, std::optional<double> width) {
  const Panel data = panel_;
  begin_page();
  text((data.left + data.right) / 2, data.top + 1.1 * em_,
       fitted(text_of_title, width.value_or(data.right - data.left) / em_, cut), 0.5, kInk);
  begin_panel(data);
}

void Canvas::text(double x, double y, const std::string& words, double justification, Colour colour) {
  use(colour);
  plptex(x, y, 1, 0, justification, escaped(words).c_str());
}

void Canvas::finish() {
  plend1();
  open_ = false;
  int fault = is_complete(temporary_, vector_) ? mark_picture(temporary_, vector_) : ENOSPC;
  if (fault == 0 && std::rename(temporary_.c_str(), picture_.c_str()) != 0) fault = errno;
  if (fault != 0) {
    throw Error(ErrorKind::kOutput, picture_.string(),
                std::string("cannot be written: ") + std::strerror(fault),
                "make room, or choose another name for the picture");
  }
}

}  // namespace annulus
