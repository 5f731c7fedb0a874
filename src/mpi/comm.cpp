#include "mpi/comm.hpp"

#include "engine/engine.hpp"
#include "mpi/context_name.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {

Comm::~Comm() {
  if (engine) {
    engine->close_context(point);
    engine->close_context(collective);
    if (channels_open) engine->close_context(context_sibling(point, ContextKind::channels));
    if (creation_open) engine->close_context(context_sibling(point, ContextKind::creation));
  }
  release(info);
  release(topology);
  if (errhandler) release(errhandler);
  release(remote);
  release(group);
}

}  // namespace hf::mpi
