#include <tools/simulate/calibrant.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace annulus {
namespace {

struct Atom {
  double electrons;
  double x, y, z;
};

// Cubic cells, and the hexagonal one of corundum (c != a).
struct Cell {
  double a;
  double c;
  bool hexagonal;
  std::vector<Atom> atoms;

  double inverse_square_spacing(int h, int k, int l) const {
    if (!hexagonal) return (double(h) * h + double(k) * k + double(l) * l) / (a * a);
    return 4.0 / 3.0 * (double(h) * h + double(h) * k + double(k) * k) / (a * a) + double(l) * l / (c * c);
  }
};

using Point = std::array<double, 3>;

std::vector<Atom> centred(double electrons, const std::vector<Point>& sites,
                          const std::vector<Point>& centring) {
  std::vector<Atom> atoms;
  for (const Point& site : sites) {
    for (const Point& shift : centring) {
      atoms.push_back({electrons, site[0] + shift[0], site[1] + shift[1], site[2] + shift[2]});
    }
  }
  return atoms;
}

std::vector<Atom> together(std::vector<Atom> atoms, const std::vector<Atom>& others) {
  atoms.insert(atoms.end(), others.begin(), others.end());
  return atoms;
}

Cell cell_of(Calibrant calibrant) {
  const std::vector<Point> primitive = {{0, 0, 0}};
  const std::vector<Point> face_centred = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
  switch (calibrant) {
    case Calibrant::kGold: {  // Maeland and Flanagan 1964
      constexpr double kA = 4.0782;
      return {kA, kA, false, centred(79, {{0, 0, 0}}, face_centred)};
    }
    case Calibrant::kLaB6: {  // SRM 660c
      constexpr double kA = 4.156826;
      constexpr double kB = 0.1993;  // boron octahedra around the centre of the cell
      const std::vector<Point> boron = {{kB, 0.5, 0.5},     {1 - kB, 0.5, 0.5}, {0.5, kB, 0.5},
                                        {0.5, 1 - kB, 0.5}, {0.5, 0.5, kB},     {0.5, 0.5, 1 - kB}};
      return {kA, kA, false, together(centred(57, {{0, 0, 0}}, primitive), centred(5, boron, primitive))};
    }
    case Calibrant::kCeO2: {  // SRM 674b
      constexpr double kA = 5.411651;
      const std::vector<Point> oxygen = {{0.25, 0.25, 0.25}, {0.75, 0.75, 0.75}};
      return {kA, kA, false,
              together(centred(58, {{0, 0, 0}}, face_centred), centred(8, oxygen, face_centred))};
    }
    case Calibrant::kSilicon: {  // SRM 640e
      constexpr double kA = 5.431179;
      return {kA, kA, false, centred(14, {{0, 0, 0}, {0.25, 0.25, 0.25}}, face_centred)};
    }
    case Calibrant::kAlumina:
      break;
  }
  // SRM 676a, corundum in hexagonal axes.
  constexpr double kAluminium = 0.35216;
  constexpr double kOxygen = 0.30624;
  const std::vector<Point> obverse = {{0, 0, 0}, {2.0 / 3, 1.0 / 3, 1.0 / 3}, {1.0 / 3, 2.0 / 3, 2.0 / 3}};
  const std::vector<Point> aluminium = {
      {0, 0, kAluminium}, {0, 0, 0.5 - kAluminium}, {0, 0, -kAluminium}, {0, 0, 0.5 + kAluminium}};
  const std::vector<Point> oxygen = {{kOxygen, 0, 0.25},  {0, kOxygen, 0.25},  {-kOxygen, -kOxygen, 0.25},
                                     {-kOxygen, 0, 0.75}, {0, -kOxygen, 0.75}, {kOxygen, kOxygen, 0.75}};
  return {4.759355, 12.99231, true, together(centred(13, aluminium, obverse), centred(8, oxygen, obverse))};
}

// |F|^2 with a scattering factor that falls with the angle as those of real atoms roughly do, and a
// temperature factor of B = 0.5 square angstrom.
double square_of_structure_factor(const Cell& cell, int h, int k, int l, double inverse_square_spacing) {
  double real = 0;
  double imaginary = 0;
  for (const Atom& atom : cell.atoms) {
    const auto [sine, cosine] = portable::sin_cos_turns(h * atom.x + k * atom.y + l * atom.z);
    real += atom.electrons * cosine;
    imaginary += atom.electrons * sine;
  }
  const double s_square = inverse_square_spacing / 4;  // (sin(theta) / lambda)^2
  const double falloff = portable::exp(-0.5 * s_square) / (1 + 1.8 * std::sqrt(s_square));
  return (real * real + imaginary * imaginary) * falloff * falloff;
}

constexpr std::array kNames = {std::pair{Calibrant::kGold, std::string_view("Au")},
                               std::pair{Calibrant::kLaB6, std::string_view("LaB6")},
                               std::pair{Calibrant::kCeO2, std::string_view("CeO2")},
                               std::pair{Calibrant::kSilicon, std::string_view("Si")},
                               std::pair{Calibrant::kAlumina, std::string_view("Al2O3")}};

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view name_of(Calibrant calibrant) {
  for (const auto& [known, name] : kNames) {
    if (known == calibrant) return name;
  }
  return "unknown";
}

std::optional<Calibrant> calibrant_from_name(std::string_view name) {
  for (const auto& [known, known_name] : kNames) {
    if (equal_but_for_case(known_name, name)) return known;
  }
  return std::nullopt;
}

std::string known_calibrants() {
  std::string names;
  for (const auto& [known, name] : kNames) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

std::vector<Reflection> reflections(Calibrant calibrant, double smallest_spacing) {
  const Cell cell = cell_of(calibrant);
  const double smallest = std::max(smallest_spacing, kSmallestSpacing);
  const double limit = 1 / (smallest * smallest);
  double electrons = 0;
  for (const Atom& atom : cell.atoms) electrons += atom.electrons;
  // Extinct reflections sum to rounding noise; the weakest real ones are many orders above this.
  const double extinct = 1e-12 * electrons * electrons;

  // In hexagonal axes h and k may exceed a / d by 2 / sqrt(3).
  const int h_max = static_cast<int>(cell.a / smallest * (cell.hexagonal ? 1.1548 : 1)) + 1;
  const int l_max = static_cast<int>(cell.c / smallest) + 1;
  struct Plane {
    double inverse_square;
    double strength;
  };
  std::vector<Plane> planes;
  for (int h = -h_max; h <= h_max; ++h) {
    for (int k = -h_max; k <= h_max; ++k) {
      for (int l = -l_max; l <= l_max; ++l) {
        const double inverse_square = cell.inverse_square_spacing(h, k, l);
        if (inverse_square == 0 || inverse_square > limit) continue;
        const double strength = square_of_structure_factor(cell, h, k, l, inverse_square);
        if (strength > extinct) planes.push_back({inverse_square, strength});
      }
    }
  }
  std::stable_sort(planes.begin(), planes.end(),
                   [](const Plane& a, const Plane& b) { return a.inverse_square < b.inverse_square; });

  std::vector<Reflection> result;
  double current = 0;
  for (const Plane& plane : planes) {
    if (result.empty() || plane.inverse_square > current * (1 + 1e-9)) {
      current = plane.inverse_square;
      result.push_back({1 / std::sqrt(current), 0, 0});
    }
    ++result.back().multiplicity;
    result.back().strength += plane.strength;
  }
  return result;
}

}  // namespace annulus
