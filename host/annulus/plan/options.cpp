#include <annulus/plan/options.hpp>

namespace annulus {

std::string_view name_of(Splitting splitting) {
  switch (splitting) {
    case Splitting::kNo:
      return "no";
    case Splitting::kBoundingBox:
      return "bbox";
    case Splitting::kFull:
      break;
  }
  return "full";
}

}  // namespace annulus
