#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/stored_checksums.hpp>
#include <annulus/outputs/stored_sums.hpp>

#include <fmt/core.h>

#include <span>

namespace annulus {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t{1} << 30;

std::uint64_t closing_in(hid_t file) { return read_whole_number(file, layout::kClosingChecksum).value_or(0); }

}  // namespace

std::uint64_t stored_closing(const std::filesystem::path& path) {
  return closing_in(open_output(path).get());
}

StoredChecksums::StoredChecksums(hid_t file, std::uint64_t closing)
    : file_(file),
      rows_(row_datasets(file)),
      header_(read_whole_number(file, layout::kHeaderChecksum).value_or(0)),
      closing_(closing) {}

std::vector<std::string> StoredChecksums::check_frames(std::uint64_t first, std::uint64_t count) const {
  std::vector<std::uint64_t> sums(count), stored(count), numbers(count);
  for (const std::string& path : rows_) {
    const auto bytes = read_raw_rows(file_, path, first, count, kMostRowBytes);
    if (!bytes) throw_hdf5(ErrorKind::kInput, file_, fmt::format("is corrupt: {} cannot be read", path));
    const std::uint64_t seed = checksum_seed(path);
    const std::size_t size = bytes->size() / count;
    for (std::size_t i = 0; i < count; ++i)
      sums[i] += row_checksum(seed, std::span(*bytes).subspan(i * size, size));
  }
  const auto read = [&](const char* path, std::vector<std::uint64_t>& values) {
    return read_rows(file_, path, {}, first, count, H5T_NATIVE_UINT64, values.data()) == ReadRows::kGood;
  };
  if (!read(layout::kFrameChecksums, stored) || !read(layout::kFrameIndex, numbers))
    throw_hdf5(ErrorKind::kInput, file_, "is corrupt: the checksums of frames cannot be read");
  std::vector<std::string> faults(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (stored[i] != frame_checksum(sums[i], numbers[i]))
      faults[i] = "its checksum is wrong: something that is stored for it was changed";
  }
  return faults;
}

std::string StoredChecksums::check_header() const {
  if (header_ == header_checksum(file_)) return {};
  return "the checksum of what is stored once is wrong: an axis, a total, an attribute, an option or the "
         "like was "
         "changed, removed or added";
}

bool StoredChecksums::is_open() const {
  return closing_ == open_mark(header_) || closing_ != closing_in(file_);
}

std::string StoredChecksums::check_closing(std::uint64_t frames) const {
  if (is_open() || closing_ == closing_checksum(file_, header_, frames)) return {};
  return "the checksum of its end is wrong: frames were taken away or added, or the end time was changed";
}

}  // namespace annulus
