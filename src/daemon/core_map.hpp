// Which processors a rank may be bound to (hwloc).
#pragma once
#include <sched.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/job.hpp"

struct hwloc_topology;

namespace hf::daemon {

class CoreMap {
 public:
  static Result<CoreMap> of_this_machine();                         // what this process may use of it
  static Result<CoreMap> synthetic(const std::string& description);  // as hwloc describes one, for tests
  // For the index-th of `count` ranks on the machine: a core each, in order, or a socket, of which neighbours share one. More ranks
  // than cores: an error, or cores are shared in turn.
  Result<cpu_set_t> choose(BindTo to, int index, int count, bool share) const;
  // A core for each event logger of the machine, the last ones, and what is left for its ranks; nothing where there are too few.
  struct Divided {
    std::vector<cpu_set_t> event_loggers;
    cpu_set_t others;
  };
  std::optional<Divided> divide(int ranks, int event_loggers) const;
  int cores() const;
  // "core 1 of socket 0 (processors 2-3)"
  std::string describe(const cpu_set_t& processors) const;
  cpu_set_t all() const;

 private:
  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  explicit CoreMap(hwloc_topology* topology) : topology_(topology) {}
  static Result<CoreMap> load(CoreMap map);
  std::unique_ptr<hwloc_topology, Destroy> topology_;
};

}  // namespace hf::daemon
