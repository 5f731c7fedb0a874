// Sessions and their process sets (MPI 5.0, 11.3): everybody, and this process.
#include "mpi/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/buffered_calls.hpp"
#include "mpi/comm_hints.hpp"
#include "mpi/joining.hpp"
#include "mpi/process.hpp"
#include "segment/waiting.hpp"

namespace hf::mpi {
namespace {

constexpr std::array<std::string_view, 2> sets = {world_set, self_set};
constexpr std::string_view thread_level_key = "thread_level";

// Null: there is no such set.
std::optional<std::vector<Rank>> members_of(const Process& p, std::string_view set) {
  const engine::JobMap& job = p.engine->job();
  if (names_set(set, sets[0])) return all_ranks(job);
  if (names_set(set, sets[1])) return std::vector{job.self};
  return std::nullopt;
}

int no_such_set(Process& p, const char* name) {
  return p.explain(err_arg, fmt::format("there is no process set \"{:.64}\": there are {} and {}", name, sets[0], sets[1]));
}

// Who does not say what is needed gets what there is.
int thread_level_of(Process& p, const Info* info, int& asked) {
  asked = thread_multiple;
  const std::string* name = info ? info->find(thread_level_key) : nullptr;
  if (!name) return success;
  const std::optional<int> level = thread_level_named(*name);
  if (!level) return p.explain(err_info_value, fmt::format("{}={:.64} is not one of the levels of thread support", thread_level_key, *name));
  asked = *level;
  return success;
}

}  // namespace

bool names_set(std::string_view name, std::string_view set) {
  return std::ranges::equal(name, set, [](unsigned char a, unsigned char b) { return std::toupper(a) == std::toupper(b); });
}

int session_init(Process& p, Info* info, Errhandler& errhandler, Session*& session) {
  if (errhandler.kind == Errhandler::Kind::user && errhandler.owner != Errhandler::Owner::session) {
    return p.explain(err_arg, "the error handler was not made by MPI_Session_create_errhandler");
  }
  int asked = 0;
  if (int code = thread_level_of(p, info, asked)) return code;
  if (int code = join_job(p, asked, By::session)) return code;
  if (info && info->find(thread_level_key)) note_thread_level(p, "MPI_Session_init", asked);
  session = new Session;
  session->errhandler = retain(&errhandler);
  ++p.open_sessions;
  return success;
}

// Waits for nobody but those who still have to take what was sent (11.3.1): of a large message, whose request was freed, they may have no more than the
// announcement.
int session_finalize(Process& p, Session*& session) {
  flush_buffers(p, session);
  session->buffer.reset();
  session->open = false;
  --p.open_sessions;
  release(session);
  session = nullptr;
  if (is_in_use(p)) return success;
  p.engine->wait([&] { return p.freed_sends_done(); }, [] { return segment::several_ranks; });
  leave_job(p);
  return success;
}

int session_get_info(Process& p, Session&, Info*& info_used) {
  info_used = new Info;
  info_used->set(thread_level_key, thread_level_name(p.thread_level));
  info_used->set(memory_kinds_key, memory_kinds);
  return success;
}

int session_get_num_psets(Process&, Session&, Info*, int& npset_names) {
  npset_names = static_cast<int>(sets.size());
  return success;
}

// pset_len counts the final zero; it becomes what the name needs, and 0 asks for that alone.
int session_get_nth_pset(Process& p, Session&, Info*, int n, int& pset_len, char* pset_name) {
  if (static_cast<std::size_t>(n) >= sets.size()) {
    return p.explain(err_arg, fmt::format("there is no process set {}: there are {}", n, sets.size()));
  }
  if (pset_len < 0) return p.explain(err_arg, fmt::format("pset_len {} is negative", pset_len));
  if (pset_len > 0 && !pset_name) return p.explain(err_arg, "pset_name is a null pointer");
  const std::string_view name = sets[static_cast<std::size_t>(n)];
  if (pset_len > 0) {
    const std::size_t length = std::min(name.size(), static_cast<std::size_t>(pset_len) - 1);
    std::memcpy(pset_name, name.data(), length);
    pset_name[length] = '\0';
  }
  pset_len = static_cast<int>(name.size()) + 1;
  return success;
}

int session_get_pset_info(Process& p, Session&, const char* pset_name, Info*& info) {
  const auto members = members_of(p, pset_name);
  if (!members) return no_such_set(p, pset_name);
  info = new Info;
  info->set("mpi_size", fmt::format("{}", members->size()));
  return success;
}

int group_from_session_pset(Process& p, Session& session, const char* pset_name, Group*& newgroup) {
  auto members = members_of(p, pset_name);
  if (!members) return no_such_set(p, pset_name);
  newgroup = new Group(std::move(*members), p.engine->job().self);
  newgroup->session = retain(&session);
  return success;
}

}  // namespace hf::mpi
