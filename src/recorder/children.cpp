// A rank that starts a process: it may read, or add to, what the rank has open to be written, by its name. docs/recorder.md, Files.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "recorder/aside.hpp"
#include "recorder/closings.hpp"

namespace hf::recorder {
namespace {

int (*next_system)(const char*);
FILE* (*next_popen)(const char*, const char*);
int (*next_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);
int (*next_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);

void begin_child(const void* caller) {
  if (process.records_in_main_thread(caller)) aside([] { note_seen_by_child(); });
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int system(const char* command) {
  begin_child(CALLER);
  return next(next_system, "system")(command);
}

HOLDFAST_REPLACES FILE* popen(const char* command, const char* mode) {
  begin_child(CALLER);
  return next(next_popen, "popen")(command, mode);
}

HOLDFAST_REPLACES int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, char* const* arguments,
                                  char* const* environment) {
  begin_child(CALLER);
  return next(next_spawn, "posix_spawn")(pid, path, actions, attributes, arguments, environment);
}

HOLDFAST_REPLACES int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, char* const* arguments,
                                   char* const* environment) {
  begin_child(CALLER);
  return next(next_spawnp, "posix_spawnp")(pid, file, actions, attributes, arguments, environment);
}

HOLDFAST_REPLACES pid_t fork() noexcept {
  static pid_t (*next_fork)();
  begin_child(CALLER);
  return next(next_fork, "fork")();
}

#ifdef __x86_64__
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* holdfast_before_vfork(const void* caller) {
  begin_child(caller);
  return find_next("vfork");
}

// The child returns from it before the parent does, on the same stack: nothing of this function may be there.
HOLDFAST_REPLACES [[gnu::naked]] pid_t vfork() noexcept {
  asm("movq (%rsp), %rdi\n\t"
      "subq $8, %rsp\n\t"
      "call holdfast_before_vfork\n\t"
      "addq $8, %rsp\n\t"
      "jmp *%rax");
}
#endif
