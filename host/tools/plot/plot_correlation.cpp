#include <annulus/core/error.hpp>
#include <annulus/correlation/correlation_sums.hpp>
#include <annulus/fxs/correlation_reader.hpp>

#include <fmt/core.h>
#include <tools/plot/colour_bar.hpp>
#include <tools/plot/curves.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_map.hpp>
#include <tools/plot/plot_parts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace annulus {
namespace {

// In lines of text.
constexpr double kSideOfView = 27;
constexpr double kSmallestView = 8;
constexpr double kBelowView = 4.2;
constexpr double kAboveView = 2.9;
constexpr double kPageHeading = 2.4;
constexpr double kTextOfPage = 13;   // pixels of a line
constexpr double kLegendRoom = 8.6;  // beside the curves, which would cross it
constexpr std::size_t kMostOrders = 7;
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// Rings that are drawn, side by side.
struct Rings {
  std::size_t first = 0;
  std::vector<double> places;  // their middles
  Range ends;

  std::size_t size() const { return places.size(); }
};

Rings rings_to_draw(const Axis& axis, const PlotOptions& options) {
  Rings rings;
  if (!options.radial_range) {
    rings.places = axis.centres;
    rings.ends = {axis.low(), axis.high()};
    if (rings.ends.low == rings.ends.high) rings.ends = {rings.ends.low - 0.5, rings.ends.high + 0.5};
    return rings;
  }
  const Range range = *options.radial_range;
  if (!(range.low < range.high)) {
    throw Error(ErrorKind::kUsage, "`radial_range`",
                fmt::format("{} to {} is no range", range.low, range.high), "give the lower end first");
  }
  for (std::size_t ring = 0; ring < axis.bins(); ++ring) {
    if (axis.centres[ring] < range.low || axis.centres[ring] > range.high) continue;
    if (rings.places.empty()) rings.first = ring;
    rings.places.push_back(axis.centres[ring]);
  }
  if (rings.places.empty()) {
    throw Error(ErrorKind::kUsage, "`radial_range`", "no ring of the file lies in it",
                fmt::format("choose within {} to {}", axis.centres.front(), axis.centres.back()));
  }
  rings.ends = range;
  return rings;
}

std::string label_of_rings(const Axis& axis) { return axis.units.empty() ? "Ring" : label_of(axis); }

// q becomes q′, whatever its unit.
std::string label_of_other_rings(const Axis& axis) {
  std::string label = label_of_rings(axis);
  return label.insert(std::min(label.find(' '), label.size()), "′");
}

// The number of steps from 0 within which a ring's correlation with itself has photon noise: pixels that are
// shared among bins make neighbours alike.
bool is_noisy(std::size_t d, std::size_t angles) {
  if (angles < 8) return d == 0;
  return d <= 1 || d + 1 == angles;
}

// An image that is coloured by a part of its values.
struct ColouredImage {
  GridImage image;
  std::vector<double> decisive;
  std::string words;  // beside the colour bar
};

ColouredImage image_on_rings(const StoredCorrelation& correlation, const Rings& rings, bool absolute) {
  const std::size_t angles = correlation.setup.shape.angles;
  const bool subtracted = correlation.setup.polar.subtract_mean;
  ColouredImage result;
  GridImage& image = result.image;
  image.name = "c2_on_ring";
  image.title = "C₂(q, q, Δφ)";
  image.rows = {"q", "", rings.places};
  image.columns = {"Δφ", "°", {}};
  for (std::size_t d = 0; d <= angles; ++d)  // the first once more at the end, where the turn closes
    image.columns.positions.push_back(360 * static_cast<double>(d) / static_cast<double>(angles));
  result.words = absolute ? "C₂ (arb. units)" : subtracted ? "C₂ / rms over Δφ" : "C₂ / mean over Δφ";
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const std::size_t ring = rings.first + i;
    const std::span<const double> values(
        correlation.c2.data() + correlation.setup.shape.pair(ring, ring) * angles, angles);
    double sum = 0, squares = 0, count = 0;
    for (std::size_t d = 0; d < angles; ++d) {
      if (is_noisy(d, angles) || !std::isfinite(values[d])) continue;
      sum += values[d];
      squares += values[d] * values[d];
      ++count;
    }
    double measure = subtracted ? std::sqrt(squares / count) : sum / count;
    if (absolute) measure = 1;
    for (std::size_t column = 0; column <= angles; ++column) {
      const std::size_t d = column % angles;
      const double value = measure > 0 ? values[d] / measure : kUndefined;
      image.values.push_back(value);
      if (!is_noisy(d, angles)) result.decisive.push_back(value);
    }
  }
  return result;
}

ColouredImage image_at_zero(const StoredCorrelation& correlation, const Rings& rings, bool absolute) {
  const PolarShape& shape = correlation.setup.shape;
  const auto at = [&](std::size_t q, std::size_t other) {
    return correlation_at(shape, std::span<const double>(correlation.c2), q, other, 0);
  };
  ColouredImage result;
  GridImage& image = result.image;
  image.name = "c2_at_zero";
  image.title = "C₂(q, q′, 0)";
  image.rows = image.columns = {"q", "q", rings.places};  // the same unit: as long in x as in y
  result.words = absolute ? "C₂ (arb. units)" : "C₂(q, q′) / √(C₂(q, q) C₂(q′, q′))";
  for (std::size_t i = 0; i < rings.size(); ++i) {
    for (std::size_t j = 0; j < rings.size(); ++j) {
      const std::size_t q = rings.first + i;
      const std::size_t other = rings.first + j;
      const double product = at(q, q) * at(other, other);
      double measure = product > 0 ? std::sqrt(product) : kUndefined;
      if (absolute) measure = 1;
      const double value = at(q, other) / measure;
      image.values.push_back(value);
      if (q != other || rings.size() == 1) result.decisive.push_back(value);
    }
  }
  return result;
}

std::optional<Contrast> contrast_of_part(const StackGrid& grid, const ColouredImage& image, bool two_sided,
                                         PlotScale scale) {
  const StackGrid decisive{1, image.decisive.size(), image.decisive, {}, {}};
  if (!can_be_shown(decisive, scale)) return {};
  if (two_sided) return Contrast::around_zero(grid, scale, image.decisive);
  return Contrast(grid, scale, image.decisive);
}

// B_l(q, q), of the lowest orders that mean something: without means nothing is left of l = 0.
std::vector<Curve> curves_of_orders(const StoredCorrelation& correlation, const Rings& rings) {
  const LegendreCoefficients& coefficients = correlation.coefficients;
  const std::size_t orders = coefficients.orders.size();
  std::vector<Curve> curves;
  for (std::size_t order = 0; order < orders && curves.size() < kMostOrders; ++order) {
    if (correlation.setup.polar.subtract_mean && coefficients.orders[order] == 0 && orders > 1) continue;
    Curve& curve = curves.emplace_back();
    curve.legend = fmt::format("l = {}", coefficients.orders[order]);
    for (std::size_t i = 0; i < rings.size(); ++i) {
      const std::size_t ring = rings.first + i;
      curve.values.push_back(coefficients.values[correlation.setup.shape.pair(ring, ring) * orders + order]);
    }
  }
  for (std::size_t i = 0; curves.size() > 1 && i < curves.size(); ++i)  // not up to yellow, faint on white
    curves[i].colour = stack_colour(static_cast<int>(215 * i / (curves.size() - 1)));
  return curves;
}

// The decades that most values lie in: what noise has left of a few does not count.
std::optional<Range> decades_of(const std::vector<Curve>& curves, const Rings& rings) {
  auto range = value_range(curves, rings.places, rings.ends, PlotScale::kLog);
  if (!range) return {};
  std::vector<double> logarithms;
  for (const Curve& curve : curves) {
    for (const double value : curve.values) {
      if (value > 0 && std::isfinite(value)) logarithms.push_back(std::log10(value));
    }
  }
  range->low = std::max(range->low, quantile(logarithms, 0.03) - 0.3);
  return range;
}

// One of the views, with the room that it needs around it, in lines of text.
struct View {
  std::optional<ColouredImage> image;
  std::vector<Curve> curves;
  std::optional<Range> decades;  // of the curves
  double left_room = 0, right_room = 0;
};

class CorrelationPage {
 public:
  CorrelationPage(const StoredCorrelation& correlation, bool absolute, const PlotOptions& options)
      : correlation_(correlation),
        options_(options),
        rings_(rings_to_draw(correlation.setup.radial, options)),
        absolute_(absolute) {}

  void add_on_rings() { add_image(image_on_rings(correlation_, rings_, absolute_)); }
  void add_at_zero() { add_image(image_at_zero(correlation_, rings_, absolute_)); }
  void add_coefficients() {
    View view;
    view.curves = curves_of_orders(correlation_, rings_);
    view.decades = decades_of(view.curves, rings_);
    if (!view.decades && !views_.empty()) return;  // the others are drawn all the same
    if (!view.decades) {
      throw Error(ErrorKind::kInput, correlation_.file.string(), "no coefficient B_l(q, q) is positive",
                  "correlate more snapshots");
    }
    view.left_room = widest_label(value_ticks(*view.decades, PlotScale::kLog, kTicks)) + 3.2;
    view.right_room = kLegendRoom;
    views_.push_back(std::move(view));
  }

  void draw(const std::filesystem::path& picture) const {
    const double wide = width_with(kSideOfView);
    const double high = kSideOfView + kAboveView + kBelowView + kPageHeading;
    const double em = views_.size() == 1 ? kTextOfPage + 2 : kTextOfPage;
    const auto pixels = [](double lines, double size) { return static_cast<std::uint32_t>(lines * size); };
    const std::uint32_t width = options_.width.value_or(pixels(wide, em));
    const std::uint32_t height = options_.height.value_or(pixels(high, em));
    const std::uint32_t least_width = pixels(width_with(kSmallestView), Canvas::kSmallestText) + 1;
    const std::uint32_t least_height = pixels(high - kSideOfView + kSmallestView, Canvas::kSmallestText) + 1;
    if (width < least_width || height < least_height) {
      throw Error(ErrorKind::kUsage, width < least_width ? "`width`" : "`height`",
                  fmt::format("{} x {} pixels have no room for the picture", width, height),
                  fmt::format("choose at least {} x {}, or one `view`", least_width, least_height));
    }
    Canvas canvas(picture, width, height,
                  std::max(Canvas::kSmallestText, std::min(width / wide, height / high)));
    const double side = (canvas.width() / canvas.em() - width_with(0)) / static_cast<double>(views_.size());
    double left = 0;
    for (const View& view : views_) {
      Panel panel{};
      panel.left = left + view.left_room * canvas.em();
      panel.right = panel.left + side * canvas.em();
      panel.bottom = kBelowView * canvas.em();
      panel.top = canvas.height() - (kPageHeading + kAboveView) * canvas.em();
      left = panel.right + view.right_room * canvas.em();
      if (view.image) {
        draw_image(canvas, panel, *view.image);
      } else {
        draw_curves(canvas, panel, view);
      }
    }
    canvas.begin_page();
    canvas.text(canvas.width() / 2, canvas.height() - 0.6 * kPageHeading * canvas.em(),
                fitted(heading(), canvas.width() / canvas.em() - 2, Cut::kRight), 0.5, kInk);
    canvas.finish();
  }

 private:
  static constexpr int kTicks = 8;  // more than there will be: their labels are at least as wide

  bool two_sided() const { return correlation_.setup.polar.subtract_mean; }

  void add_image(ColouredImage image) {
    View view;
    const StackGrid grid =
        make_image_grid(image.image, image.image.rows.positions.size(), image.image.columns.positions.size());
    const auto contrast = contrast_of_part(grid, image, two_sided(), options_.scale);
    if (!contrast) {
      throw Error(ErrorKind::kInput, correlation_.file.string(),
                  options_.scale == PlotScale::kLog ? "no value is positive" : "no correlation has a value",
                  options_.scale == PlotScale::kLog ? "choose another scale"
                  : correlation_.counted == 0       ? "no snapshot was counted: the reasons are in the file"
                                                    : "correlations of means, or of a single angle, are 0");
    }
    view.left_room = widest_label(linear_ticks(grid.y_edges.front(), grid.y_edges.back(), kTicks)) + 3.2;
    view.right_room = needed_colour_bar_room(contrast->ticks(kTicks), true) + 0.5;
    view.image = std::move(image);
    views_.push_back(std::move(view));
  }

  // In lines of text, with panels of this side.
  double width_with(double side) const {
    double width = 0;
    for (const View& view : views_) width += view.left_room + side + view.right_room;
    return width;
  }

  std::string heading() const {
    std::string marks;
    if (correlation_.preview) marks += " (preview in single precision)";
    if (!correlation_.finished) marks += " (unfinished)";
    if (!options_.title.empty()) return options_.title + marks;
    return title_of(correlation_.file, fmt::format("{} snapshot{}", correlation_.counted,
                                                   correlation_.counted == 1 ? "" : "s")) +
           marks;
  }

  void draw_image(Canvas& canvas, const Panel& panel, const ColouredImage& coloured) const {
    const GridImage& image = coloured.image;
    const MostCells most = most_cells(canvas, panel, views_.size());
    const StackGrid grid = make_image_grid(image, most.rows, most.columns);
    const auto contrast = contrast_of_part(grid, coloured, two_sided(), options_.scale);
    const double em = canvas.em();
    const int x_ticks = ticks_for(panel.right - panel.left, 6 * em);
    const int y_ticks = ticks_for(panel.top - panel.bottom, 4 * em);
    const Axis& radial = correlation_.setup.radial;
    const bool angles = image.columns.unit == "°";
    const double x_low = grid.x_edges.front(), x_high = grid.x_edges.back();
    draw_map(canvas, panel, grid, contrast,
             {angles ? degree_ticks(x_low, x_high, x_ticks) : linear_ticks(x_low, x_high, x_ticks),
              linear_ticks(grid.y_edges.front(), grid.y_edges.back(), y_ticks),
              angles ? "Δφ (°)" : label_of_rings(radial),
              angles ? label_of_rings(radial) : label_of_other_rings(radial), coloured.words});
    canvas.title(image.title, Cut::kRight);
  }

  void draw_curves(Canvas& canvas, Panel panel, const View& view) const {
    const double em = canvas.em();
    panel.x_low = rings_.ends.low;
    panel.x_high = rings_.ends.high;
    panel.y_low = view.decades->low;
    panel.y_high = view.decades->high;
    Panel beside = panel;
    beside.right += kLegendRoom * em;
    draw_legend(canvas, beside, view.curves);
    canvas.begin_panel(panel);
    for (const Curve& curve : view.curves) draw_line(canvas, curve, rings_.places, PlotScale::kLog);
    canvas.frame();
    canvas.x_axis(linear_ticks(panel.x_low, panel.x_high, ticks_for(panel.right - panel.left, 6 * em)),
                  label_of_rings(correlation_.setup.radial));
    canvas.y_axis(value_ticks(*view.decades, PlotScale::kLog, ticks_for(panel.top - panel.bottom, 4 * em)),
                  "Bₗ (arb. units)");
    canvas.title("Bₗ(q, q)", Cut::kRight);
  }

  const StoredCorrelation& correlation_;
  const PlotOptions& options_;
  Rings rings_;
  bool absolute_;
  std::vector<View> views_;
};

}  // namespace

void plot_correlation(const StoredCorrelation& correlation, CorrelationView view, bool absolute,
                      const PlotOptions& options, const std::filesystem::path& picture) {
  const bool has_coefficients = !correlation.coefficients.orders.empty();
  const auto refuse = [](const char* option, const char* fault, const char* cure) {
    throw Error(ErrorKind::kUsage, option, fault, cure);
  };
  if (view == CorrelationView::kLegendre) {
    if (!has_coefficients)
      refuse("`view`", "the file has no Legendre coefficients",
             "make them with `legendre` when you correlate");
    if (absolute) refuse("`absolute`", "coefficients are always drawn as they are", "leave it out");
    if (options.scale != PlotScale::kLinear)
      refuse("`scale`", "it is of colours, and coefficients have none", "leave it out");
  } else if (options.scale == PlotScale::kLog && correlation.setup.polar.subtract_mean) {
    refuse("`scale`", "with means subtracted, correlations lie on both sides of 0", "choose linear or sqrt");
  }
  CorrelationPage page(correlation, absolute, options);
  if (view == CorrelationView::kAll || view == CorrelationView::kOnRing) page.add_on_rings();
  if (view == CorrelationView::kAll || view == CorrelationView::kAtZero) page.add_at_zero();
  if (view == CorrelationView::kLegendre || (view == CorrelationView::kAll && has_coefficients))
    page.add_coefficients();
  page.draw(picture);
}

}  // namespace annulus
