#include <annulus/xrd_ct/reconstructor.hpp>

#include <algorithm>

namespace annulus {

Reconstructor::Reconstructor(const ScanGeometry& scan, const TomoOptions& options)
    : filter_(options.filter),
      interpolation_(options.interpolation.value_or(
          scan.positions < kBandLimitedFrom ? Interpolation::kLinear : Interpolation::kBandLimited)) {
  if (options.method == TomoMethod::kSirt) {
    SirtOptions sirt;
    sirt.size = options.size;
    sirt.iterations = options.iterations;
    sirt.tolerance = options.tolerance;
    sirt.threads = options.threads;
    sirt_ = std::make_unique<Sirt>(scan, sirt);
    return;
  }
  FbpOptions fbp;
  fbp.filter = filter_;
  fbp.interpolation = interpolation_;
  fbp.way = options.way;
  fbp.size = options.size;
  fbp.threads = options.threads;
  fbp.device = options.device;
  fbp.device_memory = options.device_memory;
  fbp_ = std::make_unique<FilteredBackProjection>(scan, fbp);
}

std::size_t Reconstructor::size() const { return fbp_ ? fbp_->size() : sirt_->size(); }

std::size_t Reconstructor::bins_at_once() const { return fbp_ ? 256 : 64; }

BlockMemory Reconstructor::memory() const { return fbp_ ? fbp_->memory() : sirt_->memory(); }

void Reconstructor::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram) {
  if (fbp_) {
    fbp_->reconstruct(sinogram, tomogram);
  } else {
    std::ranges::copy(sirt_->reconstruct(sinogram, tomogram), std::back_inserter(reports_));
  }
}

void Reconstructor::describe(TomoReport& report) const {
  report.size = size();
  report.method = name_of(fbp_ ? TomoMethod::kFbp : TomoMethod::kSirt);
  if (fbp_) {
    report.way = name_of(fbp_->way());
    report.filter = name_of(filter_);
    report.interpolation = name_of(interpolation_);
  } else if (!reports_.empty()) {
    std::vector<double> misfits;
    std::size_t most = 0;
    for (const SirtReport& each : reports_) {
      misfits.push_back(each.misfit);
      most = std::max(most, each.iterations);
    }
    std::ranges::nth_element(misfits, misfits.begin() + static_cast<std::ptrdiff_t>(misfits.size() / 2));
    report.iterations = most;
    report.misfit = misfits[misfits.size() / 2];
  }
}

}  // namespace annulus
