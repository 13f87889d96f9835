#include <annulus/outputs/part_files.hpp>
#include <annulus/outputs/stored_sums.hpp>
#include <annulus/plan/spread_table.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>

namespace annulus {
namespace {

constexpr std::uint64_t kMostFramesAtOnce = 64;
constexpr std::int64_t kMostFractionBits = 1074;  // of the least double
constexpr std::uint64_t kMostBinsAtOnce = std::uint64_t{1} << 21;

}  // namespace

StoredSums::StoredSums(const std::filesystem::path& path, const OutputHeader& header)
    : name_(path.string()), bins_(layout::extent_of(header.axes)), file_(open_output(path)) {
  const auto stored = std::make_shared<Plan>();
  Plan& plan = *stored;
  plan.axes = header.axes;
  plan.hash = header.plan_hash;
  plan.pixel_type = pixel_type();
  plan.weight_bits = static_cast<int>(attribute("weight_bits"));
  plan.variance_bits = static_cast<int>(attribute("variance_bits"));
  plan.normalization_bits = static_cast<int>(attribute("normalization_bits"));
  plan.dark_bits = static_cast<int>(attribute("dark_bits"));
  plan.totals.count = totals("count");
  plan.totals.normalization = totals("normalization");
  if (has(std::string(layout::kAccumulators) + "/dark")) plan.totals.dark = totals("dark");
  job_ = {stored, header.recipe};
  if (job_.recipe.needs_spread_table()) {
    plan.spread = spread_table();
  } else if (!header.has_errors || !has(layout::sums_of(Quantity::kVariance))) {
    job_.recipe.error_model = ErrorModel::kNone;
  }
}

// But divisors of pixels, which only backends need.
std::shared_ptr<const SpreadTable> StoredSums::spread_table() const {
  auto table = std::make_shared<SpreadTable>();
  table->divisor_bits = static_cast<int>(attribute("divisor_bits"));
  table->square_bits = static_cast<int>(attribute("square_bits"));
  table->dark_shift = static_cast<int>(attribute("dark_shift"));
  table->squares = totals(layout::kTotalSquares);
  table->squares_word1 = totals(layout::kTotalSquaresWord1);
  return table;
}

std::uint64_t StoredSums::frames_at_once() const {
  return std::clamp<std::uint64_t>(kMostBinsAtOnce / bins_.values(), 1, kMostFramesAtOnce);
}

double StoredSums::attribute(const char* name) const {
  const Hdf5Handle group(H5Gopen2(file_.get(), layout::kAccumulators, H5P_DEFAULT), H5Gclose);
  const Hdf5Handle attribute(H5Aopen(group.get(), name, H5P_DEFAULT), H5Aclose);
  double value = 0;
  if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0) missing(name);
  return value;
}

// Of the plan: one value a bin.
std::vector<std::int64_t> StoredSums::totals(const char* name) const {
  const std::string path = std::string(layout::kAccumulators) + "/" + name;
  const bool cake = bins_.lines > 0;
  return read(path.c_str(), RowExtent{cake ? bins_.width : 0, 0}, 0, cake ? bins_.lines : bins_.width);
}

std::vector<Sums> StoredSums::frames(std::uint64_t first, std::uint64_t count) const {
  return read_frames(first, count, std::nullopt);
}

std::vector<Sums> StoredSums::frames(std::uint64_t first, std::uint64_t count, BinRange bins) const {
  return read_frames(first, count, bins);
}

std::vector<Sums> StoredSums::read_frames(std::uint64_t first, std::uint64_t count,
                                          std::optional<BinRange> part) const {
  std::vector<Sums> frames(count);
  const std::size_t bins = part ? part->size() : bins_.values();
  const auto read_bins = [&](const std::string& path) {
    if (!part) return read(path.c_str(), bins_, first, count);
    std::vector<std::int64_t> values(count * bins);
    if (read_row_parts(file_.get(), path.c_str(), bins_, first, count, part->first, bins, H5T_NATIVE_INT64,
                       values.data()) != ReadRows::kGood) {
      missing(path);
    }
    return values;
  };
  for (const Quantity quantity : job_.quantities()) {
    const std::size_t words = words_of(quantity);
    for (Sums& frame : frames) frame.make(quantity, bins, words);
    for (std::size_t word = 0; word < words; ++word) {
      const auto rows = read_bins(layout::sums_of(quantity, word));
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = std::span(rows).subspan(i * bins, bins);
        std::ranges::copy(row, frames[i][quantity].begin() + static_cast<std::ptrdiff_t>(word * bins));
      }
    }
  }
  const std::vector<std::int64_t> bits = fraction_bits(first, count);
  const auto invalid_pixels = read(layout::kInvalidPixels, {}, first, count);
  for (std::size_t i = 0; i < count; ++i) {
    frames[i].fraction_bits = static_cast<int>(bits[i]);
    frames[i].invalid_pixels = static_cast<std::uint64_t>(invalid_pixels[i]);
  }
  return frames;
}

std::vector<std::int64_t> StoredSums::fraction_bits(std::uint64_t first, std::uint64_t count) const {
  std::vector<std::int64_t> bits = read(layout::kFractionBits, {}, first, count);
  const auto is_impossible = [](std::int64_t value) { return value < 0 || value > kMostFractionBits; };
  if (std::ranges::any_of(bits, is_impossible)) missing(layout::kFractionBits);
  return bits;
}

std::vector<std::array<std::uint64_t, 2>> StoredSums::source_ids(std::uint64_t first,
                                                                 std::uint64_t count) const {
  std::vector<std::array<std::uint64_t, 2>> ids(count);
  if (read_rows(file_.get(), layout::kSourceId, layout::kSourceIdRow, first, count, H5T_NATIVE_UINT64,
                ids.data()) != ReadRows::kGood) {
    missing(layout::kSourceId);
  }
  return ids;
}

void StoredSums::missing(const std::string& what) const {
  throw Error(ErrorKind::kInput, name_, fmt::format("is corrupt: {} cannot be read", what));
}

// Words after the last that holds anything, for any frame, are 0 and need not be read.
std::size_t StoredSums::words_of(Quantity quantity) const {
  for (std::size_t word = kMostWords - 1; word > 0; --word) {
    const std::string path = layout::sums_of(quantity, word);
    if (!has(path)) continue;
    const Hdf5Handle dataset(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
    if (H5Dget_storage_size(dataset.get()) > 0 || is_virtual_dataset(dataset.get())) return word + 1;
  }
  return 1;
}

// One whose sums take as many words as the file has room for.
PixelType StoredSums::pixel_type() const {
  for (const PixelType type : {PixelType::kF64, PixelType::kI64}) {
    if (has(layout::sums_of(Quantity::kSignal, most_words(type) - 1))) return type;
  }
  return PixelType::kI32;
}

std::vector<std::int64_t> StoredSums::read(const char* path, RowExtent extent, std::uint64_t first,
                                           std::uint64_t count) const {
  std::vector<std::int64_t> values(count * extent.values());
  if (read_rows(file_.get(), path, extent, first, count, H5T_NATIVE_INT64, values.data()) != ReadRows::kGood)
    missing(path);
  return values;
}

}  // namespace annulus
