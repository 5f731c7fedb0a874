#include "abi/raise.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "mpi/api.hpp"
#include "mpi/frontend.hpp"
#include "mpi/session.hpp"
#include "os/loaded_mpi.hpp"
#include "os/standard_streams.hpp"

namespace hf::abi {
namespace {

constexpr std::size_t max_error_string = 512;

std::string describe(mpi::Process& p, int code) {
  char text[max_error_string] = "";
  int length = 0;
  if (mpi::error_string(p, code, text, length) != mpi::success || length <= 0) {
    p.take_explanation();
    return fmt::format("error {}", code);
  }
  return text;
}

// Ends the job, after what the program has printed. The line names the function, the error and what is known about it.
[[noreturn]] void end_job(mpi::Process& p, const char* function, int code, const std::string& explanation) {
  std::string line = fmt::format("{} failed: {}", function, describe(p, code));
  if (!explanation.empty()) line += ": " + explanation;
  os::flush_streams();
  if (p.engine && p.phase == mpi::Process::Phase::joined) {
    line = fmt::format("rank {}: {}", p.engine->job().self.value, line);
    p.engine->abort(mpi::exit_code(code), line);
  }
  std::fprintf(stderr, "holdfast: %s\n", line.c_str());
  std::_Exit(1);
}

// The program's function, with the null handle when there is no object.
void call_function(const mpi::Errhandler& handler, const Blamed& to, int code) {
  const mpi::Callback& function = handler.function;
  switch (handler.owner) {
    case mpi::Errhandler::Owner::comm:
      return function.frontend->call_comm_errhandler(function, to.comm, &code);
    case mpi::Errhandler::Owner::file:
      return function.frontend->call_file_errhandler(function, &code);
    case mpi::Errhandler::Owner::session:
      return function.frontend->call_session_errhandler(function, to.session, &code);
    case mpi::Errhandler::Owner::win:
      return;  // there are no windows, and none is ever blamed
  }
}

// The handler is found that gets the error.
Blamed resolve(mpi::Process& p, Blamed to) {
  if (to.handler) return to;
  if (!to.comm && to.session) {
    to.handler = to.session->errhandler;
    return to;
  }
  if (!to.comm) to.comm = p.self;
  to.handler = to.comm && to.comm->errhandler ? to.comm->errhandler : &p.errors_are_fatal;
  return to;
}

int handle(mpi::Process& p, const char* function, int code, Blamed to) {
  std::string explanation = p.take_explanation();
  to = resolve(p, to);
  switch (to.handler->kind) {
    case mpi::Errhandler::Kind::errors_return:
      return code;
    case mpi::Errhandler::Kind::user:
      mpi::retain(to.handler);  // it may be replaced or freed while it runs
      call_function(*to.handler, to, code);
      mpi::release(to.handler);
      return code;
    case mpi::Errhandler::Kind::errors_are_fatal:
    case mpi::Errhandler::Kind::errors_abort:
      break;
  }
  end_job(p, function, code, explanation);
}

}  // namespace

int raise(mpi::Process& p, const char* function, int code, Blamed blamed) {
  mpi::Comm* named = p.take_blamed();
  if (!blamed.comm && !blamed.session) blamed.comm = named;
  code = handle(p, function, code, blamed);
  mpi::release(named);
  return code;
}

int call_errhandler(mpi::Process& p, const char* function, Blamed blamed, int code) {
  p.explain(code, "the program raised it");
  handle(p, function, code, blamed);
  return mpi::success;
}

void called_outside(mpi::Process& p, const char* function) {
  const bool early = p.phase == mpi::Process::Phase::before_join;
  const char* when = early ? "before MPI_Init or MPI_Session_init" : "after MPI_Finalize or the last MPI_Session_finalize";
  os::flush_streams();
  std::fprintf(stderr, "holdfast: %s was called %s\n", function, when);
  std::_Exit(1);
}

std::string second_mpi_text() {
  static const std::string other = [] {
    Dl_info own{};
    char path[PATH_MAX] = "";
    if (::dladdr(reinterpret_cast<const void*>(&second_mpi_text), &own) == 0 || !::realpath(own.dli_fname, path)) return std::string();
    return os::find_loaded_mpi(os::read_maps(::getpid()), path).other;
  }();
  if (other.empty()) return {};
  return fmt::format("; this process has loaded a second MPI, {}: build all of the program with Holdfast's mpicc", other);
}

std::string unsupported_text(const char* function) {
  return fmt::format("{} is not supported by this version of Holdfast", function);
}

bool only_returns(mpi::Process& p, Blamed blamed) {
  return resolve(p, blamed).handler->kind == mpi::Errhandler::Kind::errors_return;
}

void note_unsupported(mpi::Process& p, const char* function, const char* consequence) {
  static std::set<std::string_view> noted;
  if (!noted.insert(function).second) return;
  const std::string text = unsupported_text(function) + ": it has returned an error" + consequence;
  if (p.engine && p.phase == mpi::Process::Phase::joined) {
    p.engine->note(text);
  } else {
    std::fprintf(stderr, "holdfast: %s\n", text.c_str());
  }
}

}  // namespace hf::abi
