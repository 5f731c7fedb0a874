// asked FILE reads|asks: opens FILE as a C++ stream, reads it and goes back to its beginning, or only asks whether it is there; then puts another one in its place.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <string>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string name = argc > 2 ? argv[1] : "file";
  {
    std::ifstream file(name);
    int value = -1;
    if (file.good() && strcmp(argv[2], "reads") == 0) {
      file >> value;
      file.seekg(0);
    }
    printf("%d %d\n", file.good(), value);
    fflush(stdout);
  }
  if (rename(name.c_str(), (name + ".before").c_str()) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  std::ofstream(name) << 2000 << "\n";
  for (int i = 0; i < 50; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
