// A seed: what is drawn from it, the run without faults, the run with them, and fewer of them with which it still fails.
#include <algorithm>

#include "sim/job/options.hpp"
#include "sim/job/random.hpp"

namespace hf::sim::job {

const char* name_of(Level level) {
  static constexpr const char* names[] = {"process", "node", "disk", "node+disk", "any"};
  return names[static_cast<std::size_t>(level)];
}

namespace {

// What is drawn of the others stays what it was before there were these.
Workload with_collectives(Workload drawn) {
  return drawn == Workload::traffic ? Workload::mixed : drawn == Workload::wavefront ? Workload::reductions : drawn;
}

}  // namespace

JobOptions drawn(JobOptions options) {
  Random random(mix(options.seed, 5));
  const Workload given = options.workload;
  const auto workload = static_cast<Workload>(random.below(5));
  if (options.workload == Workload::any) options.workload = random.one_in(3) ? Workload::traffic : workload;
  static constexpr Level levels[] = {Level::node, Level::node, Level::disk, Level::node_and_disk};
  const Level level = levels[random.below(std::size(levels))];
  const int loggers = random.one_in(3) ? static_cast<int>(1 + random.below(3)) : 0;
  const int copies = random.one_in(3) ? 2 : 1;
  if (options.level == Level::any) options.level = level;
  if (options.event_loggers < 0) options.event_loggers = options.on_nodes() ? loggers : 0;
  if (options.event_copies == 0) options.event_copies = options.on_nodes() ? copies : 1;
  const bool newer = random.one_in(2);
  if (given == Workload::any && newer) options.workload = with_collectives(options.workload);
  return options;
}

SeedOutcome run_seed(const JobOptions& given) {
  const JobOptions options = drawn(given);
  JobOutcome before = run_job(options, {});
  if (!before.violations.empty() || options.faults == 0) return {std::move(before), {}};
  SeedOutcome out;
  out.faults = plan_faults(options, before.events);
  std::vector<Fault> faults;
  for (int i = 0; i < static_cast<int>(out.faults.size()); ++i) {
    const bool wanted = options.only.empty() || std::ranges::find(options.only, i) != options.only.end();
    if (wanted) faults.push_back(out.faults[static_cast<std::size_t>(i)]);
  }
  out.faulty = run_job(options, faults);
  const bool whole = out.faulty.violations.empty() && out.faulty.ended.empty() && !out.faulty.diverged;
  if (whole && send_deterministic(options.workload) && out.faulty.results != before.results) {
    out.faulty.violations.emplace_back("the results are not those of the run without faults");
  }
  return out;
}

std::vector<int> shrink(JobOptions options, const SeedOutcome& failed) {
  std::vector<int> left = options.only;
  for (int i = 0; left.empty() && i < static_cast<int>(failed.faults.size()); ++i) options.only.push_back(i);
  left = options.only;
  for (std::size_t i = 0; i < left.size() && left.size() > 1;) {
    options.only = left;
    options.only.erase(options.only.begin() + static_cast<std::ptrdiff_t>(i));
    if (run_seed(options).faulty.violations.empty()) ++i;
    else left = options.only;
  }
  return left;
}

}  // namespace hf::sim::job
