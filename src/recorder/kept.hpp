// The contents of files that this rank has read and that will not stay: made or changed since the job began, by another rank, or removed or written over by this one. They are
// recorded, so that the next incarnation reads them again. docs/recorder.md, Files.
#pragma once
#include "recorder/names.hpp"

namespace hf::recorder {

inline constexpr std::int64_t kept_file_bytes_max = 1 << 20, kept_bytes_max = 16 << 20;  // of one file, and of all of an incarnation
inline constexpr std::int64_t kept_before_init_max = 4 << 20;                             // until MPI_Init, where all events have 16 MiB

void keep_if_young(const char* path, Name& name, const FileState& now);  // it is opened to be read only
void keep_if_read(const char* path);                                     // this rank is about to remove it, or to write it over
void keep(const char* path, Name& name, const FileState& contents);  // what it contains, if there is room
bool is_kept(const KeptPiece& file);
bool write_kept(int fd, KeptPiece file);  // false: it was not kept, or cannot be written
// The file as it was `before` is made out of sight (gone.hpp). False: it was not kept, or that cannot be done.
bool make_kept_again(const char* path, Name& name, const FileState& before);

}  // namespace hf::recorder
