// The pictures of a build that cannot draw any.
#include <annulus/core/error.hpp>

#include <tools/plot/plot.hpp>

namespace annulus {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& picture) {
  throw Error(ErrorKind::kBackend, picture.string(), "this build has no PLplot, so it cannot draw",
              "install PLplot (in Debian libplplot-dev and plplot-driver-cairo), configure the build with "
              "-DANNULUS_PLOT=ON and build again");
}

}  // namespace

void plot_pattern(const StoredPatterns&, const PlotOptions&, const std::filesystem::path& picture) {
  refuse(picture);
}

void plot_cake(const PatternFile&, const PlotOptions&, const std::filesystem::path& picture) {
  refuse(picture);
}

void plot_stack(const PatternFile&, const PlotOptions&, const std::filesystem::path& picture) {
  refuse(picture);
}

void plot_images(const std::vector<std::vector<GridImage>>&, const PlotOptions&,
                 const std::filesystem::path& picture) {
  refuse(picture);
}

void plot_correlation(const StoredCorrelation&, CorrelationView, bool, const PlotOptions&,
                      const std::filesystem::path& picture) {
  refuse(picture);
}

}  // namespace annulus
