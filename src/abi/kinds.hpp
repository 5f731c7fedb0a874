// The kinds of MPI objects as the front ends see them: which predefined handles there are and what a bad one is called.
#pragma once
#include <cstdint>

#include "mpi/error.hpp"

namespace hf::mpi {
struct Comm;
struct Datatype;
struct Errhandler;
struct File;  // there are none: only the null handle is known
struct Group;
struct Info;
struct Message;
struct Op;
struct Request;
struct Session;
}  // namespace hf::mpi

namespace hf::abi {

// A handle number, the same in every front end: below `dynamic_numbers` the value of a predefined handle in the standard
// ABI (MPI 5.0, A.1.1), else the number of a slot in the HandleTable. Fits an int, as MPI_Comm_toint wants. 0: no handle.
using HandleNumber = std::uint32_t;

enum class Kind : std::uint8_t { comm = 1, group, message, info, errhandler, request, datatype, op, win, file, session };
inline constexpr int kind_count = 12;

struct KindFacts {
  Kind kind;
  HandleNumber null, last;  // predefined handles are null + 1 ... last
  int error;                // class of the error that a bad handle is
  const char* noun;
  const char* null_name;
};

template <class Object>
inline constexpr KindFacts facts{};
template <>
inline constexpr KindFacts facts<mpi::Comm>{
    Kind::comm, 0x100, 0x102, mpi::err_comm, "communicator", "MPI_COMM_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Group>{
    Kind::group, 0x108, 0x109, mpi::err_group, "group", "MPI_GROUP_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Message>{
    Kind::message, 0x128, 0x129, mpi::err_request, "message", "MPI_MESSAGE_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Info>{
    Kind::info, 0x130, 0x131, mpi::err_info, "info object", "MPI_INFO_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Errhandler>{
    Kind::errhandler, 0x140, 0x143, mpi::err_errhandler, "error handler", "MPI_ERRHANDLER_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Request>{
    Kind::request, 0x180, 0x180, mpi::err_request, "request", "MPI_REQUEST_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Datatype>{
    Kind::datatype, 0x200, 0x3ff, mpi::err_type, "datatype", "MPI_DATATYPE_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Op>{
    Kind::op, 0x20, 0x3f, mpi::err_op, "operation", "MPI_OP_NULL"};
template <>
inline constexpr KindFacts facts<mpi::File>{
    Kind::file, 0x118, 0x118, mpi::err_file, "file", "MPI_FILE_NULL"};
template <>
inline constexpr KindFacts facts<mpi::Session>{
    Kind::session, 0x120, 0x120, mpi::err_session, "session", "MPI_SESSION_NULL"};

inline constexpr HandleNumber predefined_numbers = 0x400;

}  // namespace hf::abi
