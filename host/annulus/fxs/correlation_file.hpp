// NeXus files of correlations, written whole (docs/correlation.md).
#pragma once

#include <annulus/fxs/correlation.hpp>
#include <annulus/outputs/whole_file.hpp>

#include <filesystem>
#include <optional>

namespace annulus {

// The file appears under its name complete, or not at all. One that is there is replaced only if `overwrite`
// is set and it is such a file, and if `known` is given, only if it is still that one. Legendre coefficients
// are made of finished correlations only: they take long. Throws kOutput, and kUsage for a choice of
// coefficients that the angles do not determine.
void write_correlation(const std::filesystem::path& path, const CorrelationRecord& record,
                       const CorrelationSums& sums, bool overwrite, unsigned threads = 0,
                       const std::optional<FileStamp>& known = {});

// The same of a preview, which is marked as one: nobody adds to it.
void write_correlation(const std::filesystem::path& path, const CorrelationRecord& record,
                       const PreviewSums& sums, bool overwrite, unsigned threads = 0,
                       const std::optional<FileStamp>& known = {});

// What write_correlation() would refuse for its name, before there is anything to write. Whether there is one
// already.
bool check_correlation_place(const std::filesystem::path& path, bool overwrite);

// The same for one that is there, and that a run which takes long replaces only at its end: nobody else may
// have it open.
void check_correlation_is_free(const std::filesystem::path& path);

}  // namespace annulus
