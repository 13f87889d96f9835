// Prints the pattern of a file's first frame: example scan.poni frame.cbf
#include <annulus/annulus.hpp>

#include <fmt/format.h>

int main(int argc, char** argv) try {
  if (argc != 3) throw annulus::Error(annulus::ErrorKind::kUsage, "example", "give a PONI file and an image");
  const annulus::Geometry geometry = annulus::read_poni(argv[1]);
  const auto source = annulus::open_source(argv[2]);
  annulus::IntegrationOptions options;
  options.unit = annulus::Unit::kQPerA;
  options.polarization = 0.99;
  annulus::Integrator integrator(geometry, options, annulus::probe_frames({argv[2]}, {}));
  const annulus::Pattern pattern = integrator.integrate(source->read(0));
  for (std::size_t bin = 0; bin < pattern.intensity.size(); ++bin) {
    fmt::print("{} {}\n", integrator.plan().radial().centres[bin], pattern.intensity[bin]);
  }
} catch (const annulus::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
