// Views of memory, and a bounds-checked reader and writer for wire and file formats (little-endian, as the machine).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hf {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// memcpy, without a call for what fits two words; of 8 to 16 bytes both places may overlap.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t n) {
  if (n < 8 || n > 16) {
    if (n > 0) std::memcpy(to, from, n);
    return;
  }
  std::uint64_t first, last;
  std::memcpy(&first, from, 8);
  std::memcpy(&last, from + n - 8, 8);
  std::memcpy(to, &first, 8);
  std::memcpy(to + n - 8, &last, 8);
}

// Appends plain values; the buffer is the caller's.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(bytes_of(text));
  }

 private:
  std::vector<std::byte>& out_;
};

// Reads plain values; once anything was missing ok() is false and all further values are zero.
class ByteReader {
 public:
  explicit ByteReader(Bytes in) : in_(in) {}
  bool ok() const { return ok_; }
  std::size_t left() const { return in_.size(); }
  Bytes rest() const { return in_; }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    Bytes raw = get_bytes(sizeof(T));
    if (ok_) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  Bytes get_bytes(std::size_t n) {
    if (!ok_ || n > in_.size()) {
      ok_ = false;
      return {};
    }
    Bytes out = in_.first(n);
    in_ = in_.subspan(n);
    return out;
  }
  std::string get_text() { return std::string(text_of(get_bytes(get<std::uint32_t>()))); }

 private:
  Bytes in_;
  bool ok_ = true;
};

}  // namespace hf
