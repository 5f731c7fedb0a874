// Where the events of files are in a record, by name: a program may make millions of them. Pure.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hf::recorder {

struct FilePlace {
  std::uint64_t name = 0;
  std::uint32_t what = 0;  // EventHead::count
  std::uint64_t at = 0;    // of the event, from the record's beginning
};

class FileIndex {
 public:
  // A record begins with the events of files: so many are there. What is damaged ends it.
  static std::size_t count(const std::byte* record, std::size_t bytes);
  // `places`: room for all of them. Both are kept by the caller.
  void build(const std::byte* record, std::size_t bytes, FilePlace* places);

  // Those of one name and kind, in the order in which they were recorded.
  struct Range {
    const FilePlace *begin = nullptr, *end = nullptr;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  Range find(std::uint64_t name, std::uint32_t what) const;
  const std::byte* body(const FilePlace& place) const;  // what follows the event's head

 private:
  const std::byte* record_ = nullptr;
  FilePlace *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace hf::recorder
