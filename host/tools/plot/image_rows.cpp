#include <tools/plot/image_rows.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace annulus {
namespace {

using Rows = std::vector<std::vector<GridImage>>;

std::string subject_of(const GridImage& image) { return image.name.substr(0, image.name.rfind('_')); }

auto row_about(Rows& rows, const std::string& subject) {
  return std::ranges::find_if(rows, [&](const auto& row) { return subject_of(row.front()) == subject; });
}

Rows by_subject(std::vector<GridImage> images) {
  Rows rows;
  for (GridImage& image : images) {
    auto row = row_about(rows, subject_of(image));
    if (row == rows.end()) row = rows.emplace(row);
    row->push_back(std::move(image));
  }
  return rows;
}

void put_first(std::vector<GridImage>& row, std::vector<GridImage>& others) {
  row.insert(row.begin(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

}  // namespace

Rows rows_of_images(std::vector<GridImage> images) {
  Rows rows = by_subject(std::move(images));
  if (std::ranges::any_of(rows, [](const auto& row) { return row.size() > 1; })) return rows;
  const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(rows.size()))));
  Rows square;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % columns == 0) square.emplace_back();
    square.back().push_back(std::move(rows[i].front()));
  }
  return square;
}

Rows rows_of_images(std::vector<GridImage> beside, std::vector<GridImage> images) {
  if (beside.empty() || images.empty())
    return rows_of_images(images.empty() ? std::move(beside) : std::move(images));
  Rows rows = by_subject(std::move(images)), others = by_subject(std::move(beside)), alone;
  const auto partner = [&](const std::vector<GridImage>& row) {
    return row_about(rows, subject_of(row.front()));
  };
  const bool named = std::ranges::any_of(others, [&](const auto& row) { return partner(row) != rows.end(); });
  const std::size_t count = rows.size();
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto row =
        named ? partner(others[i]) : rows.begin() + static_cast<std::ptrdiff_t>(std::min(i, count));
    if (row == rows.end()) {
      alone.push_back(std::move(others[i]));
    } else {
      put_first(*row, others[i]);
    }
  }
  std::ranges::move(alone, std::back_inserter(rows));
  return rows;
}

}  // namespace annulus
