// MPI_Pack and MPI_Unpack, natively and in external32 (MPI 5.0, 5.2 and 5.3).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "mpi/api.hpp"
#include "mpi/datatype_body.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

// Bytes of `count` elements of `size` bytes that are to lie in [position, buffer_size).
int bytes_in(Process& p, Count count, Count size, Count buffer_size, Count position, Count& bytes) {
  if (__builtin_mul_overflow(count, size, &bytes)) {
    return p.explain(err_count, fmt::format("{} elements of {} bytes do not fit into MPI_Count", count, size));
  }
  if (position < 0 || position > buffer_size) {
    return p.explain(err_arg, fmt::format("position {} is not within the buffer of {} bytes", position, buffer_size));
  }
  if (bytes > buffer_size - position) {
    return p.explain(err_truncate, fmt::format("{} bytes at position {} do not fit into the buffer of {} bytes", bytes,
                                               position, buffer_size));
  }
  return success;
}

int check_representation(Process& p, const char* datarep) {
  if (std::string_view(datarep) == "external32") return success;
  return p.explain(err_unsupported_datarep,
                   fmt::format("\"{:.32}\" is not a data representation to pack to; external32 is", datarep));
}

Count external_size(const Datatype& type) {
  const auto& signature = type.body->shape.signature;
  return signature ? signature->external_bytes : 0;
}

// Native packed elements are converted a batch at a time.
constexpr Count batch_bytes = 64 * 1024;
Count batch_count(const Datatype& type) {
  return std::max<Count>(1, batch_bytes / std::max<Count>(1, type.size));
}

int inconvertible(Process& p) {
  return p.explain(err_conversion, "a value is too large for its type in the other representation");
}

}  // namespace

int pack(Process& p, const void* inbuf, Count incount, Datatype& type, void* outbuf, Count outsize, Count& position,
         Comm&) {
  Count bytes = 0;
  if (int code = bytes_in(p, incount, type.size, outsize, position, bytes)) return code;
  const MutableBytes out(static_cast<std::byte*>(outbuf) + position, static_cast<std::size_t>(bytes));
  pack_range(type, inbuf, incount, 0, out);
  position += bytes;
  return success;
}

int unpack(Process& p, const void* inbuf, Count insize, Count& position, void* outbuf, Count outcount, Datatype& type,
           Comm&) {
  Count bytes = 0;
  if (int code = bytes_in(p, outcount, type.size, insize, position, bytes)) return code;
  const Bytes in(static_cast<const std::byte*>(inbuf) + position, static_cast<std::size_t>(bytes));
  unpack_range(type, outbuf, outcount, 0, in);
  position += bytes;
  return success;
}

int pack_size(Process& p, Count incount, Datatype& type, Comm&, Count& size) {
  if (!__builtin_mul_overflow(incount, type.size, &size)) return success;
  return p.explain(err_count, fmt::format("{} elements of {} bytes do not fit into MPI_Count", incount, type.size));
}

int pack_external_size(Process& p, const char* datarep, Count incount, Datatype& type, Count& size) {
  if (int code = check_representation(p, datarep)) return code;
  if (!__builtin_mul_overflow(incount, external_size(type), &size)) return success;
  return p.explain(err_count,
                   fmt::format("{} elements of {} bytes do not fit into MPI_Count", incount, external_size(type)));
}

int pack_external(Process& p, const char* datarep, const void* inbuf, Count incount, Datatype& type, void* outbuf,
                  Count outsize, Count& position) {
  Count bytes = 0;
  if (int code = check_representation(p, datarep)) return code;
  if (int code = bytes_in(p, incount, external_size(type), outsize, position, bytes)) return code;
  if (bytes == 0) return success;
  const Count step = batch_count(type);
  std::vector<std::byte> native(static_cast<std::size_t>(std::min(step, incount) * type.size));
  std::byte* external = static_cast<std::byte*>(outbuf) + position;
  for (Count done = 0; done < incount; done += step) {
    const Count n = std::min(step, incount - done);
    const std::byte* from = native.data();
    pack_range(type, inbuf, incount, static_cast<std::size_t>(done * type.size),
               MutableBytes(native.data(), static_cast<std::size_t>(n * type.size)));
    for (Count i = 0; i < n; ++i) {
      if (!signature::to_external(*type.body->shape.signature, from, external)) return inconvertible(p);
    }
  }
  position += bytes;
  return success;
}

int unpack_external(Process& p, const char* datarep, const void* inbuf, Count insize, Count& position, void* outbuf,
                    Count outcount, Datatype& type) {
  Count bytes = 0;
  if (int code = check_representation(p, datarep)) return code;
  if (int code = bytes_in(p, outcount, external_size(type), insize, position, bytes)) return code;
  if (bytes == 0) return success;
  const Count step = batch_count(type);
  std::vector<std::byte> native(static_cast<std::size_t>(std::min(step, outcount) * type.size));
  const std::byte* external = static_cast<const std::byte*>(inbuf) + position;
  for (Count done = 0; done < outcount; done += step) {
    const Count n = std::min(step, outcount - done);
    std::byte* to = native.data();
    for (Count i = 0; i < n; ++i) {
      if (!signature::from_external(*type.body->shape.signature, external, to)) return inconvertible(p);
    }
    unpack_range(type, outbuf, outcount, static_cast<std::size_t>(done * type.size),
                 Bytes(native.data(), static_cast<std::size_t>(n * type.size)));
  }
  position += bytes;
  return success;
}

}  // namespace hf::mpi
