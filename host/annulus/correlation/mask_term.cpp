#include <annulus/correlation/exact_drain.hpp>
#include <annulus/correlation/image_stage.hpp>
#include <annulus/correlation/mask_term.hpp>
#include <annulus/correlation/rounding_bound.hpp>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace annulus {

void MaskTerm::count(std::span<const std::uint8_t> valid) {
  if (std::find(valid.begin(), valid.end(), 0) == valid.end()) {
    ++unmasked_;
    return;
  }
  std::vector<std::uint8_t> mask(valid.size());
  for (std::size_t i = 0; i < valid.size(); ++i) mask[i] = valid[i] != 0 ? 1 : 0;
  const auto same = [&](const Mask& other) { return other.valid == mask; };
  if (last_ < masks_.size() && same(masks_[last_])) {
    ++masks_[last_].images;
    return;
  }
  const std::size_t hash =
      std::hash<std::string_view>()({reinterpret_cast<const char*>(mask.data()), mask.size()});
  const auto found = std::find_if(masks_.begin(), masks_.end(),
                                  [&](const Mask& other) { return other.hash == hash && same(other); });
  last_ = static_cast<std::size_t>(found - masks_.begin());
  if (found != masks_.end()) {
    ++found->images;
  } else {
    masks_.push_back({hash, 1, std::move(mask)});
  }
}

void MaskTerm::add_to(LargeVector<std::int64_t>& mask, FrequencySums<double>* work) {
  if (unmasked_ != 0) {
    const std::int64_t products = unmasked_ * static_cast<std::int64_t>(shape_.angles);
    for (std::int64_t& sum : mask) sum += products;
    unmasked_ = 0;
  }
  if (masks_.empty()) return;
  std::sort(masks_.begin(), masks_.end(), [](const Mask& a, const Mask& b) { return a.images < b.images; });
  ImageStage stage(shape_, work->block());
  LargeVector<std::int16_t> image(shape_.values());
  // kMasks masks of 1 and 0 are far within the bound, whatever the number of angles.
  const double error = RoundingBound(shape_.angles).error(kMasks * shape_.angles, kMasks);
  for (std::size_t i = 0; i < masks_.size(); ++i) {
    std::copy(masks_[i].valid.begin(), masks_[i].valid.end(), image.begin());
    stage.put(image, {});
    stage.keep();
    const bool last_of_its_kind = i + 1 == masks_.size() || masks_[i + 1].images != masks_[i].images;
    if (stage.full() || last_of_its_kind) {
      work->add(stage.images());
      stage.clear();
    }
    if (last_of_its_kind) drain_rounded(*work, shape_, error, masks_[i].images, mask);
  }
  masks_.clear();
}

}  // namespace annulus
