// Files and directories with names that nobody else has: the C library draws them inside itself, where nothing is recorded. Here they are drawn from
// what is recorded, and the names are the same again.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder/file_steps.hpp"
#include "recorder/random.hpp"
#include "recorder/opened.hpp"

namespace hf::recorder {
namespace {

int (*next_mkostemps)(char*, int, int);
char* (*next_mkdtemp)(char*);

constexpr char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr int drawn_letters = 6, attempts_max = 1000;

// `make` returns -1 where there is such a name. The last six letters before `suffix` of them are to be XXXXXX.
template <class Make>
int make_named(char* name, int suffix, Make make) {
  const auto length = static_cast<int>(strlen(name));
  char* at = name + length - suffix - drawn_letters;
  if (suffix < 0 || length - suffix < drawn_letters || strncmp(at, "XXXXXX", drawn_letters) != 0) {
    errno = EINVAL;
    return -1;
  }
  const int before = errno;
  for (int i = 0; i < attempts_max; ++i) {
    std::uint64_t drawn = 0;
    draw_recorded(&drawn, sizeof drawn);
    for (int k = 0; k < drawn_letters; ++k, drawn /= sizeof letters - 1) at[k] = letters[drawn % (sizeof letters - 1)];
    const int made = make();
    if (made >= 0) {
      errno = before;
      return made;
    }
    if (errno != EEXIST) return -1;
  }
  return -1;
}

// open() is the recorder's: what has been made is opened again.
int make_file(const void* caller, char* name, int suffix, int flags) {
  if (!process.records_in_main_thread(caller) || is_of_system(name)) return next(next_mkostemps, "mkostemps")(name, suffix, flags);
  return make_named(name, suffix, [=] {
    return open_as_program(name, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  });
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int mkstemp(char* name) { return make_file(CALLER, name, 0, 0); }
HOLDFAST_REPLACES int mkstemp64(char* name) { return make_file(CALLER, name, 0, O_LARGEFILE); }
HOLDFAST_REPLACES int mkostemp(char* name, int flags) { return make_file(CALLER, name, 0, flags); }
HOLDFAST_REPLACES int mkostemp64(char* name, int flags) { return make_file(CALLER, name, 0, flags | O_LARGEFILE); }
HOLDFAST_REPLACES int mkstemps(char* name, int suffix) { return make_file(CALLER, name, suffix, 0); }
HOLDFAST_REPLACES int mkstemps64(char* name, int suffix) { return make_file(CALLER, name, suffix, O_LARGEFILE); }
HOLDFAST_REPLACES int mkostemps(char* name, int suffix, int flags) { return make_file(CALLER, name, suffix, flags); }
HOLDFAST_REPLACES int mkostemps64(char* name, int suffix, int flags) { return make_file(CALLER, name, suffix, flags | O_LARGEFILE); }

HOLDFAST_REPLACES char* mkdtemp(char* name) noexcept {
  if (!process.records_in_main_thread(CALLER) || is_of_system(name)) return next(next_mkdtemp, "mkdtemp")(name);
  const int made = make_named(name, 0, [=] { return make_directory_once(name, [=] { return make_directory(name, S_IRWXU); }); });
  return made < 0 ? nullptr : name;
}
