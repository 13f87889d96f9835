// The backends that this build knows, by name.
#pragma once

#include <annulus/backends/common/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace annulus {

// Known names with a line on what each is and whether it can run here.
std::vector<BackendDescription> describe_backends();

// Throws kBackend with the names there are.
std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options = {});

}  // namespace annulus
