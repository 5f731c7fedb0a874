// How a process comes into its job and leaves it (MPI 5.0, 11.2 and 11.3). The first MPI_Init or MPI_Session_init joins; where there is neither a
// session nor, between MPI_Init and MPI_Finalize, MPI_COMM_WORLD any more the process has left, and a later session, or MPI_Init, joins again:
// the same incarnation of the same rank, whose messages, contexts and calls are numbered on.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace hf::engine {
struct JobMap;
}

namespace hf::mpi {

class Process;

inline constexpr int thread_single = 0, thread_funneled = 1024, thread_serialized = 2048, thread_multiple = 4096;
std::optional<int> thread_level_named(std::string_view name);  // as "MPI_THREAD_SINGLE"
std::string_view thread_level_name(int level);

// The first time with this level of thread support, or the highest there is, for good. MPI_ERR_OTHER: there is no way into the job.
enum class By { init, session };
int join_job(Process& p, int asked, By by);
// Somebody may need MPI.
bool is_in_use(const Process& p);
// All that was sent is where it can be taken without this process. Buffers for buffered sends are the program's again.
void leave_job(Process& p);

// Tells the user, once for the job, that a process has got less than it asked for: programs seldom look at what is provided.
void note_thread_level(Process& p, const char* function, int required);

std::vector<Rank> all_ranks(const engine::JobMap& job);

int finalize(Process& p);  // MPI_Finalize

}  // namespace hf::mpi
