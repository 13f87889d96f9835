#include <annulus/plan/csr_view.hpp>

#include <cmath>
#include <numeric>

namespace annulus {

CsrView csr_by_bin(const Plan& plan) {
  const SparseMatrix& matrix = plan.matrix;
  CsrView view;
  view.indptr.assign(plan.bins() + std::size_t{1}, 0);
  for (const std::uint32_t bin : matrix.bin) ++view.indptr[bin + 1];
  std::partial_sum(view.indptr.begin(), view.indptr.end(), view.indptr.begin());

  view.indices.resize(matrix.bin.size());
  view.data.resize(matrix.bin.size());
  std::vector<std::int64_t> next(view.indptr.begin(), view.indptr.end() - 1);
  const double unit = std::ldexp(1.0, -plan.weight_bits);
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      const auto place = static_cast<std::size_t>(next[matrix.bin[entry]]++);
      view.indices[place] = static_cast<std::int32_t>(pixel);
      view.data[place] = matrix.weight[entry] * unit;
    }
  }
  return view;
}

}  // namespace annulus
