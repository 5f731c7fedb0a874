/* trees DIRECTORY [renames]: each rank makes a directory of its own, under the same names over and over, and files and directories in them by all ways that programs
   have; rank 0 removes all of them, as Python's rmtree does: by what an open directory lists. It prints the rounds. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "line_files.h"

static void empty(int fd, const char* path) {
  DIR* directory = fdopendir(fd);
  need(directory != NULL, path);
  for (struct dirent* entry; (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    if (entry->d_type == DT_DIR) {
      int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY);
      need(below >= 0, entry->d_name);
      empty(below, entry->d_name);
    }
    need(unlinkat(fd, entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0) == 0, entry->d_name);
  }
  closedir(directory);
}

static void remove_tree(const char* path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY);
  need(fd >= 0, path);
  empty(fd, path);
  need(rmdir(path) == 0, path);
}

int main(int argc, char** argv) {
  int rank, ranks;
  char path[4096], file[4200], other[4200];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 30; ++i) {
    snprintf(path, sizeof path, "%s/of_%d_%d", argv[1], rank, i % 3);
    need(mkdir(path, 0755) == 0, path);
    snprintf(file, sizeof file, "%s/log", path);
    FILE* log = fopen(file, "w");
    need(log != NULL, file);
    fprintf(log, "%d\n", i);
    snprintf(file, sizeof file, "%s/sub", path);
    need(mkdir(file, 0755) == 0, file);
    snprintf(file, sizeof file, "%s/sub/data.tmp", path);
    add_line(file, "w", i);
    add_line(file, "a", i + 1);
    snprintf(other, sizeof other, "%s/sub/data", path);
    if (argc > 2) need(rename(file, other) == 0, other);
    else add_line(other, "w", i);
    need(read_line(other) == i, other);
    snprintf(file, sizeof file, "%s/sub/out", path);
    int fd = open(file, O_RDWR | O_CREAT, 0644);
    need(fd >= 0 && pwrite(fd, "some", 4, 3) == 4, file);
    close(fd);
    snprintf(file, sizeof file, "%s/sub/gone", path);
    add_line(file, "wx", i);
    need(unlink(file) == 0, file);
    struct stat status;
    need(stat(path, &status) == 0 && S_ISDIR(status.st_mode), path);
    need(access(other, R_OK) == 0, other);
    MPI_Barrier(MPI_COMM_WORLD);
    for (volatile int k = 0; k < 2000000; ++k); /* killed while the log is open */
    fprintf(log, "%d again\n", i);
    fclose(log);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      for (int r = 0; r < ranks; ++r) {
        snprintf(path, sizeof path, "%s/of_%d_%d", argv[1], r, i % 3);
        remove_tree(path);
      }
      printf("%d\n", i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
