// The parts of an output file that are written once, before the first frame.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/sink.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// Fills a new file: everything that NXazint1d asks for, the plan's totals and empty datasets for the frames.
// `name` is the one it will have.
void write_structure(hid_t file, const std::string& name, const Job& job, const RunDescription& run);

// The same with what another output holds, run.made_from, and nothing of its rows. Sums have the words of the
// job.
void copy_structure(hid_t file, const std::string& name, const Job& job, const RunDescription& run);

// The same, but `make_rows` creates the datasets with a row per frame, those of columns and checksums too,
// after the models that the other output has. It copies no attributes.
using MakeRows = std::function<void(const std::string& path, hid_t model)>;
void copy_structure(hid_t file, const std::string& name, const RunDescription& run,
                    const MakeRows& make_rows);

// Parts of both. The end time is overwritten at each flush, which SWMR allows for a field of fixed size.
void write_root(hid_t file, std::string_view version, std::string_view now);
void write_end_time(hid_t file, std::string now);
void create_word_rows(hid_t file, const Job& job, std::uint64_t expected);  // those that are not there yet
void create_columns(hid_t file, const std::vector<ColumnInfo>& columns, std::uint64_t expected);

// Last: the checksum of what is stored once covers the names of all objects. `make_rows` creates the dataset
// of the frames' checksums.
void write_checksums(hid_t file, hid_t entry, const std::function<void()>& make_rows);
void write_checksums(hid_t file, hid_t entry, std::uint64_t expected);

}  // namespace annulus
