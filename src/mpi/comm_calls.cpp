// Communicators: what they are and what is attached to them (MPI 5.0, 7.4 and 7.8). How they are made: comm_create.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "mpi/api.hpp"
#include "mpi/buffered_calls.hpp"
#include "mpi/comm_hints.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int ident = 201, congruent = 202, similar = 203, unequal = 204;
constexpr std::size_t max_object_name = 128;  // with the terminating zero

// The hints that a communicator may be given: promises of the program, kept and returned. None makes anything faster here:
// matching takes any tag and any source at no cost to those that name them, messages are numbered in any case, and exact
// lengths and orders are what replay compares.
constexpr std::array<std::string_view, 5> hints = {
    "mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length", "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering"};

int refuse_predefined(Process& p, const Comm& comm, const char* what) {
  return p.explain(err_comm, fmt::format("{} is predefined and cannot be {}", comm.name, what));
}

int check_inter(Process& p, const Comm& comm) {
  if (comm.is_inter()) return success;
  return p.explain(err_comm, "an intracommunicator has no remote group: this needs an intercommunicator");
}

int compare(const Group& group1, const Group& group2) {
  const auto &a = group1.members, &b = group2.members;
  if (a == b) return congruent;
  auto x = a, y = b;
  std::ranges::sort(x);
  std::ranges::sort(y);
  return x == y ? similar : unequal;
}

}  // namespace

int comm_size(Process&, Comm& comm, int& size) {
  size = comm.size();
  return success;
}

int comm_rank(Process&, Comm& comm, int& rank) {
  rank = comm.rank();
  return success;
}

// A copy of its own: a group's handle is freed apart from the communicator's.
int comm_group(Process&, Comm& comm, Group*& group) {
  group = copy_group(*comm.group);
  return success;
}

// The result for both groups is the worse of the two (7.6.1).
int comm_compare(Process&, Comm& comm1, Comm& comm2, int& result) {
  if (&comm1 == &comm2) {
    result = ident;
  } else if (comm1.is_inter() != comm2.is_inter()) {
    result = unequal;
  } else {
    result = compare(*comm1.group, *comm2.group);
    if (comm1.is_inter()) result = std::max(result, compare(*comm1.remote, *comm2.remote));
  }
  return success;
}

int comm_test_inter(Process&, Comm& comm, int& flag) {
  flag = comm.is_inter();
  return success;
}

int comm_remote_size(Process& p, Comm& comm, int& size) {
  if (int code = check_inter(p, comm)) return code;
  size = comm.remote->size();
  return success;
}

int comm_remote_group(Process& p, Comm& comm, Group*& group) {
  if (int code = check_inter(p, comm)) return code;
  group = copy_group(*comm.remote);
  return success;
}

int comm_set_name(Process&, Comm& comm, const char* comm_name) {
  comm.name.assign(comm_name, strnlen(comm_name, max_object_name - 1));
  return success;
}

int comm_get_name(Process&, Comm* comm, char* comm_name, int& resultlen) {
  const std::string_view name = comm ? std::string_view(comm->name) : "MPI_COMM_NULL";
  std::memcpy(comm_name, name.data(), name.size());
  comm_name[name.size()] = '\0';
  resultlen = static_cast<int>(name.size());
  return success;
}

void add_comm_hints(Comm& comm, const Info& info) {
  for (const auto& [key, value] : info.entries) {
    if (std::ranges::find(hints, key) == hints.end() || (value != "true" && value != "false")) continue;
    if (!comm.info) comm.info = new Info;
    comm.info->set(key, value);
  }
}

int comm_set_info(Process&, Comm& comm, Info* info) {
  if (info) add_comm_hints(comm, *info);
  return success;
}

// All hints that may be given: those that were not have their default. And what memory may be given to MPI.
int comm_get_info(Process&, Comm& comm, Info*& info_used) {
  info_used = new Info;
  for (std::string_view hint : hints) {
    const std::string* given = comm.info ? comm.info->find(hint) : nullptr;
    info_used->set(hint, given ? std::string_view(*given) : "false");
  }
  info_used->set(memory_kinds_key, memory_kinds);
  return success;
}

// The object lives until the last operation on it is complete (MPI 5.0, 7.4.3). A buffer attached to it is the program's
// again afterwards.
int comm_free(Process& p, Comm*& comm) {
  if (comm->predefined) return refuse_predefined(p, *comm, "freed");
  if (int code = delete_attributes(p, *comm)) return code;
  detach_buffer(p, *comm);
  release(comm);
  comm = nullptr;
  return success;
}

int comm_disconnect(Process& p, Comm*& comm) {
  if (comm->predefined) return refuse_predefined(p, *comm, "disconnected");
  if (int code = barrier(p, *comm)) return code;
  return comm_free(p, comm);
}

}  // namespace hf::mpi
