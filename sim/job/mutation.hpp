// A deliberate bug in the simulator's own parts, which a checker must find: sim/job/mutations.cmake. Of the cores' each is a build of its
// own; of these one build has all, and takes the one that the environment names.
#pragma once

#ifdef HOLDFAST_MUTABLE
#include <cstdlib>
#include <string_view>

#define HF_MUTATED(name)                                        \
  [] {                                                          \
    static const bool is = ::hf::sim::job::is_mutation(#name); \
    return is;                                                  \
  }()

namespace hf::sim::job {

inline bool is_mutation(std::string_view name) {
  const char* const chosen = std::getenv("HOLDFAST_MUTATION");
  return chosen && chosen == name;
}

}  // namespace hf::sim::job
#else
#define HF_MUTATED(name) false
#endif
