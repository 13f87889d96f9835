#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>

#include <fmt/core.h>
#include <tools/simulate/phantom.hpp>
#include <tools/simulate/poisson.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

constexpr std::uint64_t kRandomPhantomStream = ~std::uint64_t{0} - 2;  // beside the frames' numbers
constexpr auto kAu = Calibrant::kGold;
constexpr auto kLaB6 = Calibrant::kLaB6;
constexpr auto kCeO2 = Calibrant::kCeO2;

// A handful of grains that do not touch.
std::vector<Disc> random_discs(std::uint64_t seed) {
  constexpr int kDiscs = 12;
  constexpr int kTries = 2000;
  CounterRandom random(CounterRandom::key(seed, kRandomPhantomStream), 0);
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(); };
  std::vector<Disc> discs;
  for (int attempt = 0; attempt < kTries && discs.size() < kDiscs; ++attempt) {
    Disc disc;
    disc.phase = std::array{kAu, kLaB6, kCeO2}[discs.size() % 3];
    disc.radius = between(0.08, 0.24);
    disc.x = between(-0.9, 0.9);
    disc.y = between(-0.9, 0.9);
    disc.density = between(0.3, 0.7);
    const auto apart = [&](const Disc& other) {
      const double dx = disc.x - other.x;
      const double dy = disc.y - other.y;
      return std::sqrt(dx * dx + dy * dy) > disc.radius + other.radius + 0.03;
    };
    const bool inside = std::sqrt(disc.x * disc.x + disc.y * disc.y) + disc.radius < 0.95;
    if (inside && std::ranges::all_of(discs, apart)) discs.push_back(disc);
  }
  return discs;
}

std::vector<Disc> separate_discs(std::uint64_t) {
  return {{kAu, -0.42, -0.28, 0.26, 0.4}, {kLaB6, 0.45, -0.18, 0.32, 0.6}, {kCeO2, -0.02, 0.48, 0.36, 0.5}};
}

// Grains and a hole in a weak matrix.
std::vector<Disc> inclusions(std::uint64_t) {
  return {{kCeO2, 0.02, -0.03, 0.88, 0.15},   {kLaB6, -0.35, 0.3, 0.3, 0.6}, {kAu, 0.4, 0.35, 0.18, 0.4},
          {kAu, -0.1, -0.5, 0.12, 0.4},       {kLaB6, 0.5, -0.2, 0.14, 0.6}, {kCeO2, 0.1, 0.02, 0.12, 0.6},
          {std::nullopt, -0.45, -0.3, 0.2, 0}};
}

// A tube with two grains in it.
std::vector<Disc> capillary(std::uint64_t) {
  return {{kCeO2, 0, 0, 0.85, 0.5},
          {std::nullopt, 0, 0, 0.68, 0},
          {kLaB6, 0.2, 0.15, 0.35, 0.6},
          {kAu, -0.35, -0.25, 0.15, 0.4}};
}

std::vector<Disc> no_discs(std::uint64_t) { return {}; }

constexpr std::array kPhantoms = {std::pair{std::string_view("discs"), &separate_discs},
                                  std::pair{std::string_view("inclusions"), &inclusions},
                                  std::pair{std::string_view("capillary"), &capillary},
                                  std::pair{std::string_view("random"), &random_discs},
                                  std::pair{std::string_view("empty"), &no_discs}};

// (1 - exp(-x)) / x, which loses its digits for small x if it is taken as it stands.
double mean_transmission(double x) {
  if (x < 1e-4) return 1 - x / 2 + x * x / 6;
  return (1 - portable::exp(-x)) / x;
}

std::string text_of(const Disc& disc) {
  return fmt::format("{},{:g},{:g},{:g},{:g}", disc.phase ? name_of(*disc.phase) : "hole", disc.x, disc.y,
                     disc.radius, disc.density);
}

}  // namespace

std::vector<Disc> discs_of_phantom(std::string_view name, std::uint64_t seed) {
  for (const auto& [known, discs] : kPhantoms) {
    if (known == name) return discs(seed);
  }
  throw Error(ErrorKind::kUsage, "`phantom`", fmt::format("'{}' is not known", name),
              "there are " + known_phantoms());
}

std::string known_phantoms() {
  std::string names;
  for (const auto& [name, discs] : kPhantoms) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

Disc disc_from_text(const std::string& text) {
  const auto refuse = [&](const std::string& fault) {
    return Error(
        ErrorKind::kUsage, fmt::format("`disc` '{}'", text), fault,
        "give phase,x,y,radius or phase,x,y,radius,density, for example Au,0.3,-0.2,0.25,0.5; lengths "
        "are in halves of the field of view");
  };
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() != 4 && parts.size() != 5)
    throw refuse(fmt::format("it has {} parts, not 4 or 5", parts.size()));
  const auto number = [&](std::size_t part) {
    const std::string& digits = parts[part];
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
      throw refuse(fmt::format("'{}' is no number", digits));
    return value;
  };
  Disc disc;
  const bool hole = parts[0] == "hole";
  if (!hole) {
    disc.phase = calibrant_from_name(parts[0]);
    if (!disc.phase)
      throw refuse(
          fmt::format("the phase '{}' is not known: there are {}, and hole", parts[0], known_calibrants()));
  }
  disc.x = number(1);
  disc.y = number(2);
  disc.radius = number(3);
  if (hole && parts.size() == 5) throw refuse("a hole has no density");
  disc.density = hole ? 0 : parts.size() == 5 ? number(4) : 1;
  return disc;
}

Phantom::Phantom(const std::vector<Disc>& discs, double field) : discs_(discs) {
  for (Disc& disc : discs_) {
    // Written so that NaN fails.
    const auto refuse = [&](const char* fault, const char* cure) {
      return Error(ErrorKind::kUsage, fmt::format("`disc` {}", text_of(disc)), fault, cure);
    };
    if (!(disc.radius > 0)) throw refuse("its radius is not above 0", "give a radius above 0");
    if (disc.phase && !(disc.density > 0 && disc.density <= 1))
      throw refuse("its density is not above 0 and up to 1",
                   "it is the share of the volume that the phase fills");
    const double reach = std::sqrt(disc.x * disc.x + disc.y * disc.y) + disc.radius;
    if (!(reach <= 1 + 1e-12))
      throw refuse("it leaves the field of view when the sample turns",
                   "keep the distance from the axis and the radius together at 1 or below");
    const double half = field / 2;
    disc.x *= half;
    disc.y *= half;
    disc.radius *= half;
    std::size_t place = phases_.size();
    if (disc.phase) {
      place = static_cast<std::size_t>(std::ranges::find(phases_, *disc.phase) - phases_.begin());
      if (place == phases_.size()) phases_.push_back(*disc.phase);
    }
    places_.push_back(place);
  }
  if (phases_.empty()) {
    throw Error(ErrorKind::kUsage, "`phantom`", "it has no disc of a powder", "add one with `disc`");
  }
}

std::vector<Phantom::Stretch> Phantom::stretches(double offset, portable::SinCos angle) const {
  std::vector<Stretch> inside;  // of each disc that the beam meets, in the order of the discs
  std::vector<double> cuts;
  for (std::size_t i = 0; i < discs_.size(); ++i) {
    const Disc& disc = discs_[i];
    const double distance = offset - (disc.x * angle.cos - disc.y * angle.sin);
    const double square = disc.radius * disc.radius - distance * distance;
    if (!(square > 0)) continue;
    const double middle = disc.x * angle.sin + disc.y * angle.cos;
    const double half = std::sqrt(square);
    inside.push_back({middle - half, middle + half, i});
    cuts.push_back(middle - half);
    cuts.push_back(middle + half);
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Stretch> result;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const double begin = cuts[i - 1];
    const double end = cuts[i];
    const auto covers = [&](const Stretch& stretch) { return stretch.begin <= begin && stretch.end >= end; };
    const auto top = std::find_if(inside.rbegin(), inside.rend(), covers);
    if (end > begin && top != inside.rend() && discs_[top->disc].phase)
      result.push_back({begin, end, top->disc});
  }
  return result;
}

Phantom::Paths Phantom::paths(double offset, portable::SinCos angle,
                              const std::vector<double>& attenuation) const {
  Paths paths;
  paths.scattering.resize(phases_.size());
  double depth = 0;  // how often the beam has fallen to 1 / e
  for (const Stretch& stretch : stretches(offset, angle)) {
    const std::size_t phase = places_[stretch.disc];
    const double path = discs_[stretch.disc].density * (stretch.end - stretch.begin);
    if (attenuation.empty()) {
      paths.scattering[phase] += path;
      continue;
    }
    const double fall = attenuation[phase] * path;
    paths.scattering[phase] += path * portable::exp(-depth) * mean_transmission(fall);
    depth += fall;
  }
  paths.transmission = portable::exp(-depth);
  return paths;
}

Phantom::Maps Phantom::maps(std::uint32_t voxels, double voxel_size, unsigned threads) const {
  const std::size_t plane = std::size_t{voxels} * voxels;
  Maps maps{std::vector<double>(phases_.size() * plane), std::vector<double>(phases_.size() * plane)};
  const double edge = -0.5 * voxels * voxel_size;
  constexpr portable::SinCos kAlongX{1, 0};
  parallel_ranges(voxels, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (int strip = 0; strip < kRowsPerVoxel; ++strip) {
        const double y = edge + (static_cast<double>(row) + (strip + 0.5) / kRowsPerVoxel) * voxel_size;
        for (const Stretch& stretch : stretches(-y, kAlongX)) {
          const double first = (stretch.begin - edge) / voxel_size;
          const double last = (stretch.end - edge) / voxel_size;
          for (auto col = static_cast<std::size_t>(std::max(first, 0.0)); col < voxels; ++col) {
            const double low = std::max(first, static_cast<double>(col));
            const double high = std::min(last, static_cast<double>(col) + 1);
            if (high <= low) break;
            const std::size_t voxel = places_[stretch.disc] * plane + row * voxels + col;
            maps.fraction[voxel] += (high - low) / kRowsPerVoxel;
            maps.density[voxel] += discs_[stretch.disc].density * (high - low) / kRowsPerVoxel;
          }
        }
      }
    }
  });
  return maps;
}

}  // namespace annulus
