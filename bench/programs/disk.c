/* Rate of the disk in MB/s: MEBIBYTES written past the page cache, in blocks of 1 MiB, to an unlinked file in DIRECTORY.

     disk DIRECTORY MEBIBYTES */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

int main(int argc, char** argv) {
  const long blocks = argc == 3 ? atol(argv[2]) : 0;
  void* block = NULL;
  const int file = argc == 3 ? open(argv[1], O_TMPFILE | O_WRONLY | O_DIRECT, 0600) : -1;
  if (blocks < 1 || file < 0 || posix_memalign(&block, 4096, BLOCK)) {
    perror("disk DIRECTORY MEBIBYTES");
    return 1;
  }
  memset(block, 1, BLOCK);
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (long i = 0; i < blocks; ++i) {
    if (write(file, block, BLOCK) != BLOCK) {
      perror("write");
      return 1;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  printf("point disk %.6g\n", (double)blocks * BLOCK / seconds / 1e6);
  return 0;
}
