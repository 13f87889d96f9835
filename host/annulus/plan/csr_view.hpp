// The plan's matrix as SciPy and pyFAI keep it: rows are bins, columns are pixels.
#pragma once

#include <annulus/plan/plan.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// scipy.sparse.csr_matrix((data, indices, indptr), shape=(bins, pixels)); data are shares, exact in double.
struct CsrView {
  std::vector<std::int64_t> indptr;   // bins + 1
  std::vector<std::int32_t> indices;  // pixel, ascending within a bin
  std::vector<double> data;
};

CsrView csr_by_bin(const Plan& plan);

}  // namespace annulus
