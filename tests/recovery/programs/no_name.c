/* no_name: what opens and changes files is given no name at all (fopen(getenv("CONFIGURATION"), "r")), and fails as it does without a recorder. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void fails(int succeeds, const char* call) {
  if (!succeeds && errno == EFAULT) return;
  printf("%s: errno %d\n", call, errno);
  exit(3);
}
#define FAILS(call) (errno = 0, fails(call, #call))

int main(void) {
  const char* none = getenv("A_NAME_THAT_IS_NOT_SET");
  struct stat status;
  FAILS(fopen(none, "r") != NULL);
  FAILS(fopen(none, "w") != NULL);
  FAILS(fopen64(none, "a") != NULL);
  FAILS(open(none, O_RDONLY) != -1);
  FAILS(open(none, O_CREAT | O_EXCL | O_WRONLY, 0600) != -1);
  FAILS(openat(AT_FDCWD, none, O_RDONLY) != -1);
  FAILS(openat(0, none, O_RDONLY) != -1);
  FAILS(creat(none, 0600) != -1);
  FAILS(unlink(none) != -1);
  FAILS(remove(none) != -1);
  FAILS(rename(none, "here") != -1);
  FAILS(rename("here", none) != -1);
  FAILS(mkdir(none, 0700) != -1);
  FAILS(rmdir(none) != -1);
  FAILS(symlink("here", none) != -1);
  FAILS(link(none, none) != -1);
  FAILS(stat(none, &status) != -1);
  FAILS(access(none, F_OK) != -1);
  puts("ok");
  return 0;
}
