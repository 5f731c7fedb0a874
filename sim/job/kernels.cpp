#include "sim/job/kernels.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "sim/job/process.hpp"
#include "sim/job/random.hpp"

namespace hf::sim::job {
namespace {

constexpr int word = 8, unknowns = 5;  // bytes of a number; numbers a point, of BT, LU and SP

// Class C: points along an edge (CG: rows), and operations a point and step, from those that the benchmarks of NPB 3 print.
struct Size {
  int edge;
  double operations;
};
constexpr Size bt_size{162, 3330}, cg_size{150'000, 512}, ft_size{512, 140}, lu_size{162, 1920}, mg_size{512, 58}, sp_size{162, 840};

int share(int all, int among) { return (all + among - 1) / among; }
std::uint32_t numbers(std::int64_t n) { return static_cast<std::uint32_t>(n * word); }

// The power of two that the ranks are, as evenly as it goes, on so many axes; the first has most.
template <std::size_t Axes>
std::array<int, Axes> split(int ranks) {
  std::array<int, Axes> grid;
  grid.fill(1);
  for (std::size_t axis = 0; ranks > 1; ranks /= 2, axis = (axis + 1) % Axes) grid[axis] *= 2;
  return grid;
}

class Arithmetic {
 public:
  explicit Arithmetic(const JobOptions& options) : ns_(1 / options.timing->gflops) {}
  std::int64_t operator()(double operations) const { return static_cast<std::int64_t>(operations * ns_); }

 private:
  double ns_;  // an operation
};

// ---- LU: lines of each plane from north and west to south and east, there and back; faces before

struct Columns {
  std::array<int, 2> grid;
  int x, y;
  explicit Columns(const Process& mpi) : grid(split<2>(mpi.ranks())), x(mpi.rank() % grid[0]), y(mpi.rank() / grid[0]) {}
  int at(int dx, int dy) const {  // -1: past the edge
    const int to_x = x + dx, to_y = y + dy;
    return to_x < 0 || to_y < 0 || to_x >= grid[0] || to_y >= grid[1] ? -1 : to_y * grid[0] + to_x;
  }
};

Program lu(JobOptions options, Process& mpi) {
  constexpr std::array<std::array<int, 2>, 4> ways{{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
  const Arithmetic arithmetic(options);
  const Columns columns(mpi);
  const int nx = share(lu_size.edge, columns.grid[0]), ny = share(lu_size.edge, columns.grid[1]), nz = lu_size.edge;
  const bool any_planes = options.timing->any_planes;
  const double plane = nx * ny * lu_size.operations;
  std::uint64_t value = mix(options.seed, static_cast<std::uint64_t>(mpi.rank()));
  for (int step = 0; step < options.steps; ++step) {
    for (int way = 0; way < 4; ++way) {
      const auto [dx, dy] = ways[static_cast<std::size_t>(way)];
      const int to = columns.at(dx, dy), from = columns.at(-dx, -dy);
      Request* in = from < 0 ? nullptr : mpi.irecv(-1, 0, way);
      if (to >= 0) co_await mpi.wait(mpi.isend(to, 0, way, value, SendMode::small, numbers((dx ? ny : nx) * nz * unknowns)));
      if (in) value = mix(value, (co_await mpi.wait(in)).value);
      co_await mpi.compute(mpi.spent());
    }
    co_await mpi.compute(arithmetic(plane * nz / 4));
    for (int d : {1, -1}) {
      const int north = columns.at(0, -d), west = columns.at(-d, 0), south = columns.at(0, d), east = columns.at(d, 0), tag = 6 + d;
      for (int k = 0; k < nz; ++k) {
        if (north >= 0) value = mix(value, (co_await mpi.wait(mpi.irecv(any_planes ? -1 : north, 0, tag))).value);
        if (west >= 0) value = mix(value, (co_await mpi.wait(mpi.irecv(any_planes ? -1 : west, 0, tag + 1))).value);
        co_await mpi.compute(mpi.spent() + arithmetic(plane * 3 / 8));
        if (south >= 0) co_await mpi.wait(mpi.isend(south, 0, tag, value, SendMode::small, numbers(nx * unknowns)));
        if (east >= 0) co_await mpi.wait(mpi.isend(east, 0, tag + 1, value, SendMode::small, numbers(ny * unknowns)));
      }
    }
  }
  co_return value;
}

// ---- MG: faces to both neighbours on three axes, at each level of a cycle, from any source

Program mg(JobOptions options, Process& mpi) {
  const Arithmetic arithmetic(options);
  const auto grid = split<3>(mpi.ranks());
  const std::array<int, 3> at{mpi.rank() % grid[0], mpi.rank() / grid[0] % grid[1], mpi.rank() / grid[0] / grid[1]};
  auto neighbour = [&](std::size_t axis, int step) {
    std::array<int, 3> p = at;
    p[axis] = (p[axis] + step + grid[axis]) % grid[axis];
    return (p[2] * grid[1] + p[1]) * grid[0] + p[0];
  };
  int levels = 1;  // all that all ranks take part in
  while (mg_size.edge >> levels >= 2 * grid[0] && levels < 9) ++levels;
  std::uint64_t value = mix(options.seed, static_cast<std::uint64_t>(mpi.rank()));
  for (int step = 0; step < options.steps; ++step) {
    for (int visit = 0; visit < 3 * levels; ++visit) {  // down twice a level, and up
      const int level = visit < 2 * levels ? visit / 2 : 3 * levels - 1 - visit;
      std::array<std::int64_t, 3> n;
      for (std::size_t a = 0; a < 3; ++a) n[a] = std::max(1, mg_size.edge / grid[a] >> level);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (grid[axis] == 1) continue;
        const std::uint32_t bytes = numbers((n[axis == 0] + 2) * (n[axis == 2 ? 1 : 2] + 2));
        const int tag = static_cast<int>(2 * axis);
        Request* from_low = mpi.irecv(-1, 0, tag);
        Request* from_high = mpi.irecv(-1, 0, tag + 1);
        co_await mpi.wait(mpi.isend(neighbour(axis, 1), 0, tag, value, SendMode::small, bytes));
        co_await mpi.wait(mpi.isend(neighbour(axis, -1), 0, tag + 1, mix(value, 1), SendMode::small, bytes));
        const Received low = co_await mpi.wait(from_low);
        const Received high = co_await mpi.wait(from_high);
        value = mix(mix(value, low.value), high.value);
        co_await mpi.compute(mpi.spent());
      }
      co_await mpi.compute(arithmetic(static_cast<double>(n[0] * n[1] * n[2]) * mg_size.operations * 7 / 24));
    }
  }
  co_return value;
}

// ---- CG: sums along the rows of a grid of ranks, by pairs; parts change places with the transposed rank

Program cg(JobOptions options, Process& mpi) {
  constexpr int inner = 25;
  const Arithmetic arithmetic(options);
  const auto [columns, rows] = split<2>(mpi.ranks());
  const int row = mpi.rank() / columns, column = mpi.rank() % columns, fold = columns / rows;
  const int transposed = column / fold * columns + fold * row + column % fold;
  const int height = share(cg_size.edge, rows), width = share(cg_size.edge, columns);
  std::uint64_t value = mix(options.seed, static_cast<std::uint64_t>(mpi.rank()));
  for (int step = 0; step < options.steps * inner; ++step) {
    co_await mpi.compute(arithmetic(cg_size.edge * cg_size.operations / mpi.ranks()));
    for (int part = 0; part < 3; ++part) {  // the product, and two scalar ones
      for (int pair = 1; pair < columns; pair *= 2) {
        const int other = row * columns + (column ^ pair);
        Request* in = mpi.irecv(other, 0, part);
        co_await mpi.wait(mpi.isend(other, 0, part, value, SendMode::small, numbers(part == 0 ? height : 1)));
        value += (co_await mpi.wait(in)).value;
        co_await mpi.compute(mpi.spent());
      }
      if (part > 0 || transposed == mpi.rank()) continue;
      Request* in = mpi.irecv(transposed, 0, 3);
      co_await mpi.wait(mpi.isend(transposed, 0, 3, value, SendMode::small, numbers(width)));
      value = mix(value, (co_await mpi.wait(in)).value);
      co_await mpi.compute(mpi.spent());
    }
  }
  co_return value;
}

// ---- FT: everybody to everybody, then a sum over all

Program ft(JobOptions options, Process& mpi) {
  const Arithmetic arithmetic(options);
  const int n = mpi.ranks();
  const double points = static_cast<double>(ft_size.edge) * ft_size.edge * ft_size.edge;
  const auto bytes = static_cast<std::uint32_t>(2 * word * points / n / n);
  std::uint64_t value = mix(options.seed, static_cast<std::uint64_t>(mpi.rank()));
  for (int step = 0; step < options.steps; ++step) {
    co_await mpi.compute(arithmetic(points * ft_size.operations / n));
    for (int i = 1; i < n; ++i) {
      Request* in = mpi.irecv(mpi.rank() ^ i, 0, 1);
      co_await mpi.wait(mpi.isend(mpi.rank() ^ i, 0, 1, value, SendMode::small, bytes));
      value += (co_await mpi.wait(in)).value;
      co_await mpi.compute(mpi.spent());
    }
    for (int pair = 1; pair < n; pair *= 2) {
      Request* in = mpi.irecv(mpi.rank() ^ pair, 0, 2);
      co_await mpi.wait(mpi.isend(mpi.rank() ^ pair, 0, 2, value, SendMode::small, numbers(2)));
      value += (co_await mpi.wait(in)).value;
      co_await mpi.compute(mpi.spent());
    }
  }
  co_return value;
}

// ---- BT, SP: q cells on each of q x q ranks; six faces at once, then along each axis from cell to cell, there and back

struct Adi {
  Size size;
  int forward, back;  // numbers a point of a face that a sweep carries on
};

Program adi(JobOptions options, Process& mpi, Adi kernel) {
  const Arithmetic arithmetic(options);
  const int q = static_cast<int>(std::lround(std::sqrt(mpi.ranks()))), edge = share(kernel.size.edge, q);
  const int x = mpi.rank() % q, y = mpi.rank() / q;
  const std::int64_t face = static_cast<std::int64_t>(edge) * edge;
  auto next = [&](int axis, int step) {
    const int dx = axis == 1 ? 0 : axis == 0 ? step : -step, dy = axis == 0 ? 0 : axis == 1 ? step : -step;
    return (y + dy + q) % q * q + (x + dx + q) % q;
  };
  const double cell = static_cast<double>(face) * edge * kernel.size.operations;
  std::uint64_t value = mix(options.seed, static_cast<std::uint64_t>(mpi.rank()));
  for (int step = 0; step < options.steps; ++step) {
    std::array<Request*, 12> open{};
    for (int f = 0; f < 6 && q > 1; ++f) open[static_cast<std::size_t>(f)] = mpi.irecv(next(f / 2, f % 2 ? -1 : 1), 0, f);
    for (int f = 0; f < 6 && q > 1; ++f) {
      const std::uint64_t what = mix(value, static_cast<std::uint64_t>(f));
      open[static_cast<std::size_t>(6 + f)] =
          mpi.isend(next(f / 2, f % 2 ? 1 : -1), 0, f, what, SendMode::small, numbers(q * face * unknowns));
    }
    for (Request* request : open) {
      if (!request) continue;
      const bool is_send = request->is_send;
      const Received got = co_await mpi.wait(request);
      if (!is_send) value = mix(value, got.value);
    }
    co_await mpi.compute(mpi.spent() + arithmetic(cell * q / 4));
    for (int axis = 0; axis < 3; ++axis) {
      for (int way : {1, -1}) {
        const int carried = way > 0 ? kernel.forward : kernel.back, tag = 6 + 2 * axis + (way > 0);
        for (int stage = 0; stage < q; ++stage) {
          if (stage > 0) value = mix(value, (co_await mpi.wait(mpi.irecv(next(axis, -way), 0, tag))).value);
          co_await mpi.compute(mpi.spent() + arithmetic(cell * (way > 0 ? 0.2 : 0.05)));
          if (stage + 1 == q) break;
          co_await mpi.wait(mpi.isend(next(axis, way), 0, tag, value, SendMode::small, numbers(face * carried)));
        }
      }
    }
  }
  co_return value;
}

}  // namespace

const char* name_of(Kernel kernel) {
  static constexpr const char* names[] = {"bt", "cg", "ft", "lu", "mg", "sp"};
  return names[static_cast<std::size_t>(kernel)];
}

std::optional<Kernel> kernel_named(std::string_view name) {
  for (int k = 0; k < kernels; ++k) {
    if (name == name_of(static_cast<Kernel>(k))) return static_cast<Kernel>(k);
  }
  return {};
}

bool takes(Kernel kernel, int ranks) {
  const int q = static_cast<int>(std::lround(std::sqrt(ranks)));
  if (kernel == Kernel::bt || kernel == Kernel::sp) return q * q == ranks;
  return std::has_single_bit(static_cast<unsigned>(ranks));
}

Program run_kernel(const JobOptions& options, Process& mpi) {
  switch (options.timing->kernel) {
    case Kernel::bt: return adi(options, mpi, {bt_size, 30, 5});
    case Kernel::cg: return cg(options, mpi);
    case Kernel::ft: return ft(options, mpi);
    case Kernel::lu: return lu(options, mpi);
    case Kernel::mg: return mg(options, mpi);
    case Kernel::sp: break;
  }
  return adi(options, mpi, {sp_size, 22, 10});
}

}  // namespace hf::sim::job
