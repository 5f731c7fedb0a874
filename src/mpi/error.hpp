// Error codes returned by every function of mpi/: MPI_SUCCESS or an error class of the standard ABI (MPI 5.0, 20.4),
// or a code added by the program. The text for the user goes to Process::explain.
#pragma once

namespace hf::mpi {

enum ErrorClass : int {
  success = 0, err_buffer, err_count, err_type, err_tag, err_comm, err_rank, err_request, err_root, err_group, err_op,
  err_topology, err_dims, err_arg, err_unknown, err_truncate, err_other, err_intern, err_pending, err_in_status,
  err_access, err_amode, err_assert, err_bad_file, err_base, err_conversion, err_disp, err_dup_datarep,
  err_file_exists, err_file_in_use, err_file, err_info_key, err_info_nokey, err_info_value, err_info, err_io,
  err_keyval, err_locktype, err_name, err_no_mem, err_not_same, err_no_space, err_no_such_file, err_port, err_quota,
  err_read_only, err_rma_attach, err_rma_conflict, err_rma_range, err_rma_shared, err_rma_sync, err_service, err_size,
  err_spawn, err_unsupported_datarep, err_unsupported_operation, err_win, err_rma_flavor, err_proc_aborted,
  err_value_too_large, err_session, err_errhandler, err_abi,
  // of the tool interface (15.3.10)
  t_err_not_initialized = 1003, t_err_invalid = 1006, t_err_invalid_index, t_err_invalid_session = 1009,
  t_err_invalid_handle, t_err_invalid_name, t_err_out_of_sessions = 1013,
  err_lastcode = 0x3fff,
};
static_assert(err_truncate == 15 && err_unsupported_operation == 55 && err_abi == 62);

}  // namespace hf::mpi
