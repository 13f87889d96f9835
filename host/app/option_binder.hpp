// Turns the library's table of options into CLI11 options.
#pragma once

#include <annulus/core/text_file.hpp>
#include <annulus/engine/config.hpp>
#include <annulus/engine/enum_names.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace annulus::app {

template <typename Enum>
CLI::Option* bind_enum(CLI::App& command, const OptionInfo& info, Enum& field) {
  return command
      .add_option_function<std::string>(
          info.flags, [&field](const std::string& name) { field = *enum_from_name<Enum>(name); }, info.help)
      ->check([](const std::string& name) {
        return enum_from_name<Enum>(name) ? std::string()
                                          : "'" + name + "' is not one of " + enum_choices<Enum>();
      })
      ->default_str(std::string(name_of(field)));
}

inline CLI::Option* bind_range(CLI::App& command, const OptionInfo& info, std::optional<Range>& field) {
  return command
      .add_option_function<std::vector<double>>(
          info.flags,
          [&field](const std::vector<double>& ends) {
            field = Range{ends[0], ends[1]};
          },
          info.help)
      ->expected(2)
      ->allow_extra_args(false);
}

// Binds one field, whatever its type; what the user does not name keeps its value.
struct OptionBinder {
  CLI::App& command;

  void operator()(const OptionInfo& info, Unit& field) const { group(info, bind_enum(command, info, field)); }
  void operator()(const OptionInfo& info, Splitting& field) const {
    group(info, bind_enum(command, info, field));
  }
  void operator()(const OptionInfo& info, ErrorModel& field) const {
    group(info, bind_enum(command, info, field));
  }
  void operator()(const OptionInfo& info, OutputFormat& field) const {
    group(info, bind_enum(command, info, field));
  }
  void operator()(const OptionInfo& info, std::optional<Range>& field) const {
    group(info, bind_range(command, info, field));
  }
  void operator()(const OptionInfo& info, bool& field) const {
    group(info, command.add_flag(info.flags, field, info.help));
  }
  void operator()(const OptionInfo& info, std::vector<std::uint32_t>& field) const {
    group(info, command.add_option(info.flags, field, info.help)->expected(2)->allow_extra_args(false));
  }
  void operator()(const OptionInfo& info, std::vector<std::string>& field) const {
    group(info, command.add_option(info.flags, field, info.help));
  }
  void operator()(const OptionInfo& info, std::string& field) const {
    // An empty name is a shell variable that was never set: to go on without that file would be a wrong
    // result.
    group(info, command.add_option(info.flags, field, info.help)
                    ->capture_default_str()
                    ->check([](const std::string& s) {
                      return s.empty() ? std::string("it is empty") : std::string();
                    }));
  }
  template <typename Number>
  void operator()(const OptionInfo& info, std::optional<Number>& field) const {
    group(info, command.add_option(info.flags, field, info.help));
  }
  template <typename Number>
  void operator()(const OptionInfo& info, Number& field) const {
    group(info, command.add_option(info.flags, field, info.help)->capture_default_str());
  }

  void group(const OptionInfo& info, CLI::Option* option) const {
    if (std::string(info.flags).starts_with('-')) option->group(info.group);
  }
};

// Only what says which files to read and how, for commands that do not integrate.
inline void bind_inputs(CLI::App& command, IntegrateConfig& config) {
  for_each_option(config, [&](const OptionInfo& info, auto& field) {
    const std::string_view key = info.key;
    if (key == "inputs" || key.starts_with("raw_")) OptionBinder{command}(info, field);
  });
}

// Only what makes the plan, for commands that run frames but write no patterns.
inline void bind_plan(CLI::App& command, IntegrateConfig& config) {
  for_each_option(config, [&](const OptionInfo& info, auto& field) {
    const std::string_view group = info.group;
    if (group == "Input" || group == "Pattern" || group == "Corrections") OptionBinder{command}(info, field);
  });
}

inline void bind_config_file(CLI::App& command, std::string& file) {
  command.add_option("--config", file, "JSON with any of these options; the command line wins");
}

// The command line wins over the file: the file sets the defaults, then the options that were given are
// applied once more.
inline void apply_config_file(CLI::App& command, const std::string& file, IntegrateConfig& config) {
  if (file.empty()) return;
  config = IntegrateConfig();
  apply_json(read_text_file(file, ErrorKind::kUsage), file, config);
  for (CLI::Option* const option : command.get_options()) {
    if (option->count() > 0) option->run_callback();
  }
}

}  // namespace annulus::app
