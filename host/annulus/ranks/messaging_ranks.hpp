// Ranks that talk through messages.
//
// Every rank has one thread that receives what others send. It looks now and then and sleeps between, as
// waiting inside MPI would use a core that the work needs. The thread of the first rank deals frames and
// knows who has come to a meeting point.
#pragma once

#include <annulus/ranks/messenger.hpp>
#include <annulus/ranks/ranks.hpp>

#include <memory>

namespace annulus {

std::shared_ptr<Ranks> make_messaging_ranks(std::unique_ptr<Messenger> messenger);

}  // namespace annulus
