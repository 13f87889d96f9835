#include <annulus/core/error.hpp>
#include <annulus/correlation/image_stage.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace annulus {

ImageBatch::ImageBatch(const PolarShape& shape, std::span<const std::int16_t> values,
                       std::span<const std::uint8_t> valid)
    : per_image_(shape.values()), size_(values.size() / per_image_), values_(values), valid_(valid) {
  if (values.size() % per_image_ != 0) {
    throw Error(ErrorKind::kInput, "polar images",
                fmt::format("{} values are no whole number of images of {} rings x {} angles", values.size(),
                            shape.rings, shape.angles));
  }
  if (!valid.empty() && valid.size() != per_image_ && valid.size() != values.size()) {
    throw Error(ErrorKind::kInput, "masks",
                fmt::format("{} values are neither one mask of {} nor one for each of {} images",
                            valid.size(), per_image_, size_));
  }
}

std::span<const std::int16_t> ImageBatch::values(std::size_t image) const {
  return values_.subspan(image * per_image_, per_image_);
}

std::span<const std::uint8_t> ImageBatch::valid(std::size_t image) const {
  return valid_.size() <= per_image_ ? valid_ : valid_.subspan(image * per_image_, per_image_);
}

std::span<const std::int16_t> ImageStage::put(std::span<const std::int16_t> values,
                                              std::span<const std::uint8_t> valid) {
  std::int16_t* const place = images_.data() + size_ * shape_.values();
  if (valid.empty()) {
    std::copy(values.begin(), values.end(), place);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) place[i] = valid[i] != 0 ? values[i] : std::int16_t(0);
  }
  return {place, shape_.values()};
}

std::uint64_t energy_of(std::span<const std::int16_t> ring) {
  std::uint64_t energy = 0;
  // Three squares of 16 bits fit into 32 bits.
  std::size_t i = 0;
  for (; i + 2 <= ring.size(); i += 2) {
    const std::uint32_t two =
        static_cast<std::uint32_t>(ring[i] * ring[i]) + static_cast<std::uint32_t>(ring[i + 1] * ring[i + 1]);
    energy += two;
  }
  if (i < ring.size()) energy += static_cast<std::uint32_t>(ring[i] * ring[i]);
  return energy;
}

}  // namespace annulus
