// The plan's sparse matrix as an HDF5 file, for those who want to use it in Python.
#pragma once

#include <annulus/plan/plan.hpp>

#include <filesystem>

namespace annulus {

// Datasets indptr, indices, data, shape of scipy.sparse.csr_matrix (rows are bins), and the plan's integers:
// weight (data * 2^weight_bits), normalization and dark a pixel, axis. An existing file is replaced only if
// `overwrite` is set and it is such a matrix. Throws kOutput.
void write_matrix(const std::filesystem::path& path, const Plan& plan, bool overwrite);

}  // namespace annulus
