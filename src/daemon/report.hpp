// The three views of a timeline: a table for people, JSON for programs, a trace for Perfetto. Pure.
#pragma once
#include <string>

#include "daemon/job.hpp"
#include "daemon/timeline.hpp"

namespace hf::daemon {

// Lines for stderr; empty when nothing failed.
std::string summary(const Timeline& timeline);
// docs/report.md has the fields.
std::string report_json(const Timeline& timeline, const Job& job, const TreeSettings& tree);
// Chrome/Perfetto trace format: a process per node, a thread per rank; incarnations and recoveries as spans.
std::string trace_json(const Timeline& timeline, const Job& job);

}  // namespace hf::daemon
