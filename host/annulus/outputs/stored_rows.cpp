#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/stored_rows.hpp>

#include <algorithm>
#include <vector>

namespace annulus {

void for_each_stored_row(hid_t file, std::uint64_t frames, ErrorKind kind,
                         const std::function<void(const StoredRow& row)>& visit) {
  constexpr std::uint64_t kBlock = 4096;
  for (std::uint64_t first = 0; first < frames; first += kBlock) {
    const std::uint64_t count = std::min(kBlock, frames - first);
    std::vector<SourceId> sources(count);
    std::vector<std::uint64_t> places(count), statuses(count), numbers(count);
    const auto read = [&](const char* path, RowExtent extent, void* values) {
      return read_rows(file, path, extent, first, count, H5T_NATIVE_UINT64, values) == ReadRows::kGood;
    };
    if (!read(layout::kSourceId, layout::kSourceIdRow, sources.data()) ||
        !read(layout::kFrameInSource, {}, places.data()) || !read(layout::kStatus, {}, statuses.data()) ||
        !read(layout::kFrameIndex, {}, numbers.data())) {
      throw_hdf5(kind, file, "cannot read which frames are stored");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool bad = statuses[i] != static_cast<std::uint64_t>(layout::Status::kGood);
      visit({sources[i], places[i], numbers[i], bad});
    }
  }
}

}  // namespace annulus
