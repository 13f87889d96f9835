// Names, shapes and pixel sizes agree with pyFAI, so that PONI files mean the same in both. Where its
// releases differ, or detectors from it, the entry has the readouts of all; the first that fits is the one of
// the newest release.
#include <annulus/geometry/detector_catalogue.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace annulus {
namespace {

using Aliases = std::vector<std::string>;

struct Binning {
  std::uint32_t factor;
  double pixel;
};

Shape binned(Shape full, std::uint32_t factor) { return {full.rows / factor, full.cols / factor}; }

class Catalogue {
 public:
  // A mosaic of modules: one pixel size, no binning.
  void modular(std::string name, Aliases aliases, Shape shape, double pixel, const ModuleGrid& grid,
               bool dectris) {
    CatalogueEntry entry;
    entry.detector = {std::move(name), std::move(aliases), shape, pixel, pixel, grid, false, dectris};
    entry.readouts = {{pixel, pixel, shape}};
    entries_.push_back(std::move(entry));
  }

  // One sensor that bins by any factor up to 8; `full` and `pixel` are unbinned.
  void panel(std::string name, Aliases aliases, Shape full, double pixel, std::uint32_t default_factor = 1) {
    CatalogueEntry entry;
    const double default_pixel = pixel * default_factor;
    entry.detector = {std::move(name),
                      std::move(aliases),
                      binned(full, default_factor),
                      default_pixel,
                      default_pixel,
                      {},
                      false,
                      false};
    for (std::uint32_t factor = 1; factor <= 8; ++factor) {
      entry.readouts.push_back({pixel * factor, pixel * factor, binned(full, factor)});
    }
    entries_.push_back(std::move(entry));
  }

  // Rayonix publishes the pixel size of every binning; they are not exact multiples.
  void rayonix(const std::string& name, const Aliases& aliases, Shape full, std::span<const Binning> binnings,
               std::uint32_t default_factor, bool round = false) {
    CatalogueEntry entry;
    for (const Binning& binning : binnings) {
      const Shape shape = binned(full, binning.factor);
      entry.readouts.push_back({binning.pixel, binning.pixel, shape});
      if (binning.factor == default_factor) {
        entry.detector = {name, aliases, shape, binning.pixel, binning.pixel, {}, round, false};
      }
    }
    entries_.push_back(std::move(entry));
  }

  void add(CatalogueEntry entry) { entries_.push_back(std::move(entry)); }

  // Another readout of the detector that was added last, with square pixels.
  void also_reads_out(double pixel, Shape shape) {
    entries_.back().readouts.push_back({pixel, pixel, shape});
  }

  std::vector<CatalogueEntry> take() { return std::move(entries_); }

 private:
  std::vector<CatalogueEntry> entries_;
};

void add_pilatus(Catalogue& catalogue) {
  constexpr double kPixel = 172e-6;
  const ModuleGrid silicon{{195, 487}, {17, 7}, 0};
  const auto si = [&](const char* model, Shape shape) {
    const std::string text = model;
    catalogue.modular("Pilatus" + text, {"Pilatus " + text}, shape, kPixel, silicon, true);
  };
  si("100k", {195, 487});
  si("200k", {407, 487});
  si("300k", {619, 487});
  si("300kw", {195, 1475});
  si("900k", {619, 1475});
  si("1M", {1043, 981});
  si("2M", {1679, 1475});
  si("6M", {2527, 2463});

  const ModuleGrid cadmium{{195, 487}, {17, 7}, 3};
  const auto cdte = [&](const char* model, Shape shape) {
    const std::string text = model;
    catalogue.modular("PilatusCdTe" + text,
                      {"Pilatus CdTe " + text, "Pilatus " + text + " CdTe", "Pilatus" + text + " CdTe",
                       "Pilatus" + text + "CdTe"},
                      shape, kPixel, cadmium, true);
  };
  cdte("300k", {619, 487});
  cdte("300kw", {195, 1475});
  cdte("900kw", {195, 4439});
  cdte("1M", {1043, 981});
  cdte("2M", {1679, 1475});
}

void add_pilatus4(Catalogue& catalogue) {
  constexpr double kPixel = 150e-6;
  const std::initializer_list<std::pair<const char*, Shape>> models = {{"1M", {1080, 1033}},
                                                                       {"2M", {1630, 1553}},
                                                                       {"4M", {2180, 2073}},
                                                                       {"260k", {530, 513}},
                                                                       {"260kw", {255, 1033}}};
  for (const auto& [model, shape] : models) {
    const std::string text = model;
    catalogue.modular("Pilatus4_" + text, {"Pilatus4 " + text}, shape, kPixel, {{255, 513}, {20, 7}, 0},
                      true);
  }
  for (const auto& [model, shape] : models) {
    const std::string text = model;
    catalogue.modular("Pilatus4_CdTe_" + text, {"Pilatus4 " + text + " CdTe"}, shape, kPixel,
                      {{255, 513}, {20, 7}, 1}, true);
  }
}

void add_eiger(Catalogue& catalogue) {
  constexpr double kPixel = 75e-6;
  const ModuleGrid first{{514, 1030}, {37, 10}, 0};
  const auto eiger = [&](const char* model, Shape shape) {
    const std::string text = model;
    catalogue.modular("Eiger" + text, {"Eiger " + text}, shape, kPixel, first, true);
  };
  eiger("500k", {514, 1030});
  eiger("1M", {1065, 1030});
  eiger("4M", {2167, 2070});
  eiger("9M", {3269, 3110});
  eiger("16M", {4371, 4150});

  const auto eiger2 = [&](const char* model, const char* alias, Shape shape) {
    catalogue.modular(std::string("Eiger2_") + model, {std::string("Eiger2 ") + alias}, shape, kPixel,
                      {{512, 1028}, {38, 12}, 0}, true);
  };
  const auto eiger2_cdte = [&](const char* model, const char* alias, Shape shape) {
    catalogue.modular(std::string("Eiger2CdTe_") + model, {std::string("Eiger2 CdTe ") + alias}, shape,
                      kPixel, {{512, 1028}, {38, 12}, 2}, true);
  };
  eiger2("250k", "250k", {512, 512});
  const auto both = [&](const char* model, const char* alias, Shape shape) {
    eiger2(model, alias, shape);
    eiger2_cdte(model, alias, shape);
  };
  both("500k", "500k", {512, 1028});
  both("1M", "1M", {1062, 1028});
  both("1MW", "1M-W", {512, 2068});
  both("2MW", "2M-W", {512, 4148});
  both("4M", "4M", {2162, 2068});
  both("9M", "9M", {3262, 3108});
  both("16M", "16M", {4362, 4148});
}

void add_other_modular(Catalogue& catalogue) {
  const ModuleGrid maxipix{{256, 256}, {4, 4}, 0};
  catalogue.modular("Maxipix", {"Maxipix 1x1", "Maxipix1x1"}, {256, 256}, 55e-6, maxipix, false);
  catalogue.modular("Maxipix2x2", {"Maxipix 2x2"}, {516, 516}, 55e-6, maxipix, false);
  catalogue.modular("Maxipix5x1", {"Maxipix 5x1"}, {256, 1296}, 55e-6, maxipix, false);

  // Chips of 256 x 256 with four interpolated pixels between, as pyFAI has it since 2023; before, it took
  // modules of 516 x 516 and images of 1554 columns, which the detectors do not deliver.
  const ModuleGrid lambda{{256, 256}, {4, 4}, 0};
  catalogue.modular("Lambda60k", {"Lambda 60k"}, {256, 256}, 55e-6, lambda, false);
  catalogue.modular("Lambda250k", {"Lambda 250k"}, {516, 516}, 55e-6, lambda, false);
  catalogue.modular("Lambda750k", {"Lambda 750k"}, {516, 1556}, 55e-6, lambda, false);
  catalogue.modular("Lambda2M", {"Lambda 2M"}, {1556, 1556}, 55e-6, lambda, false);
  catalogue.modular("Lambda7M5", {"Lambda 7.5M"}, {2596, 2596}, 55e-6, lambda, false);
  // Which pixels are missing between its modules differs from one to the next, so none are masked.
  catalogue.modular("Lambda9M", {"Lambda 9M"}, {3868, 3227}, 55e-6, {}, false);
  catalogue.modular("Lambda10M", {"Lambda 10M"}, {2596, 4676}, 55e-6, lambda, false);

  // Images with the double pixels between chips already expanded, hence regular. Jungfrau integrates charge:
  // small negative values are measurements, not marks of dead pixels.
  const ModuleGrid jungfrau{{514, 1030}, {36, 8}, 0};
  catalogue.modular("Jungfrau1M", {"Jungfrau 1M"}, {1064, 1030}, 75e-6, jungfrau, false);
  catalogue.modular("Jungfrau4M", {"Jungfrau 4M"}, {2164, 2068}, 75e-6, jungfrau, false);
}

constexpr Binning kBinned32[] = {{1, 32e-6}, {2, 64e-6}, {4, 128e-6}, {8, 256e-6}};
constexpr Binning kBinned395[] = {{1, 39.5e-6}, {2, 79e-6}, {3, 118.616e-6}, {4, 158e-6}, {8, 316e-6}};
constexpr Binning kBinned48[] = {{1, 48e-6}, {2, 96e-6}, {3, 144e-6}, {4, 192e-6}, {8, 384e-6}};
constexpr Binning kBinned366[] = {
    {1, 36.621e-6}, {2, 73.242e-6}, {3, 109.971e-6}, {4, 146.484e-6}, {8, 292.969e-6}};
constexpr Binning kBinned397[] = {
    {1, 39.673e-6}, {2, 79.346e-6}, {3, 119.135e-6}, {4, 158.691e-6}, {8, 317.383e-6}};
constexpr Binning kBinned443[] = {{1, 44.2708e-6},  {2, 88.5417e-6}, {3, 132.8125e-6}, {4, 177.0833e-6},
                                  {5, 221.3542e-6}, {6, 265.625e-6}, {8, 354.1667e-6}, {10, 442.7083e-6}};
constexpr Binning kBinned391[] = {{1, 39.0625e-6},  {2, 78.125e-6},   {3, 117.1875e-6}, {4, 156.25e-6},
                                  {5, 195.3125e-6}, {6, 234.3750e-6}, {8, 312.5e-6},    {10, 390.625e-6}};
constexpr Binning kBinned156[] = {{1, 15.625e-6}, {2, 31.25e-6}, {3, 46.875e-6}, {4, 62.5e-6},
                                  {5, 78.125e-6}, {6, 93.75e-6}, {8, 125.0e-6},  {10, 156.25e-6}};

void add_rayonix(Catalogue& catalogue) {
  catalogue.rayonix("Rayonix133", {"Rayonix133", "MAR 133", "MAR133"}, {4096, 4096}, kBinned32, 2, true);
  catalogue.rayonix("RayonixSx165", {"Rayonix SX165", "MAR 165", "MAR165"}, {4096, 4096}, kBinned395, 1,
                    true);
  // Binned by 3, its images have one line less than the division gives.
  catalogue.also_reads_out(118.616e-6, {1364, 1364});
  catalogue.rayonix("RayonixSx200", {"Rayonix SX200"}, {4096, 4096}, kBinned48, 1);
  catalogue.rayonix("RayonixLx170",
                    {"Rayonix LX170", "Rayonix LX170-HS", "Rayonix LX170 HS", "RayonixLX170HS"}, {1920, 3840},
                    kBinned443, 1);
  catalogue.rayonix("RayonixMx170",
                    {"Rayonix MX170", "Rayonix MX170-HS", "RayonixMX170HS", "Rayonix MX170 HS"}, {3840, 3840},
                    kBinned443, 1);
  catalogue.rayonix("RayonixLx255",
                    {"Rayonix LX255", "Rayonix LX255-HS", "Rayonix LX 255HS", "RayonixLX225HS"}, {1920, 5760},
                    kBinned443, 1);
  catalogue.rayonix("RayonixMx225", {"Rayonix MX225", "MAR 225", "MAR225"}, {6144, 6144}, kBinned366, 2);
  catalogue.rayonix("RayonixMx225hs", {"Rayonix MX225HS", "Rayonix MX225 HS"}, {5760, 5760}, kBinned391, 2);
  catalogue.rayonix("RayonixMx300", {"Rayonix MX300", "MAR 300", "MAR300"}, {8192, 8192}, kBinned366, 2);
  catalogue.rayonix("RayonixMx300hs", {"Rayonix MX300HS", "Rayonix MX300 HS"}, {7680, 7680}, kBinned391, 2);
  catalogue.rayonix("RayonixMx325", {"Rayonix MX325"}, {8192, 8192}, kBinned397, 2);
  catalogue.rayonix("RayonixMx340hs", {"Rayonix MX340HS"}, {7680, 7680}, kBinned443, 2);
  catalogue.rayonix("RayonixMx425hs", {"Rayonix MX425HS", "Rayonix MX425 HS"}, {9600, 9600}, kBinned443, 1);
  catalogue.rayonix("RayonixSx30hs", {"Rayonix SX30HS", "Rayonix SX30 HS"}, {1920, 1920}, kBinned156, 1);
  catalogue.rayonix("RayonixSx85hs", {"Rayonix SX85HS", "Rayonix SX85 HS"}, {1920, 1920}, kBinned443, 1);
}

void add_panels(Catalogue& catalogue) {
  CatalogueEntry mar345;
  mar345.detector = {"Mar345", {"MAR 345", "Mar3450"}, {3450, 3450}, 100e-6, 100e-6, {}, true, false};
  mar345.readouts = {{100e-6, 100e-6, {3450, 3450}}, {150e-6, 150e-6, {2300, 2300}}};
  catalogue.add(std::move(mar345));
  catalogue.panel("Mar555", {"MAR 555"}, {3072, 2560}, 139e-6);

  // The pixels of the Quantum 270 and 4 are those of pyFAI before 2025.12, which gives their 270 mm and 189
  // mm. Later it writes 51 um into PONI files, as if all Quantum were alike: the size that a file states is
  // taken.
  catalogue.panel("ADSC_Q315", {"Quantum 315"}, {6144, 6144}, 51e-6);
  catalogue.panel("ADSC_Q210", {"Quantum 210"}, {4096, 4096}, 51e-6);
  catalogue.panel("ADSC_Q270", {"Quantum 270"}, {4168, 4168}, 64.8e-6);
  catalogue.also_reads_out(51e-6, {4168, 4168});
  catalogue.also_reads_out(102e-6, {2084, 2084});
  catalogue.panel("ADSC_Q4", {"Quantum 4"}, {2304, 2304}, 82e-6);
  catalogue.also_reads_out(51e-6, {2304, 2304});
  catalogue.also_reads_out(102e-6, {1152, 1152});
  catalogue.panel("HF_130K", {"HF-130k"}, {256, 512}, 150e-6);
  catalogue.panel("HF_262k", {"HF-262k"}, {512, 512}, 150e-6);
  catalogue.panel("HF_1M", {"HF-1M"}, {1024, 1024}, 150e-6);
  catalogue.panel("HF_2M", {"HF-2.4M"}, {1536, 1536}, 150e-6);
  catalogue.panel("HF_4M", {"HF-4M"}, {2048, 2048}, 150e-6);
  catalogue.panel("HF_9M", {"HF-9.4M"}, {3072, 3072}, 150e-6);

  catalogue.panel("Perkin", {"Perkin detector", "Perkin Elmer"}, {4096, 4096}, 100e-6, 2);
  catalogue.panel("Pixium", {"Pixium 4700", "Pixium 4700 detector", "Thales Electronics"}, {1910, 2480},
                  154e-6, 2);
  // The chip is 62 mm wide: 1024 pixels of 60 um, or 512 of 120 um, as pyFAI had it before 2025.12.
  catalogue.panel("Apex2", {"ApexII", "Bruker"}, {1024, 1024}, 120e-6);
  catalogue.also_reads_out(60e-6, {1024, 1024});
  catalogue.also_reads_out(120e-6, {512, 512});
  catalogue.also_reads_out(240e-6, {256, 256});
  catalogue.panel("Dexela2923", {"Dexela 2923"}, {3888, 3072}, 75e-6);
  catalogue.panel("Fairchild", {"Fairchild", "Condor", "Fairchild Condor 486:90"}, {4096, 4096}, 15e-6);
  catalogue.panel("Titan", {"Titan 2k x 2k", "OXD Titan", "Agilent Titan"}, {2048, 2048}, 60e-6);
  // Without a spline file its taper counts as undistorted.
  catalogue.panel("FReLoN", {}, {2048, 2048}, 50e-6);
  catalogue.panel("Basler", {"aca1300"}, {966, 1296}, 3.75e-6);
  catalogue.panel("RaspberryPi5M", {"Picam v1"}, {1944, 2592}, 1.4e-6);
  catalogue.panel("RaspberryPi8M", {"Picam v2"}, {2464, 3280}, 1.12e-6);
  catalogue.panel("RaspberryPi12M", {"Picam HQ"}, {3040, 4056}, 1.55e-6);

  CatalogueEntry mythen;
  mythen.detector = {"Mythen", {"Mythen 1280"}, {1, 1280}, 8e-3, 50e-6, {}, false, false};
  mythen.readouts = {{8e-3, 50e-6, {1, 1280}}};
  catalogue.add(std::move(mythen));
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue_entries() {
  static const std::vector<CatalogueEntry> entries = [] {
    Catalogue catalogue;
    add_pilatus(catalogue);
    add_pilatus4(catalogue);
    add_eiger(catalogue);
    add_other_modular(catalogue);
    add_rayonix(catalogue);
    add_panels(catalogue);
    return catalogue.take();
  }();
  return entries;
}

const std::vector<Detector>& detector_catalogue() {
  static const std::vector<Detector> detectors = [] {
    std::vector<Detector> list;
    for (const CatalogueEntry& entry : catalogue_entries()) list.push_back(entry.detector);
    return list;
  }();
  return detectors;
}

}  // namespace annulus
