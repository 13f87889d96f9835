#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/phantom_scan.hpp>
#include <tools/simulate/portable_math.hpp>

#include <span>

namespace annulus {
namespace {

struct Row {
  double energy;       // keV
  double attenuation;  // per millimetre of the solid
};

// Mass attenuation coefficients (photoelectric absorption, coherent and incoherent scattering) of Elam, Ravel
// and Sieber, Radiat. Phys. Chem. 63 (2002), times the density of the crystal. An edge has two rows.
constexpr Row kGoldRows[] = {
    {8, 400.3},      {10, 228.2},     {11.919, 146.6}, {11.919, 361.1}, {12, 354.9}, {13.734, 248.0},
    {13.734, 340.7}, {14.353, 307.0}, {14.353, 353.4}, {15, 316.3},     {18, 198.9}, {20, 152.3},
    {25, 85.22},     {30, 53.18},     {35, 35.51},     {40, 25.08},     {50, 14.02}, {60, 8.75},
    {80, 4.222},     {80.725, 4.128}, {80.725, 17.2},  {100, 9.965}};
constexpr Row kLaB6Rows[] = {{8, 113.7},  {10, 63.37},    {12, 39.08},    {15, 21.69},
                             {18, 13.32}, {20, 10.06},    {25, 5.53},     {30, 3.411},
                             {35, 2.269}, {38.925, 1.72}, {38.925, 8.93}, {40, 8.307},
                             {50, 4.673}, {60, 2.901},    {80, 1.363},    {100, 0.7644}};
constexpr Row kCeO2Rows[] = {{8, 220.8},  {10, 123.1}, {12, 75.97},     {15, 42.19},
                             {18, 25.91}, {20, 19.57}, {25, 10.75},     {30, 6.623},
                             {35, 4.395}, {40, 3.097}, {40.443, 3.011}, {40.443, 15.5},
                             {50, 8.959}, {60, 5.575}, {80, 2.612},     {100, 1.457}};
constexpr Row kSiliconRows[] = {{8, 15.07},   {10, 7.891},   {12, 4.632},   {15, 2.407},   {18, 1.412},
                                {20, 1.04},   {25, 0.5506},  {30, 0.3346},  {35, 0.2248},  {40, 0.1633},
                                {50, 0.1021}, {60, 0.07468}, {80, 0.05189}, {100, 0.04275}};
constexpr Row kAluminaRows[] = {{8, 12.8},    {10, 6.649},   {12, 3.888},   {15, 2.023},   {18, 1.196},
                                {20, 0.8887}, {25, 0.4862},  {30, 0.309},   {35, 0.2191},  {40, 0.1685},
                                {50, 0.1177}, {60, 0.09442}, {80, 0.07408}, {100, 0.06508}};

std::span<const Row> table_of(Calibrant calibrant) {
  switch (calibrant) {
    case Calibrant::kGold:
      return kGoldRows;
    case Calibrant::kLaB6:
      return kLaB6Rows;
    case Calibrant::kCeO2:
      return kCeO2Rows;
    case Calibrant::kSilicon:
      return kSiliconRows;
    case Calibrant::kAlumina:
      break;
  }
  return kAluminaRows;
}

}  // namespace

double attenuation_of(Calibrant calibrant, double energy_kev) {
  const std::span<const Row> rows = table_of(calibrant);
  if (!(energy_kev >= rows.front().energy && energy_kev <= rows.back().energy)) {
    throw Error(
        ErrorKind::kUsage, "`absorption`",
        fmt::format("the attenuation of {} at {:.4g} keV is not known", name_of(calibrant), energy_kev),
        fmt::format("choose an `energy` between {} and {} keV", rows.front().energy, rows.back().energy));
  }
  std::size_t next = 1;
  while (energy_kev > rows[next].energy) ++next;
  const Row& low = rows[next - 1];
  const Row& high = rows[next];
  // A straight line between logarithms: nearly a power law between two edges.
  const double share = portable::log(energy_kev / low.energy) / portable::log(high.energy / low.energy);
  return low.attenuation * portable::exp(share * portable::log(high.attenuation / low.attenuation));
}

}  // namespace annulus
