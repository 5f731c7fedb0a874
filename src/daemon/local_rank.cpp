#include "daemon/local_rank.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "os/process.hpp"

namespace hf::daemon {

bool LocalRank::all_dead() const {
  return leader_status && !mpi_pidfd && !os::group_exists(leader);
}

bool LocalRank::wrapped_program_dead() const {
  if (mpi_process == 0 || mpi_process == leader) return false;
  if (!mpi_pidfd) return true;
  pollfd look{mpi_pidfd.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) == 1;
}

void LocalRank::kill_all(int signal) const {
  if (leader > 0 && (!leader_status || os::group_exists(leader))) ::kill(-leader, signal);
  if (!mpi_pidfd) return;
  // A debugger puts the program into a group of its own.
  pid_t group = ::getpgid(mpi_process);
  if (group > 0 && group != leader && group == mpi_process) ::kill(-group, signal);
  ::kill(mpi_process, signal);
}

int LocalRank::end_status() const {
  bool wrapped = mpi_process != 0 && mpi_process != leader;
  if (!wrapped || !mpi_status) return *leader_status;
  return WIFSIGNALED(*mpi_status) || !finalized ? *mpi_status : *leader_status;
}

}  // namespace hf::daemon
