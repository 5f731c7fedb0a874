#include "mpi/error_codes.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t max_error_string = 512;

constexpr const char* texts[] = {
    "MPI_SUCCESS: no error",
    "MPI_ERR_BUFFER: the buffer cannot be used",
    "MPI_ERR_COUNT: the count is not valid",
    "MPI_ERR_TYPE: the datatype is not valid here",
    "MPI_ERR_TAG: the tag is not valid",
    "MPI_ERR_COMM: the communicator is not valid here",
    "MPI_ERR_RANK: the rank is not valid",
    "MPI_ERR_REQUEST: the request is not valid here",
    "MPI_ERR_ROOT: the root is not valid",
    "MPI_ERR_GROUP: the group is not valid here",
    "MPI_ERR_OP: the operation is not valid here",
    "MPI_ERR_TOPOLOGY: the topology is not valid here",
    "MPI_ERR_DIMS: the dimensions are not valid",
    "MPI_ERR_ARG: an argument is not valid",
    "MPI_ERR_UNKNOWN: an error of unknown kind",
    "MPI_ERR_TRUNCATE: the message is longer than the buffer",
    "MPI_ERR_OTHER: an error of no other class",
    "MPI_ERR_INTERN: an error inside the MPI library",
    "MPI_ERR_PENDING: the operation is not complete and has not failed",
    "MPI_ERR_IN_STATUS: the error code is in the status",
    "MPI_ERR_ACCESS: permission denied",
    "MPI_ERR_AMODE: the access mode is not valid",
    "MPI_ERR_ASSERT: the assertion is not valid",
    "MPI_ERR_BAD_FILE: the file name is not valid",
    "MPI_ERR_BASE: the base address of the memory is not valid",
    "MPI_ERR_CONVERSION: a value cannot be converted between data representations",
    "MPI_ERR_DISP: the displacement is not valid",
    "MPI_ERR_DUP_DATAREP: the data representation is defined already",
    "MPI_ERR_FILE_EXISTS: the file exists",
    "MPI_ERR_FILE_IN_USE: the file is open elsewhere",
    "MPI_ERR_FILE: the file handle is not valid",
    "MPI_ERR_INFO_KEY: the info key is not valid, or longer than MPI_MAX_INFO_KEY",
    "MPI_ERR_INFO_NOKEY: the info object has no such key",
    "MPI_ERR_INFO_VALUE: the info value is not valid, or longer than MPI_MAX_INFO_VAL",
    "MPI_ERR_INFO: the info object is not valid here",
    "MPI_ERR_IO: input or output failed",
    "MPI_ERR_KEYVAL: the attribute key is not valid",
    "MPI_ERR_LOCKTYPE: the kind of lock is not valid",
    "MPI_ERR_NAME: no service is published under this name",
    "MPI_ERR_NO_MEM: out of memory",
    "MPI_ERR_NOT_SAME: an argument differs between the processes of a collective call",
    "MPI_ERR_NO_SPACE: no space is left",
    "MPI_ERR_NO_SUCH_FILE: there is no such file",
    "MPI_ERR_PORT: the port is not valid",
    "MPI_ERR_QUOTA: the quota is exceeded",
    "MPI_ERR_READ_ONLY: the file or file system is read-only",
    "MPI_ERR_RMA_ATTACH: the memory cannot be attached to the window",
    "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    "MPI_ERR_RMA_RANGE: the target memory is outside of the window",
    "MPI_ERR_RMA_SHARED: the memory cannot be shared",
    "MPI_ERR_RMA_SYNC: wrong synchronisation of a window",
    "MPI_ERR_SERVICE: the service is not published",
    "MPI_ERR_SIZE: the size is not valid",
    "MPI_ERR_SPAWN: processes could not be started",
    "MPI_ERR_UNSUPPORTED_DATAREP: the data representation is not supported",
    "MPI_ERR_UNSUPPORTED_OPERATION: the operation is not supported",
    "MPI_ERR_WIN: the window is not valid here",
    "MPI_ERR_RMA_FLAVOR: the window is of the wrong flavor",
    "MPI_ERR_PROC_ABORTED: a process of the communication has been aborted",
    "MPI_ERR_VALUE_TOO_LARGE: a value is too large for the variable that is to take it",
    "MPI_ERR_SESSION: the session is not valid here",
    "MPI_ERR_ERRHANDLER: the error handler is not valid here",
    "MPI_ERR_ABI: the ABI does not provide this",
};
static_assert(std::size(texts) == err_abi + 1);

constexpr int first_tool_class = 1001;
constexpr const char* tool_texts[] = {
    "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialised",
    "MPI_T_ERR_NOT_ACCESSIBLE: not accessible at this time",
    "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialised",
    "MPI_T_ERR_NOT_SUPPORTED: not supported",
    "MPI_T_ERR_MEMORY: out of memory",
    "MPI_T_ERR_INVALID: a parameter is not valid",
    "MPI_T_ERR_INVALID_INDEX: the index is not valid",
    "MPI_T_ERR_INVALID_ITEM: the item's index is not valid",
    "MPI_T_ERR_INVALID_SESSION: the session is not valid",
    "MPI_T_ERR_INVALID_HANDLE: the handle is not valid",
    "MPI_T_ERR_INVALID_NAME: there is nothing of this name",
    "MPI_T_ERR_OUT_OF_HANDLES: no more handles are available",
    "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions are available",
    "MPI_T_ERR_CVAR_SET_NOT_NOW: the control variable cannot be set at this time",
    "MPI_T_ERR_CVAR_SET_NEVER: the control variable cannot be set until the end of execution",
    "MPI_T_ERR_PVAR_NO_WRITE: the performance variable cannot be written or reset",
    "MPI_T_ERR_PVAR_NO_STARTSTOP: the performance variable cannot be started or stopped",
    "MPI_T_ERR_PVAR_NO_ATOMIC: the performance variable cannot be read and written in one step",
};

int not_added(Process& p, int code) {
  return p.explain(err_arg, fmt::format("{} is not an error class or code that the program has added", code));
}

}  // namespace

const char* predefined_error_text(int code) {
  if (code >= 0 && code < static_cast<int>(std::size(texts))) return texts[code];
  const int tool = code - first_tool_class;
  if (tool >= 0 && tool < static_cast<int>(std::size(tool_texts))) return tool_texts[tool];
  return nullptr;
}

int ErrorCodes::add_class() {
  const int number = last_used() + 1;
  added_.push_back({number, false, {}});
  return number;
}

int ErrorCodes::add_code(int error_class) {
  added_.push_back({error_class, false, {}});
  return last_used();
}

ErrorCodes::Added* ErrorCodes::find(int code) {
  if (code <= err_lastcode || code > last_used()) return nullptr;
  Added& added = added_[static_cast<std::size_t>(code - err_lastcode - 1)];
  return added.removed ? nullptr : &added;
}

int ErrorCodes::codes_of(int error_class) const {
  int codes = 0, number = err_lastcode;
  for (const Added& added : added_) {
    ++number;
    if (!added.removed && added.error_class == error_class && number != error_class) ++codes;
  }
  return codes;
}

int add_error_class(Process& p, int& errorclass) {
  errorclass = p.error_codes.add_class();
  return success;
}

int add_error_code(Process& p, int errorclass, int& errorcode) {
  const ErrorCodes::Added* added = p.error_codes.find(errorclass);
  if (!predefined_error_text(errorclass) && !(added && added->error_class == errorclass)) {
    return p.explain(err_arg, fmt::format("{} is not an error class", errorclass));
  }
  errorcode = p.error_codes.add_code(errorclass);
  return success;
}

int add_error_string(Process& p, int errorcode, const char* string) {
  ErrorCodes::Added* added = p.error_codes.find(errorcode);
  if (!added) return not_added(p, errorcode);
  added->text.assign(string, strnlen(string, max_error_string - 1));
  return success;
}

int remove_error_class(Process& p, int errorclass) {
  ErrorCodes::Added* added = p.error_codes.find(errorclass);
  if (!added || added->error_class != errorclass) return not_added(p, errorclass);
  if (p.error_codes.codes_of(errorclass) > 0) return p.explain(err_arg, "the error class still has error codes");
  if (!added->text.empty()) return p.explain(err_arg, "the error class still has an error string");
  added->removed = true;
  return success;
}

int remove_error_code(Process& p, int errorcode) {
  ErrorCodes::Added* added = p.error_codes.find(errorcode);
  if (!added || added->error_class == errorcode) return not_added(p, errorcode);
  if (!added->text.empty()) return p.explain(err_arg, "the error code still has an error string");
  added->removed = true;
  return success;
}

int remove_error_string(Process& p, int errorcode) {
  ErrorCodes::Added* added = p.error_codes.find(errorcode);
  if (!added) return not_added(p, errorcode);
  added->text.clear();
  return success;
}

int error_class(Process& p, int errorcode, int& errorclass) {
  if (predefined_error_text(errorcode)) {
    errorclass = errorcode;
    return success;
  }
  const ErrorCodes::Added* added = p.error_codes.find(errorcode);
  if (!added) return p.explain(err_arg, fmt::format("{} is not an error code", errorcode));
  errorclass = added->error_class;
  return success;
}

int error_string(Process& p, int errorcode, char* string, int& length) {
  std::string_view text;
  if (const char* predefined = predefined_error_text(errorcode)) {
    text = predefined;
  } else if (const ErrorCodes::Added* added = p.error_codes.find(errorcode)) {
    text = added->text;
  } else {
    return p.explain(err_arg, fmt::format("{} is not an error code", errorcode));
  }
  std::memcpy(string, text.data(), text.size());
  string[text.size()] = '\0';
  length = static_cast<int>(text.size());
  return success;
}

}  // namespace hf::mpi
