#include "daemon/core_map.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <algorithm>

namespace hf::daemon {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Bitmap bitmap_of(hwloc_topology_t topology, const cpu_set_t& processors) {
  Bitmap out(hwloc_bitmap_alloc());
  hwloc_cpuset_from_glibc_sched_affinity(topology, out.get(), &processors, sizeof processors);
  return out;
}

// "socket 0", "cores 1-2": of those that overlap the bitmap, numbered in the machine's order.
std::string objects(hwloc_topology_t topology, hwloc_obj_type_t type, const char* name, hwloc_const_bitmap_t processors) {
  Bitmap numbers(hwloc_bitmap_alloc());
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    if (hwloc_bitmap_intersects(object->cpuset, processors)) hwloc_bitmap_set(numbers.get(), object->logical_index);
  }
  char text[256] = "";
  hwloc_bitmap_list_snprintf(text, sizeof text, numbers.get());
  return fmt::format("{}{} {}", name, hwloc_bitmap_weight(numbers.get()) == 1 ? "" : "s", text);
}

}  // namespace

void CoreMap::Destroy::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

Result<CoreMap> CoreMap::load(CoreMap map) {
  if (hwloc_topology_load(map.topology_.get()) != 0) return fail("hwloc cannot say which cores this machine has");
  return map;
}

Result<CoreMap> CoreMap::of_this_machine() {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return fail("hwloc cannot be used");
  Result<CoreMap> map = load(CoreMap(topology));
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (!map || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return map;
  if (hwloc_topology_restrict(topology, bitmap_of(topology, mine).get(), 0) != 0) return fail("hwloc cannot leave cores out");
  return map;
}

Result<CoreMap> CoreMap::synthetic(const std::string& description) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return fail("hwloc cannot be used");
  CoreMap map(topology);
  if (hwloc_topology_set_synthetic(topology, description.c_str()) != 0) return fail(fmt::format("hwloc does not know {}", description));
  return load(std::move(map));
}

Result<cpu_set_t> CoreMap::choose(BindTo to, int index, int count, bool share) const {
  hwloc_topology* topology = topology_.get();
  const int cores = this->cores();
  if (cores == 0) return fail("hwloc finds no cores on this machine: --bind-to none");
  if (count > cores && !share) {
    return fail(fmt::format("{} ranks are to be bound to {} core{}: --bind-to none, or --oversubscribe to let ranks share them", count,
                            cores, cores == 1 ? "" : "s"));
  }
  hwloc_obj_t found;
  if (to == BindTo::socket) {
    const int sockets = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), 1);
    const auto socket = static_cast<unsigned>(static_cast<std::int64_t>(index) * std::min(sockets, count) / count);
    found = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, socket);
    if (!found) found = hwloc_get_root_obj(topology);
  } else {
    found = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(index % cores));
  }
  cpu_set_t out;
  CPU_ZERO(&out);
  hwloc_cpuset_to_glibc_sched_affinity(topology, found->cpuset, &out, sizeof out);
  return out;
}

int CoreMap::cores() const {
  return std::max(hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_CORE), 0);
}

std::optional<CoreMap::Divided> CoreMap::divide(int ranks, int event_loggers) const {
  hwloc_topology* topology = topology_.get();
  const int first = cores() - event_loggers;
  if (first < std::max(ranks, 1)) return std::nullopt;
  Divided out{{}, all()};
  for (int i = 0; i < event_loggers; ++i) {
    cpu_set_t own;
    CPU_ZERO(&own);
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(first + i));
    hwloc_cpuset_to_glibc_sched_affinity(topology, core->cpuset, &own, sizeof own);
    CPU_XOR(&out.others, &out.others, &own);
    out.event_loggers.push_back(own);
  }
  return out;
}

std::string CoreMap::describe(const cpu_set_t& processors) const {
  hwloc_topology* topology = topology_.get();
  Bitmap set = bitmap_of(topology, processors);
  char text[512] = "";
  hwloc_bitmap_list_snprintf(text, sizeof text, set.get());
  return fmt::format("{} of {} (processor{} {})", objects(topology, HWLOC_OBJ_CORE, "core", set.get()),
                     objects(topology, HWLOC_OBJ_PACKAGE, "socket", set.get()), hwloc_bitmap_weight(set.get()) == 1 ? "" : "s", text);
}

cpu_set_t CoreMap::all() const {
  cpu_set_t out;
  CPU_ZERO(&out);
  hwloc_cpuset_to_glibc_sched_affinity(topology_.get(), hwloc_topology_get_allowed_cpuset(topology_.get()), &out, sizeof out);
  return out;
}

}  // namespace hf::daemon
