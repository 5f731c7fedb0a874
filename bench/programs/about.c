/* Which MPI this is, in one line "about TEXT", and whether Open MPI's own message logging is at work: "logging yes|no" (its
   sender log is a mapped file, made when the first message is sent). */
#include "bench.h"

static int maps_sender_log(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1024];
  int found = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "senderbased")) found = 1;
  }
  if (maps) fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, length;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  told(0);
  MPI_Get_library_version(text, &length);
  text[strcspn(text, "\n")] = 0;
  if (rank == 0) printf("about %s\nlogging %s\n", text, maps_sender_log() ? "yes" : "no");
  MPI_Finalize();
  return 0;
}
