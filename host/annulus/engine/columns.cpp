#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/engine/columns.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace annulus {
namespace {

constexpr const char* kMonitorName = "monitor";  // of a source without a name
constexpr const char* kColumnOption = "`column`";
constexpr const char* kMonitorOption = "`monitor`";

bool has_column(const std::vector<ColumnSpec>& columns, const std::string& name) {
  return std::ranges::any_of(columns, [&](const ColumnSpec& spec) { return spec.column.name == name; });
}

void add_column(std::vector<ColumnSpec>& columns, ColumnSpec spec, const char* option) {
  if (has_column(columns, spec.column.name)) {
    throw Error(ErrorKind::kUsage, option, fmt::format("two columns are called {}", spec.column.name),
                "give every column a name of its own");
  }
  columns.push_back(std::move(spec));
}

// "measurement/I0" of "/2.1/measurement/I0".
std::string path_in_entry(const std::string& path) {
  const std::size_t begin = path.find_first_not_of('/');
  const std::size_t slash = path.find('/', begin == std::string::npos ? 0 : begin);
  const std::size_t rest = slash == std::string::npos ? slash : path.find_first_not_of('/', slash);
  return rest == std::string::npos ? path : path.substr(rest);
}

std::optional<IntegrateConfig> read_configuration(const std::string& json) {
  try {
    IntegrateConfig config;
    apply_json(json, "configuration", config);
    return config;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

WantedColumns parse_columns(const std::vector<std::string>& columns, const std::string& monitor) {
  WantedColumns wanted;
  for (const std::string& text : columns)
    add_column(wanted.columns, parse_column(text, kColumnOption), kColumnOption);
  if (monitor.empty()) return wanted;
  if (has_column(wanted.columns, monitor) || !names_a_source(monitor)) {
    wanted.monitor = monitor;
    return wanted;
  }
  const bool is_named = is_column_name(monitor.substr(0, monitor.find('=')));
  ColumnSpec spec = is_named ? parse_column(monitor, kMonitorOption)
                             : parse_column_source(kMonitorName, monitor, kMonitorOption);
  wanted.monitor = spec.column.name;
  add_column(wanted.columns, std::move(spec), kMonitorOption);
  return wanted;
}

std::string monitor_of(const IntegrateConfig& config) {
  const WantedColumns wanted = parse_columns(config.columns, config.monitor);
  for (const ColumnSpec& spec : wanted.columns) {
    if (spec.column.name != wanted.monitor) continue;
    return spec.place == ColumnPlace::kDataset ? path_in_entry(spec.key) : spec.key;
  }
  return wanted.monitor;
}

std::string difference_of_division(const std::string& config_json, const std::string& other_json) {
  const auto one = read_configuration(config_json), other = read_configuration(other_json);
  if (!one || !other) return {};
  const std::string monitor = monitor_of(*one), other_monitor = monitor_of(*other);
  if (monitor != other_monitor) {
    return fmt::format("their monitors: {} and {}", monitor.empty() ? "none" : monitor,
                       other_monitor.empty() ? "none" : other_monitor);
  }
  // Runs may have factors of their own, but parts of one scan are one run.
  const bool are_parts = !one->part.empty() && !other->part.empty();
  if (are_parts && one->normalization_factor != other->normalization_factor) {
    return fmt::format("their `normalization_factor`: {} and {}", one->normalization_factor,
                       other->normalization_factor);
  }
  return {};
}

std::vector<HeaderColumn> header_columns(const WantedColumns& wanted) {
  std::vector<HeaderColumn> headers;
  for (const ColumnSpec& spec : wanted.columns) {
    if (spec.place == ColumnPlace::kHeader) headers.push_back({spec.column, spec.key});
  }
  return headers;
}

ColumnSettings table_columns(const WantedColumns& wanted, const IntegrateConfig& config) {
  ColumnSettings settings;
  for (const ColumnSpec& spec : wanted.columns) {
    if (spec.place != ColumnPlace::kHeader) settings.columns.push_back(spec);
  }
  settings.allow_links = config.allow_links;
  if (config.follow) settings.follow = config.follow_timeout;
  settings.rows_must_exist = !config.keep_going;
  return settings;
}

std::size_t find_monitor(const std::string& monitor, const std::vector<ColumnInfo>& columns) {
  const auto found = std::ranges::find(columns, monitor, &ColumnInfo::name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  std::vector<std::string> names;
  for (const ColumnInfo& column : columns) names.push_back(column.name);
  throw Error(ErrorKind::kUsage, kMonitorOption, fmt::format("there is no column {}", in_quotes(monitor)),
              fmt::format("{}; or write where its values are, for example I0=scan.csv#I0",
                          names.empty() ? "there are no columns"
                                        : fmt::format("there are: {}", fmt::join(names, ", "))));
}

FrameFactor frame_factor(double shared, const std::string& monitor, double measured) {
  const double factor = shared * measured;
  if (std::isnormal(factor) && factor > 0) return {factor, {}};
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(measured))
    return {nothing, fmt::format("the monitor {} has no value for this frame", monitor)};
  return {nothing, fmt::format("the monitor {} is {}, by which nothing can be divided", monitor, measured)};
}

}  // namespace annulus
