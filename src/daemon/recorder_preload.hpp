// The recorder (docs/recorder.md) is preloaded into a rank's program, if that can be.
#pragma once
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace hf::daemon {

// The library to be preloaded into this program. An error says why its clocks and random numbers are not recorded.
Result<std::string> recorder_for(const std::string& program);

// Why nothing can be preloaded into a program with these contents; empty: it can, or it is no ELF file (a script). Pure.
std::string why_not_preloaded(Bytes program);

// Puts the library before what is preloaded already.
void preload(const std::string& library, std::vector<std::string>& environment);

// Takes the recorder, of whatever installation, out of what is preloaded.
void do_not_preload(std::vector<std::string>& environment);

}  // namespace hf::daemon
