// All of the library. docs/library.md shows a complete program in ten lines.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/integrator.hpp>
#include <annulus/engine/probe_server.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/engine/run.hpp>
#include <annulus/geometry/detector.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/outputs/sink.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>
#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/frame_stream.hpp>
#include <annulus/sources/streams.hpp>
#include <annulus/version.hpp>
