// Images in panels: where cells lie, which images share a row, what a picture refuses.
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <tools/plot/colour_map.hpp>
#include <tools/plot/image_rows.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/stack_grid.hpp>

#include <cmath>
#include <set>

#include "message_of.hpp"
#include "samples.hpp"

namespace annulus {
namespace {

using samples::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GridImage make_image(const std::string& name, std::size_t rows, std::size_t columns,
                     const std::string& unit = "mm") {
  GridImage image{name, name, "counts", {"samz", unit, {}}, {"samy", unit, {}}, {}};
  for (std::size_t i = 0; i < rows; ++i) image.rows.positions.push_back(static_cast<double>(i));
  for (std::size_t i = 0; i < columns; ++i) image.columns.positions.push_back(static_cast<double>(i));
  for (std::size_t i = 0; i < rows * columns; ++i) image.values.push_back(static_cast<double>(i));
  return image;
}

std::vector<std::vector<std::string>> names_of(const std::vector<std::vector<GridImage>>& rows) {
  std::vector<std::vector<std::string>> names;
  for (const auto& row : rows) {
    names.emplace_back();
    for (const GridImage& image : row) names.back().push_back(image.name);
  }
  return names;
}

std::vector<GridImage> images_of(const std::vector<std::string>& names) {
  std::vector<GridImage> images;
  for (const std::string& name : names) images.push_back(make_image(name, 2, 2));
  return images;
}

using Names = std::vector<std::vector<std::string>>;

TEST(ImageRows, ImagesOfOneNameBeforeTheLastUnderscoreMakeARow) {
  EXPECT_EQ(
      names_of(rows_of_images(images_of({"Au_1_sino", "B_sino", "Au_1_tomo", "Au_2_tomo", "B_tomo", "C"}))),
      (Names{{"Au_1_sino", "Au_1_tomo"}, {"B_sino", "B_tomo"}, {"Au_2_tomo"}, {"C"}}));
}

TEST(ImageRows, ImagesThatShareNothingFillASquare) {
  EXPECT_EQ(names_of(rows_of_images(images_of({"a_i"}))), (Names{{"a_i"}}));
  EXPECT_EQ(names_of(rows_of_images(images_of({"a_i", "b_i"}))), (Names{{"a_i", "b_i"}}));
  EXPECT_EQ(names_of(rows_of_images(images_of({"a_i", "b_i", "c_i", "d_i", "e_i"}))),
            (Names{{"a_i", "b_i", "c_i"}, {"d_i", "e_i"}}));
}

TEST(ImageRows, AnotherFilesImagesGoFirstByNameOrElseInOrder) {
  EXPECT_EQ(
      names_of(rows_of_images(images_of({"B_density", "Au_density", "X_density"}),
                              images_of({"Au_sinogram", "Au_tomogram", "B_tomogram"}))),
      (Names{{"Au_density", "Au_sinogram", "Au_tomogram"}, {"B_density", "B_tomogram"}, {"X_density"}}));
  EXPECT_EQ(names_of(rows_of_images(images_of({"p", "q", "r"}), images_of({"a_map", "b_map"}))),
            (Names{{"p", "a_map"}, {"q", "b_map"}, {"r"}}));
  EXPECT_EQ(names_of(rows_of_images(images_of({"a_map"}), images_of({"a_map"}))),
            (Names{{"a_map", "a_map"}}));
  EXPECT_EQ(names_of(rows_of_images(images_of({"a_map"}), {})), (Names{{"a_map"}}));
}

TEST(ImageGrid, EdgesAreHalfWayBetweenPositions) {
  GridImage image = make_image("a", 3, 4);
  image.rows.positions = {0, 1, 5};
  image.columns.positions = {-1, 0, 0.5, 10};
  const StackGrid grid = make_image_grid(image, 100, 100);
  EXPECT_THAT(grid.y_edges, ElementsAre(-0.5, 0.5, 3, 7));
  EXPECT_THAT(grid.x_edges, ElementsAre(-1.5, -0.5, 0.25, 5.25, 14.75));
  EXPECT_EQ(grid.values, image.values);
}

TEST(ImageGrid, ASingleRowHasSquareCellsIfItsUnitIsThatOfTheColumns) {
  GridImage image = make_image("a", 1, 3);
  image.columns.positions = {0, 0.25, 0.5};
  EXPECT_THAT(make_image_grid(image, 9, 9).y_edges, ElementsAre(-0.125, 0.125));
  image.columns.unit = "deg";
  EXPECT_THAT(make_image_grid(image, 9, 9).y_edges, ElementsAre(-0.5, 0.5));
}

TEST(ImageGrid, IsAveragedDownToWhatThereIsRoomFor) {
  GridImage image = make_image("a", 4, 6);
  image.values[0] = std::nan("");
  const StackGrid grid = make_image_grid(image, 2, 3);
  EXPECT_THAT(grid.x_edges, ElementsAre(-0.5, 1.5, 3.5, 5.5));
  EXPECT_THAT(grid.y_edges, ElementsAre(-0.5, 1.5, 3.5));
  EXPECT_EQ(grid.at(0, 0), (1.0 + 6 + 7) / 3);
  EXPECT_EQ(grid.at(1, 2), (16.0 + 17 + 22 + 23) / 4);
}

std::pair<std::uint32_t, std::uint32_t> size_of_png(const std::filesystem::path& path) {
  const std::string bytes = samples::read_file(path);
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return value;
  };
  return {number(16), number(20)};
}

TEST(PlotImages, ThePictureGrowsWithItsPanelsUnlessASizeIsGiven) {
  const Folder folder;
  const GridImage image = make_image("a", 9, 9);
  const auto size = [&](const std::vector<std::vector<GridImage>>& rows, const PlotOptions& options = {}) {
    plot_images(rows, options, folder / "p.png");
    return size_of_png(folder / "p.png");
  };
  const auto two = size({{image, image}}), four = size({{image, image}, {image, image}});
  EXPECT_EQ(four.first, two.first);
  EXPECT_NEAR(four.second, 2.0 * two.second, 2);
  EXPECT_GT(two.first, 1.8 * two.second);
  PlotOptions options;
  options.width = 900;
  options.height = 400;
  EXPECT_EQ(size({{image, image, image}, {image}}, options), std::pair(900u, 400u));
  options.width = 160;
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] {
                           size({{image, image, image}, {image}}, options);
                         }),
              HasSubstr("160 x 400 pixels have no room for 4 panels"));
  const std::vector<std::vector<GridImage>> many(50, {image}), too_many(200, {image});
  EXPECT_LE(size(many).second, 16384u);
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { size(too_many); }), HasSubstr("no room for 200 panels"));
}

TEST(PlotImages, EveryPartOfAnImageMakesADifference) {
  const Folder folder;
  std::set<std::string> pictures;
  const auto draw = [&](const GridImage& image, const PlotOptions& options = {}) {
    plot_images({{image, make_image("b", 3, 3)}}, options, folder / "p.png");
    pictures.insert(samples::read_file(folder / "p.png"));
  };
  const GridImage image = make_image("a", 5, 7);
  draw(image);
  const auto changed = [&](const std::function<void(GridImage&)>& change) {
    GridImage other = image;
    change(other);
    draw(other);
  };
  changed([](GridImage& i) { i.title = "another"; });
  changed([](GridImage& i) { i.unit = ""; });
  changed([](GridImage& i) { i.rows.name = "other"; });
  changed([](GridImage& i) { i.columns.unit = "deg"; });
  changed([](GridImage& i) { i.rows.positions.back() = 9; });
  changed([](GridImage& i) { i.values[10] = std::nan(""); });
  changed([](GridImage& i) { std::swap(i.values[0], i.values[28]); });
  for (const PlotScale scale : {PlotScale::kSqrt, PlotScale::kLog}) {
    PlotOptions options;
    options.scale = scale;
    draw(image, options);
  }
  PlotOptions titled;
  titled.title = "a heading";
  draw(image, titled);
  EXPECT_EQ(pictures.size(), 11u);
}

// Where the only grey cell of a picture lies. Paths of these files have y from the bottom, as PLplot has; a
// matrix turns them round.
struct Rectangle {
  double left, bottom, width, height;
};

Rectangle grey_cell(const GridImage& image, const Folder& folder) {
  plot_images({{image}}, {}, folder / "p.svg");
  const std::string svg = samples::read_file(folder / "p.svg");
  const std::string grey = "fill:rgb(81.568627%,81.568627%,81.568627%)", path = " d=\"M ";
  const std::size_t place = svg.find(path, svg.find(grey)) + path.size();
  std::istringstream words(svg.substr(place, 200));
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  char line = 0;
  words >> x0 >> y0 >> line >> x1 >> y1 >> line >> x2 >> y2;
  return {x0, y0, x2 - x0, y2 - y0};
}

TEST(PlotImages, RowZeroIsAtTheBottomAndColumnZeroAtTheLeft) {
  const Folder folder;
  const auto cell = [&](std::size_t index) {
    GridImage image = make_image("a", 2, 2);
    image.values[index] = std::nan("");
    return grey_cell(image, folder);
  };
  EXPECT_LT(cell(0).bottom + 100, cell(2).bottom);
  EXPECT_LT(cell(0).left + 100, cell(1).left);
  EXPECT_NEAR(cell(0).left, cell(2).left, 1);
}

TEST(PlotImages, LengthsOfOneUnitAreToScaleUnlessThePanelWereThin) {
  const Folder folder;
  const auto shape = [&](std::size_t rows, std::size_t columns, const std::string& unit) {
    GridImage image = make_image("a", rows, columns);
    image.columns.unit = unit;
    image.values[0] = std::nan("");
    const Rectangle cell = grey_cell(image, folder);
    return cell.width / cell.height;
  };
  EXPECT_NEAR(shape(3, 6, "mm"), 1, 0.05);
  EXPECT_NEAR(shape(6, 3, "mm"), 1, 0.05);
  EXPECT_NEAR(shape(3, 6, "deg"), 0.5, 0.05);
  EXPECT_NEAR(shape(2, 20, "mm"), 0.1, 0.02);
}

TEST(PlotImages, AnImageWithoutValuesIsGreyAndOnlyAllOfThemAreAnError) {
  const Folder folder;
  GridImage empty = make_image("a", 4, 4), negative = empty;
  std::ranges::fill(empty.values, std::nan(""));
  std::ranges::fill(negative.values, -1.0);
  PlotOptions log;
  log.scale = PlotScale::kLog;
  EXPECT_NO_THROW(plot_images({{empty, make_image("b", 4, 4)}}, {}, folder / "p.png"));
  EXPECT_NO_THROW(plot_images({{negative, make_image("b", 4, 4)}}, log, folder / "p.png"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_images({{empty}}, {}, folder / "q.png"); }),
              HasSubstr("no cell has a value"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_images({{negative}}, log, folder / "q.png"); }),
              HasSubstr("no value is positive"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_images({}, {}, folder / "q.png"); }),
              HasSubstr("no cell has a value"));
  negative.values.pop_back();
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { plot_images({{negative}}, {}, folder / "q.png"); }),
              HasSubstr("15 values in 4 x 4 cells"));
  EXPECT_FALSE(std::filesystem::exists(folder / "q.png"));
}

TEST(PlotImages, DrawsTheSmallestAndTheLargest) {
  const Folder folder;
  for (const GridImage& image : {make_image("a", 1, 1), make_image("a", 1, 40), make_image("a", 40, 1),
                                 make_image("a", 2000, 1500), make_image("a", 3, 3, "")}) {
    EXPECT_NO_THROW(plot_images({{image}}, {}, folder / "p.png"));
    EXPECT_NO_THROW(plot_images({{image, image}, {image}}, {}, folder / "p.svg"));
  }
  EXPECT_LT(std::filesystem::file_size(folder / "p.svg"), std::uintmax_t{40} << 20);
}

}  // namespace
}  // namespace annulus
