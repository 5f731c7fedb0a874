#include "mpi/tools.hpp"

#include <atomic>
#include <bit>

#include "mpi/error.hpp"

namespace hf::mpi::tools {
namespace {

constexpr int thread_single = 0, thread_funneled = 1024, thread_serialized = 2048, thread_multiple = 4096;
constexpr Session most_sessions = 64;  // at a time

std::atomic<int> initializations = 0;   // less the finalizations
std::atomic<std::uint64_t> sessions = 0;  // bit i: session i + 1 is there

bool has(Session session) {
  return session > 0 && session <= most_sessions && ((sessions.load() >> (session - 1)) & 1) != 0;
}

}  // namespace

// Whatever threads are asked for, they are had: the functions share nothing but two words (15.3.4).
int init_thread(int required, int* provided) {
  const bool level = required == thread_single || required == thread_funneled || required == thread_serialized ||
                     required == thread_multiple;
  if (!level || !provided) return t_err_invalid;
  ++initializations;
  *provided = required;
  return success;
}

// The last one takes the sessions with it.
int finalize() {
  int before = initializations.load();
  do {
    if (before == 0) return t_err_not_initialized;
  } while (!initializations.compare_exchange_weak(before, before - 1));
  if (before == 1) sessions = 0;
  return success;
}

int refuse(int code) { return initializations.load() > 0 ? code : static_cast<int>(t_err_not_initialized); }

int count(int* number) {
  if (int code = refuse(number ? success : t_err_invalid)) return code;
  *number = 0;
  return success;
}

int find(const char* name, const int* index) { return refuse(name && index ? t_err_invalid_name : t_err_invalid); }

int create_session(Session& session) {
  if (int code = refuse(success)) return code;
  std::uint64_t before = sessions.load();
  std::uint64_t free = 0;
  do {
    free = ~before & (before + 1);  // the lowest
    if (free == 0) return t_err_out_of_sessions;
  } while (!sessions.compare_exchange_weak(before, before | free));
  session = static_cast<Session>(std::countr_zero(free)) + 1;
  return success;
}

int free_session(Session& session) {
  if (int code = refuse_in(session, success)) return code;
  sessions &= ~(std::uint64_t{1} << (session - 1));
  session = 0;
  return success;
}

int refuse_in(Session session, int code) { return refuse(has(session) ? code : static_cast<int>(t_err_invalid_session)); }

}  // namespace hf::mpi::tools
