// Cartesian topologies (MPI 5.0, 8.5.1 and 8.5.5 to 8.5.7).
#include <fmt/format.h>

#include <numeric>
#include <span>

#include "mpi/api.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

using Kind = Topology::Kind;
using Coordinates = std::vector<int>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Processes of the grid, or an error when it does not fit the communicator. No dimensions: one process.
int count_grid(Process& p, const Comm& comm, int ndims, const int* dims, int& nodes) {
  if (int code = check_intra(p, comm)) return code;
  if (ndims > 0 && !dims) return p.explain(err_arg, "dims is a null pointer");
  Count product = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) return p.explain(err_dims, fmt::format("dims[{}] is {}, it must be positive", i, dims[i]));
    product *= dims[i];
    if (product > comm.size()) {
      return p.explain(err_dims,
                       fmt::format("the grid has more processes than the communicator, whose size is {}", comm.size()));
    }
  }
  nodes = static_cast<int>(product);
  return success;
}

Coordinates coordinates_of(const Topology& grid, int rank) {
  Coordinates coords(grid.dims.size());
  for (std::size_t d = coords.size(); d-- > 0; rank /= grid.dims[d]) coords[d] = rank % grid.dims[d];
  return coords;
}

int rank_at(const Topology& grid, const Coordinates& coords) {
  int rank = 0;
  for (std::size_t d = 0; d < coords.size(); ++d) rank = rank * grid.dims[d] + coords[d];
  return rank;
}

// The rank that many steps further in a dimension; MPI_PROC_NULL beyond the border.
int shifted(const Topology& grid, Coordinates coords, std::size_t d, Count steps) {
  const Count size = grid.dims[d], to = coords[d] + steps;
  if ((to < 0 || to >= size) && !grid.periods[d]) return proc_null;
  coords[d] = static_cast<int>((to % size + size) % size);
  return rank_at(grid, coords);
}

// The grid as `rank` sees it.
Topology* make_grid(std::vector<int> dims, std::vector<int> periods, int rank) {
  auto* grid = new Topology;
  grid->kind = Kind::cart;
  grid->dims = std::move(dims);
  grid->periods = std::move(periods);
  const Coordinates own = coordinates_of(*grid, rank);
  for (std::size_t d = 0; d < own.size(); ++d) {
    for (Count step : {-1, 1}) grid->sources.push_back(shifted(*grid, own, d, step));
  }
  grid->destinations = grid->sources;
  return grid;
}

int check_room(Process& p, int room, std::size_t dimensions) {
  if (room >= 0 && at(room) >= dimensions) return success;
  return p.explain(err_arg, fmt::format("there is room for {} dimensions, the grid has {}", room, dimensions));
}

}  // namespace

int cart_create(Process& p, Comm& comm, int ndims, const int* dims, const int* periods, int, Comm*& newcomm) {
  newcomm = nullptr;
  int nodes = 0;
  if (int code = count_grid(p, comm, ndims, dims, nodes)) return code;
  if (ndims > 0 && !periods) return p.explain(err_arg, "periods is a null pointer");
  if (comm.rank() >= nodes) return success;
  std::vector<int> wraps(periods, periods + ndims);
  for (int& period : wraps) period = period != 0;
  Topology* grid = make_grid({dims, dims + ndims}, std::move(wraps), comm.rank());
  return make_comm(p, comm, first_members(comm, nodes), grid, "Cart_create", newcomm);
}

// The slices of a grid: who agrees in the dimensions that do not remain stays together, in order of rank.
int cart_sub(Process& p, Comm& comm, const int* remain_dims, Comm*& newcomm) {
  newcomm = nullptr;
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  if (!grid->dims.empty() && !remain_dims) return p.explain(err_arg, "remain_dims is a null pointer");
  std::vector<int> dims, periods;
  for (std::size_t d = 0; d < grid->dims.size(); ++d) {
    if (!remain_dims[d]) continue;
    dims.push_back(grid->dims[d]);
    periods.push_back(grid->periods[d]);
  }
  const int size = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
  Group* group = new_group(*comm.group);
  Coordinates coords = coordinates_of(*grid, comm.rank());
  for (int i = 0; i < size; ++i) {
    int rest = i;
    for (std::size_t d = grid->dims.size(); d-- > 0;) {
      if (!remain_dims[d]) continue;
      coords[d] = rest % grid->dims[d];
      rest /= grid->dims[d];
    }
    const int rank = rank_at(*grid, coords);
    if (rank == comm.rank()) group->self = i;
    group->members.push_back(comm.world(rank));
  }
  Topology* slice = make_grid(std::move(dims), std::move(periods), group->self);
  return make_comm(p, comm, group, slice, "Cart_sub", newcomm);
}

int cartdim_get(Process& p, Comm& comm, int& ndims) {
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  ndims = static_cast<int>(grid->dims.size());
  return success;
}

int cart_get(Process& p, Comm& comm, int maxdims, int* dims, int* periods, int* coords) {
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  if (int code = check_room(p, maxdims, grid->dims.size())) return code;
  const Coordinates own = coordinates_of(*grid, comm.rank());
  if (!own.empty() && (!dims || !periods || !coords))
    return p.explain(err_arg, "dims, periods or coords is a null pointer");
  for (std::size_t d = 0; d < own.size(); ++d) {
    dims[d] = grid->dims[d];
    periods[d] = grid->periods[d];
    coords[d] = own[d];
  }
  return success;
}

int cart_coords(Process& p, Comm& comm, int rank, int maxdims, int* coords) {
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  if (rank < 0 || rank >= comm.size()) return p.explain(err_rank, fmt::format("rank {} is not in the grid", rank));
  if (int code = check_room(p, maxdims, grid->dims.size())) return code;
  const Coordinates found = coordinates_of(*grid, rank);
  if (!found.empty() && !coords) return p.explain(err_arg, "coords is a null pointer");
  for (std::size_t d = 0; d < found.size(); ++d) coords[d] = found[d];
  return success;
}

int cart_rank(Process& p, Comm& comm, const int* coords, int& rank) {
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  if (!grid->dims.empty() && !coords) return p.explain(err_arg, "coords is a null pointer");
  Coordinates inside(grid->dims.size());
  for (std::size_t d = 0; d < inside.size(); ++d) {
    const int size = grid->dims[d], c = coords[d];
    if ((c < 0 || c >= size) && !grid->periods[d]) {
      return p.explain(err_arg,
                       fmt::format("coords[{}] is {}: the dimension is not periodic and has {} processes", d, c, size));
    }
    inside[d] = (c % size + size) % size;
  }
  rank = rank_at(*grid, inside);
  return success;
}

int cart_shift(Process& p, Comm& comm, int direction, int disp, int& rank_source, int& rank_dest) {
  const Topology* grid = topology_of(p, comm, Kind::cart);
  if (!grid) return err_topology;
  if (direction < 0 || at(direction) >= grid->dims.size()) {
    return p.explain(err_arg, fmt::format("direction {} is not a dimension of the grid, which has {}", direction,
                                          grid->dims.size()));
  }
  const Coordinates own = coordinates_of(*grid, comm.rank());
  rank_source = shifted(*grid, own, at(direction), -static_cast<Count>(disp));
  rank_dest = shifted(*grid, own, at(direction), disp);
  return success;
}

// As MPI_Cart_create places the ranks: each where it is.
int cart_map(Process& p, Comm& comm, int ndims, const int* dims, const int* periods, int& newrank) {
  int nodes = 0;
  if (int code = count_grid(p, comm, ndims, dims, nodes)) return code;
  if (ndims > 0 && !periods) return p.explain(err_arg, "periods is a null pointer");
  newrank = comm.rank() < nodes ? comm.rank() : undefined;
  return success;
}

}  // namespace hf::mpi
