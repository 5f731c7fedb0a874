// What is known when a file is closed. Whether it is there, programs also ask by opening and closing it (GROMACS, C++): that nothing was read is recorded; nothing was, if
// the stream has no buffer yet, and nobody has asked for its descriptor. And of one that was written to, that it is complete.
#pragma once
#include <stdio.h>

#include "recorder/names.hpp"

namespace hf::recorder {

// It has been opened, the program's `occurrence`-th such opening of the name; null: it has not. `step`: what is recorded of its closing, FileStep::unread, closed or
// closed_new. In the main thread.
FILE* watch(FILE* stream, const Name* name, std::uint32_t occurrence, FileStep step);
int watch(int fd, const Name* name, std::uint32_t occurrence, FileStep step);
void forget(FILE* stream);
void note_seen_by_child();  // a process is about to be started: what is open to be written, it may read or add to
bool was_unread(const Name& name, std::uint32_t occurrence);  // in the run before

}  // namespace hf::recorder
