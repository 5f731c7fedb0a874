/* Elements 4 GiB apart, in memory that is reserved and hardly touched, and types without data: for counts and displacements
 * beyond 2^31. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "coll.h"

#define FAR ((MPI_Count)1 << 32) /* between two elements, in bytes */
#define MANY (((MPI_Count)1 << 33) + 5)

static char *far_out, *far_in; /* one int each FAR bytes */
static MPI_Datatype spread, nothing; /* an int of extent FAR; a type without data, of extent 4 */

static char* reserve(MPI_Count bytes) {
  char* p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}
static int* at(char* base, int i) { return (int*)(base + i * FAR); }

static void begin_far(int elements_out, int elements_in) {
  far_out = reserve(elements_out * FAR);
  far_in = reserve(elements_in * FAR);
  OK(MPI_Type_create_resized_c(MPI_INT, 0, FAR, &spread));
  OK(MPI_Type_commit(&spread));
  MPI_Datatype empty;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_create_resized(empty, 0, 4, &nothing));
  OK(MPI_Type_commit(&nothing));
  OK(MPI_Type_free(&empty));
}
