#include "option_binder.hpp"

#include <annulus/core/read_file.hpp>
#include <annulus/engine/enum_names.hpp>

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "option_names.hpp"

namespace annulus::app {
namespace {

constexpr std::string_view kInputs = "inputs";  // arguments without a flag

constexpr auto kLetters = std::to_array<std::pair<std::string_view, char>>({{"poni", 'p'},
                                                                            {"mask", 'm'},
                                                                            {"dark", 'd'},
                                                                            {"flat", 'f'},
                                                                            {"npt", 'n'},
                                                                            {"unit", 'u'},
                                                                            {"polarization", 'P'},
                                                                            {"output", 'o'}});

char letter_of(std::string_view key) {
  for (const auto& [name, letter] : kLetters) {
    if (name == key) return letter;
  }
  return 0;
}

template <typename Enum>
Option bind_enum(Command& command, const OptionInfo& info, Enum& field) {
  const auto take = [&field](const std::string& name) { field = *enum_from_name<Enum>(name); };
  const std::string shown(name_of(field));
  return command.add_text(info.key, take, in_our_words(info.help), shown, letter_of(info.key))
      .check([](const std::string& name) {
        return enum_from_name<Enum>(name) ? std::string()
                                          : "'" + name + "' is not one of " + enum_choices<Enum>();
      });
}

std::string fault_of_empty(const std::string& argument) {
  // An empty name is a shell variable that was never set: to go on without that file would be a wrong result.
  return argument.empty() ? "it is empty" : "";
}

// Binds one field, whatever its type.
template <typename T>
void bind(Command& command, const OptionInfo& info, T& field) {
  if constexpr (std::is_enum_v<T>) {
    bind_enum(command, info, field).group(info.group);
  } else {
    Option option = command.add(info.key, &field, in_our_words(info.help), letter_of(info.key));
    option.group(info.group);
    if constexpr (std::is_same_v<T, std::string>) option.check(fault_of_empty);
    if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) option.exactly(2);
    if constexpr (std::is_same_v<T, std::vector<std::string>>) option.one_at_a_time().check(fault_of_empty);
  }
}

}  // namespace

void bind_options(Command& command, IntegrateConfig& config,
                  const std::function<bool(const OptionInfo&)>& wanted) {
  // First, as the help of one option may name another.
  for_each_option(config, [](const OptionInfo& info, const auto&) {
    know_name(info.key, info.key == kInputs ? info.key : flag_of(info.key));
  });
  for_each_option(config, [&](const OptionInfo& info, auto& field) {
    if (wanted(info) && info.key != kInputs) bind(command, info, field);
    if constexpr (std::is_same_v<decltype(field), std::vector<std::string>&>) {
      if (wanted(info) && info.key == kInputs)
        command.add_positional(info.key, &field, in_our_words(info.help));
    }
  });
}

bool any_option(const OptionInfo&) { return true; }

bool is_of_inputs(const OptionInfo& info) {
  const std::string_view key = info.key;
  return key == kInputs || key == "allow_links" || key.starts_with("raw_");
}

bool is_of_plan(const OptionInfo& info) {
  const std::string_view group = info.group;
  return group == "Input" || group == "Pattern" || group == "Corrections";
}

void bind_config_file(Command& command, std::string& file) {
  command.add("config", &file, "JSON with any of these options; the command line wins");
}

void apply_config_file(const Command& command, const std::string& file, IntegrateConfig& config) {
  if (file.empty()) return;
  config = IntegrateConfig();
  apply_json(read_text_file(file, ErrorKind::kUsage), file, config);
  command.apply_again();
}

}  // namespace annulus::app
