// Whether a file is there, programs also ask by opening and closing it (GROMACS, C++). What is in it does not matter then: that nothing was read is recorded
// when it is closed. Nothing was, if the stream has no buffer yet, and nobody has asked for its descriptor.
#pragma once
#include <stdio.h>

#include "recorder/names.hpp"

namespace hf::recorder {

// It has been opened to be read, the program's `occurrence`-th such use of the name; null: it has not. In the main thread.
FILE* watch(FILE* stream, const Name* name, std::uint32_t occurrence);
void forget(FILE* stream);
bool was_unread(const Name& name, std::uint32_t occurrence);  // in the run before

}  // namespace hf::recorder
