// A context that an object of this process uses for as long as it lives. Several may use one: both ends of a channel.
#pragma once
#include "engine/engine.hpp"

namespace hf::mpi {

struct OpenedContext {
  engine::Engine& engine;
  Context context;
  OpenedContext(engine::Engine& e, Context c) : engine(e), context(c) { engine.open_context(context); }
  OpenedContext(const OpenedContext&) = delete;
  OpenedContext& operator=(const OpenedContext&) = delete;
  ~OpenedContext() { engine.close_context(context); }
};

}  // namespace hf::mpi
