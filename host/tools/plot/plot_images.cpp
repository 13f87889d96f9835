#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>

#include <fmt/core.h>
#include <tools/plot/colour_bar.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_map.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace annulus {
namespace {

// In lines of text. What a panel has around it, and how large it is unless the user says otherwise.
constexpr double kBelow = 4.2;
constexpr double kAbove = 2.9;
constexpr double kHeading = 2.6;
constexpr double kUsualSide = 27;  // of a square panel
constexpr double kLowest = 7;
constexpr double kHighest = 36;
constexpr double kSmallestSide = 5;  // of any panel
// Pixels of a line of text.
constexpr double kLargeText = 15;  // one panel
constexpr double kSmallText = 12;
constexpr double kThinnest = 0.12;  // part of its room that a panel to scale takes at least

struct ImagePanel {
  const GridImage* image = nullptr;
  double aspect = 0;  // width by height to scale; 0: it fills its room
  std::vector<double> x_edges, y_edges;
  double left_room = 0, right_room = 0;  // for labels, in lines of text
};

std::string label_of(const ImageAxis& axis) {
  return axis.unit.empty() ? axis.name : fmt::format("{} ({})", axis.name, axis.unit);
}

std::vector<Tick> ticks_of(const ImageAxis& axis, double low, double high, int wanted) {
  const bool degrees =
      axis.unit == "deg" || axis.unit == "degree" || axis.unit == "degrees" || axis.unit == "°";
  const auto has_label = [](const Tick& tick) { return !tick.label.empty(); };
  std::vector<Tick> ticks;
  // A single number says nothing of the scale.
  for (const int most = wanted + 4; wanted < most && std::ranges::count_if(ticks, has_label) < 2; ++wanted)
    ticks = degrees ? degree_ticks(low, high, wanted) : linear_ticks(low, high, wanted);
  return ticks;
}

std::vector<Tick> x_ticks_of(const ImagePanel& panel, double width) {
  return ticks_of(panel.image->columns, panel.x_edges.front(), panel.x_edges.back(), ticks_for(width, 6));
}

std::vector<Tick> y_ticks_of(const ImagePanel& panel, double height) {
  return ticks_of(panel.image->rows, panel.y_edges.front(), panel.y_edges.back(), ticks_for(height, 4));
}

std::optional<Contrast> contrast_of(const StackGrid& grid, PlotScale scale) {
  if (!can_be_shown(grid, scale)) return {};
  return Contrast(grid, scale);
}

ImagePanel make_panel(const GridImage& image, PlotScale scale) {
  ImagePanel panel;
  panel.image = &image;
  const StackGrid grid = make_image_grid(image, image.rows.positions.size(), image.columns.positions.size());
  panel.x_edges = grid.x_edges;
  panel.y_edges = grid.y_edges;
  if (!image.rows.unit.empty() && image.rows.unit == image.columns.unit) {
    panel.aspect =
        (grid.x_edges.back() - grid.x_edges.front()) / (grid.y_edges.back() - grid.y_edges.front());
    const double share = std::min(panel.aspect, 1 / panel.aspect);
    if (!(share >= kThinnest)) panel.aspect = 0;
  }
  // More ticks than there will be: their labels are at least as wide.
  panel.left_room = widest_label(y_ticks_of(panel, kHighest)) + 3.2;
  panel.right_room = 1;
  if (const auto contrast = contrast_of(grid, scale))
    panel.right_room = needed_colour_bar_room(contrast->ticks(ticks_for(kHighest, 4)), !image.unit.empty());
  return panel;
}

// A grid of panels, in lines of text, from the top left.
struct Layout {
  std::vector<std::vector<ImagePanel>> rows;
  std::vector<double> left_rooms, right_rooms;  // of the columns
  std::vector<double> heights;                  // of the rows' panels, as they like to be
  double heading = 0;

  double beside() const {
    return std::accumulate(left_rooms.begin(), left_rooms.end(), 0.0) +
           std::accumulate(right_rooms.begin(), right_rooms.end(), 0.0);
  }
  double width() const { return beside() + static_cast<double>(left_rooms.size()) * kUsualSide; }
  double around() const { return heading + static_cast<double>(rows.size()) * (kBelow + kAbove); }
  double height() const { return around() + std::accumulate(heights.begin(), heights.end(), 0.0); }
  std::size_t panels() const {
    return std::accumulate(rows.begin(), rows.end(), std::size_t{0},
                           [](std::size_t sum, const auto& row) { return sum + row.size(); });
  }
};

void check_drawable(const std::vector<std::vector<GridImage>>& rows, PlotScale scale) {
  bool any = false;
  for (const auto& row : rows) {
    for (const GridImage& image : row) {
      if (const std::string fault = fault_of(image); !fault.empty())
        throw Error(ErrorKind::kInput, "image " + in_quotes(image.name), fault);
      any = any || std::ranges::any_of(image.values, [scale](double v) {
              return std::isfinite(v) && (scale != PlotScale::kLog || v > 0);
            });
    }
  }
  if (any) return;
  throw Error(ErrorKind::kInput, "the images",
              scale == PlotScale::kLog ? "no value is positive" : "no cell has a value",
              scale == PlotScale::kLog ? "choose another scale" : "");
}

Layout lay_out(const std::vector<std::vector<GridImage>>& rows, const PlotOptions& options) {
  Layout layout;
  layout.heading = options.title.empty() ? 0 : kHeading;
  for (const auto& row : rows) {
    if (row.empty()) continue;
    std::vector<ImagePanel>& panels = layout.rows.emplace_back();
    double highest = 0;
    for (const GridImage& image : row) {
      const std::size_t column = panels.size();
      const ImagePanel& panel = panels.emplace_back(make_panel(image, options.scale));
      layout.left_rooms.resize(std::max(layout.left_rooms.size(), column + 1));
      layout.right_rooms.resize(layout.left_rooms.size());
      layout.left_rooms[column] = std::max(layout.left_rooms[column], panel.left_room);
      layout.right_rooms[column] = std::max(layout.right_rooms[column], panel.right_room);
      highest = std::max(highest, panel.aspect > 0 ? kUsualSide / panel.aspect : kUsualSide);
    }
    layout.heights.push_back(std::clamp(highest, kLowest, kHighest));
  }
  return layout;
}

struct PageSize {
  std::uint32_t width, height;
};

// Throws kUsage if the panels do not fit the page with letters that can be read.
PageSize size_of_page(const Layout& layout, const PlotOptions& options) {
  const double usual = layout.panels() == 1 ? kLargeText : kSmallText;
  const double em = std::min({usual, Canvas::kLargest / layout.width(), Canvas::kLargest / layout.height()});
  const auto pixels = [](double size) { return static_cast<std::uint32_t>(size); };
  const PageSize page{options.width.value_or(pixels(layout.width() * em)),
                      options.height.value_or(pixels(layout.height() * em))};
  const auto columns = static_cast<double>(layout.left_rooms.size());
  const std::uint32_t width = pixels((layout.beside() + columns * kSmallestSide) * Canvas::kSmallestText) + 1;
  const std::uint32_t height =
      pixels((layout.around() + static_cast<double>(layout.rows.size()) * kSmallestSide) *
             Canvas::kSmallestText) +
      1;
  if (page.width >= width && page.height >= height) return page;
  const bool too_many = std::max(width, height) > Canvas::kLargest;
  throw Error(
      ErrorKind::kUsage,
      too_many             ? "`image`"
      : page.width < width ? "`width`"
                           : "`height`",
      fmt::format("{} x {} pixels have no room for {} panels", page.width, page.height, layout.panels()),
      too_many ? "choose fewer" : fmt::format("choose at least {} x {}, or fewer images", width, height));
}

// The largest panel of its aspect in the middle of its room.
Panel fitted_panel(Panel room, double aspect) {
  if (aspect <= 0) return room;
  const double width = std::min(room.right - room.left, (room.top - room.bottom) * aspect);
  const double height = width / aspect;
  const double x = (room.left + room.right) / 2, y = (room.bottom + room.top) / 2;
  room.left = x - width / 2;
  room.right = x + width / 2;
  room.bottom = y - height / 2;
  room.top = y + height / 2;
  return room;
}

void draw_panel(Canvas& canvas, const ImagePanel& image, const Panel& room, double title_width,
                const PlotOptions& options, std::size_t panels) {
  const double em = canvas.em();
  const Panel panel = fitted_panel(room, image.aspect);
  const MostCells most = most_cells(canvas, panel, panels);
  const StackGrid grid = make_image_grid(*image.image, most.rows, most.columns);
  const auto contrast = contrast_of(grid, options.scale);
  draw_map(
      canvas, panel, grid, contrast,
      {x_ticks_of(image, (panel.right - panel.left) / em), y_ticks_of(image, (panel.top - panel.bottom) / em),
       label_of(image.image->columns), label_of(image.image->rows), image.image->unit});
  canvas.title(image.image->title, Cut::kRight, title_width);
  if (contrast) return;
  canvas.begin_page();
  canvas.text((panel.left + panel.right) / 2, (panel.bottom + panel.top) / 2,
              options.scale == PlotScale::kLog ? "no value above 0" : "no value", 0.5, kInk);
}

}  // namespace

void plot_images(const std::vector<std::vector<GridImage>>& rows, const PlotOptions& options,
                 const std::filesystem::path& picture) {
  check_drawable(rows, options.scale);
  const Layout layout = lay_out(rows, options);
  const PageSize size = size_of_page(layout, options);
  Canvas canvas(picture, size.width, size.height,
                std::min(size.width / layout.width(), size.height / layout.height()));
  const double em = canvas.em();
  const auto columns = static_cast<double>(layout.left_rooms.size());
  const double panel_width = (canvas.width() / em - layout.beside()) / columns;
  const double stretch = (canvas.height() / em - layout.around()) / (layout.height() - layout.around());
  double top = canvas.height() - layout.heading * em;
  for (std::size_t row = 0; row < layout.rows.size(); ++row) {
    const double bottom = top - (kAbove + stretch * layout.heights[row] + kBelow) * em;
    double left = 0;
    for (std::size_t column = 0; column < layout.rows[row].size(); ++column) {
      const double width_before = layout.left_rooms[column] * em;
      const double width_after = layout.right_rooms[column] * em;
      Panel room{};
      room.left = left + width_before;
      room.right = room.left + panel_width * em;
      room.bottom = bottom + kBelow * em;
      room.top = top - kAbove * em;
      const double title_width = (panel_width - 1) * em + 2 * std::min(width_before, width_after);
      draw_panel(canvas, layout.rows[row][column], room, title_width, options, layout.panels());
      left = room.right + width_after;
    }
    top = bottom;
  }
  if (!options.title.empty()) {
    canvas.begin_page();
    canvas.text(canvas.width() / 2, canvas.height() - 0.6 * kHeading * em,
                fitted(options.title, canvas.width() / em - 2, Cut::kRight), 0.5, kInk);
  }
  canvas.finish();
}

}  // namespace annulus
