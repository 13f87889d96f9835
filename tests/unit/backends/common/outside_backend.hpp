// A backend that is no part of the library: it decodes whole frames and adds them up pixel by pixel.
#pragma once

#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/codecs/decode_frame.hpp>

struct OutsideReducer final : annulus::BatchReducer {
  annulus::Job job;

  explicit OutsideReducer(annulus::Job taken) : job(std::move(taken)) {}

  annulus::Sums sums_of(const annulus::Frame& frame) const {
    const annulus::Plan& plan = *job.plan;
    const annulus::Image<double> image = annulus::decode_frame(frame);
    std::vector<std::uint32_t> invalid;
    annulus::Sums sums;
    const auto signal = sums.make(annulus::Quantity::kSignal, plan.bins());
    for (std::uint32_t pixel = 0; pixel < plan.pixels(); ++pixel) {
      const std::uint32_t begin = plan.matrix.first[pixel], end = plan.matrix.first[pixel + 1];
      const auto raw = static_cast<std::int64_t>(image.pixels[pixel]);
      const bool valid = plan.validity.accepts(raw);
      if (!valid && begin != end) invalid.push_back(pixel);
      for (auto i = begin; valid && i < end; ++i) signal[plan.matrix.bin[i]] += raw * plan.matrix.weight[i];
    }
    subtract_invalid(plan, invalid, sums);
    return sums;
  }

  std::vector<annulus::FrameResult> reduce(const std::vector<annulus::Frame>& frames) override {
    std::vector<annulus::FrameResult> results;
    for (const annulus::Frame& frame : frames) {
      try {
        results.push_back({frame.id, sums_of(frame)});
      } catch (const annulus::Error& error) {
        results.push_back({frame.id, error});
      }
    }
    return results;
  }
};
