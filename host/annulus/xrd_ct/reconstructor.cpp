#include <annulus/xrd_ct/reconstructor.hpp>

#include <algorithm>

namespace annulus {
namespace {

SirtOptions sirt_options(const TomoOptions& options) {
  SirtOptions sirt;
  sirt.size = options.size;
  sirt.iterations = options.iterations.value_or(sirt.iterations);
  sirt.tolerance = options.tolerance.value_or(sirt.tolerance);
  sirt.threads = options.threads;
  return sirt;
}

FbpOptions fbp_options(const ScanGeometry& scan, const TomoOptions& options) {
  FbpOptions fbp;
  fbp.filter = options.filter.value_or(fbp.filter);
  fbp.interpolation = options.interpolation.value_or(
      scan.positions < kBandLimitedFrom ? Interpolation::kLinear : Interpolation::kBandLimited);
  fbp.way = options.way;
  fbp.size = options.size;
  fbp.threads = options.threads;
  fbp.device = options.device;
  fbp.device_memory = options.device_memory;
  return fbp;
}

}  // namespace

Reconstructor::Reconstructor(const ScanGeometry& scan, const TomoOptions& options) {
  if (options.method == TomoMethod::kSirt) {
    sirt_ = std::make_unique<Sirt>(scan, sirt_options(options));
  } else {
    const FbpOptions fbp = fbp_options(scan, options);
    filter_ = fbp.filter;
    interpolation_ = fbp.interpolation;
    fbp_ = std::make_unique<FilteredBackProjection>(scan, fbp);
  }
}

std::size_t Reconstructor::size() const { return fbp_ ? fbp_->size() : sirt_->size(); }

BlockMemory Reconstructor::memory(const ScanGeometry& scan, const TomoOptions& options) {
  if (options.method == TomoMethod::kSirt) {
    BlockMemory memory = Sirt::memory(scan, sirt_options(options));
    memory.per_bin += scan.angles.size() * scan.positions / 8 + 1;  // which values are missing
    return memory;
  }
  return FilteredBackProjection(scan, fbp_options(scan, options)).memory();
}

void Reconstructor::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                                const std::stop_token& stop) {
  if (fbp_) {
    fbp_->reconstruct(sinogram, tomogram, stop);
  } else {
    std::ranges::copy(sirt_->reconstruct(sinogram, tomogram, stop), std::back_inserter(reports_));
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
