// A run of bytes of the packed form of a typed buffer: the unit in which collectives move data. Parts of contiguous types
// are plain memory; others are packed and unpacked on the way, at any byte, so that no algorithm needs a packed copy only
// because of a type's layout.
#pragma once
#include <cstddef>

#include "engine/operation.hpp"
#include "mpi/datatype.hpp"

namespace hf::mpi {

struct Part {
  const Datatype* type = nullptr;  // null: `buffer` is bytes; else its elements are not contiguous
  std::byte* buffer = nullptr;
  Count count = 0;         // elements at `buffer`; typed parts only
  std::size_t offset = 0;  // into the packed form; typed parts only
  std::size_t bytes = 0;

  // `count` elements; the bytes of an input are never written to.
  static Part of(const void* buffer, Count count, const Datatype& type) {
    auto* at = static_cast<std::byte*>(const_cast<void*>(buffer));
    const auto bytes = static_cast<std::size_t>(count * type.size);
    if (type.contiguous) return {nullptr, at, 0, 0, bytes};
    return {&type, at, count, 0, bytes};
  }
  static Part raw(void* buffer, std::size_t bytes) { return {nullptr, static_cast<std::byte*>(buffer), 0, 0, bytes}; }

  // Bytes [from, from + length) of this part.
  Part slice(std::size_t from, std::size_t length) const {
    if (!type) return {nullptr, buffer + from, 0, 0, length};
    return {type, buffer, count, offset + from, length};
  }

  void pack(std::size_t from, MutableBytes out) const;
  void unpack(std::size_t to, Bytes in) const;

  // Both refer to this object where it is not contiguous: it must outlive the operation.
  engine::Source source() const {
    if (!type || bytes == 0) return {buffer, bytes};
    return {nullptr, bytes,
            [](const void* self, std::size_t at, MutableBytes out) { static_cast<const Part*>(self)->pack(at, out); }, this};
  }
  engine::Sink sink() const {
    if (!type || bytes == 0) return {buffer, bytes};
    return {nullptr, bytes, [](void* self, std::size_t at, Bytes in) { static_cast<const Part*>(self)->unpack(at, in); },
            const_cast<Part*>(this)};
  }
};

void copy_long_part(const Part& from, const Part& to);
// Copies the packed form; both have the same length. Memory without gaps may overlap.
inline void copy_part(const Part& from, const Part& to) {
  const bool is_short = !from.type && !to.type && from.bytes == to.bytes && from.bytes >= 8 && from.bytes <= 16;
  if (is_short) copy_short(to.buffer, from.buffer, from.bytes);
  else copy_long_part(from, to);
}

}  // namespace hf::mpi
