// Where the values of a column are, as users write it: "x=motors.csv#x", "I0=scan.h5::/1.1/measurement/I0",
// "phi=header:Phi".
#pragma once

#include <annulus/core/frame.hpp>

#include <string>

namespace annulus {

enum class ColumnPlace { kTable, kDataset, kHeader };

struct ColumnSpec {
  ColumnInfo column;  // without a unit yet
  ColumnPlace place = ColumnPlace::kTable;
  std::string file;  // of kTable and kDataset
  std::string key;   // name or number of the table's column, path of the dataset, key of the header

  bool operator==(const ColumnSpec&) const = default;
};

// `text` is "NAME=SOURCE". Throws kUsage, with `option` as the place.
ColumnSpec parse_column(const std::string& text, const std::string& option);

// `text` is SOURCE alone; the column is called `name`.
ColumnSpec parse_column_source(const std::string& name, const std::string& text, const std::string& option);

// Whether `text` is NAME=SOURCE, SOURCE, or neither: then it can only be the name of a column.
bool names_a_source(const std::string& text);

// As NeXus names fields: letters, digits and underscores, with dots in between.
bool is_column_name(const std::string& name);

}  // namespace annulus
