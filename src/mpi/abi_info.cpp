// Questions about the ABI (MPI 5.0, 20.3 and 20.4).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "mpi/api.hpp"
#include "mpi/info.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// What the predefined datatypes of Fortran have here: another compiler's are refused rather than sent wrongly.
constexpr std::pair<std::string_view, std::string_view> fortran_sizes[] = {
    {"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"}};
constexpr std::string_view fortran_types[] = {
    "logical1", "logical2", "logical4",  "logical8", "logical16", "integer1",  "integer2",  "integer4",
    "integer8", "integer16", "real2",    "real4",    "real8",     "real16",    "complex4",  "complex8",
    "complex16", "complex32", "double_complex"};

bool predefined_key(std::string_view key) {
  if (std::ranges::any_of(fortran_sizes, [&](const auto& size) { return key == size.first; })) return true;
  return std::ranges::any_of(fortran_types,
                             [&](std::string_view type) { return key == fmt::format("mpi_{}_supported", type); });
}

int check_sizes(Process& p, const Info& info) {
  for (const auto& [key, size] : fortran_sizes) {
    const auto given = std::ranges::find(info.entries, key, [](const auto& entry) { return std::string_view(entry.first); });
    if (given == info.entries.end() || given->second == size) continue;
    return p.explain(err_unsupported_operation, fmt::format("{} is {}, and can only be {} here", key, given->second, size));
  }
  return success;
}

// What logical operations give is 1 or 0.
bool is_number(const void* literal, std::size_t bytes, std::uint8_t number) {
  std::array<std::uint8_t, FortranAbi::logical_bytes_max> wanted{number};  // the low byte first
  return std::memcmp(literal, wanted.data(), bytes) == 0;
}

int check_logical_size(Process& p, int logical_size) {
  if (logical_size > 0 && logical_size <= static_cast<int>(FortranAbi::logical_bytes_max) &&
      std::has_single_bit(static_cast<unsigned>(logical_size))) {
    return success;
  }
  return p.explain(err_arg, fmt::format("logical_size is {}, it must be 1, 2, 4, 8 or 16", logical_size));
}

}  // namespace

int abi_get_version(Process&, int& abi_major, int& abi_minor) {
  abi_major = 1;
  abi_minor = 0;
  return success;
}

int abi_get_info(Process&, Info*& info) {
  info = new Info;
  for (const char* type : {"aint", "count", "offset"}) {
    info->entries.emplace_back(fmt::format("mpi_{}_size", type), fmt::format("{}", sizeof(Count)));
  }
  return success;
}

int abi_get_fortran_info(Process& p, Info*& info) {
  info = nullptr;
  if (!p.fortran.info_set) return success;
  info = new Info;
  info->entries = p.fortran.info;
  return success;
}

int abi_set_fortran_info(Process& p, Info* info) {
  if (!info) return p.explain(err_info, "info is MPI_INFO_NULL");
  if (p.fortran.info_set) return p.explain(err_abi, "the properties of the Fortran compiler have been set before");
  if (int code = check_sizes(p, *info)) return code;
  p.fortran.info_set = true;
  std::ranges::copy_if(info->entries, std::back_inserter(p.fortran.info),
                       [](const auto& entry) { return predefined_key(entry.first); });
  return success;
}

int abi_get_fortran_booleans(Process& p, int logical_size, void* logical_true, void* logical_false, int& is_set) {
  if (int code = check_logical_size(p, logical_size)) return code;
  const std::size_t bytes = static_cast<std::size_t>(logical_size);
  is_set = p.fortran.logical_bytes == bytes;
  if (is_set) {
    std::memcpy(logical_true, p.fortran.logical_true.data(), bytes);
    std::memcpy(logical_false, p.fortran.logical_false.data(), bytes);
  }
  return success;
}

int abi_set_fortran_booleans(Process& p, int logical_size, void* logical_true, void* logical_false) {
  if (int code = check_logical_size(p, logical_size)) return code;
  if (!logical_true || !logical_false) return p.explain(err_arg, "a literal is a null pointer");
  if (p.fortran.logical_bytes) return p.explain(err_abi, "the Fortran booleans have been set before");
  const auto bytes = static_cast<std::size_t>(logical_size);
  if (!is_number(logical_true, bytes, 1) || !is_number(logical_false, bytes, 0)) {
    return p.explain(err_unsupported_operation, "the literals are not 1 and 0, which is what logical operations give here");
  }
  p.fortran.logical_bytes = bytes;
  std::memcpy(p.fortran.logical_true.data(), logical_true, p.fortran.logical_bytes);
  std::memcpy(p.fortran.logical_false.data(), logical_false, p.fortran.logical_bytes);
  return success;
}

}  // namespace hf::mpi
