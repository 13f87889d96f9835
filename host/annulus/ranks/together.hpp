// What all ranks do at the same time, and fail at together: where one cannot go on, nobody does.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/ranks/ranks.hpp>

#include <functional>

namespace annulus {

// All ranks throw the same one: it is enough that the first says it.
class FailedTogether : public Error {
 public:
  explicit FailedTogether(Error error) : Error(std::move(error)) {}
};

// Calls `work` in every rank, and returns when all have. Throws FailedTogether in all if it threw an Error in
// any: that of the lowest rank.
void together(Ranks& ranks, const std::function<void()>& work, const Ranks::Meanwhile& meanwhile = {});

}  // namespace annulus
