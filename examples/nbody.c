/* Gravity among n bodies, all pairs: the bodies of each rank travel once around the ring of ranks in every step, by
   persistent requests, while the rank computes with the block that is there.

     nbody [--size 1024] [--steps 20] [--check]

   --check: one rank does the same steps with the same order of blocks and compares bit for bit; momentum must stay 0
   and the energy nearly the same. */
#include <math.h>

#include "common.h"

typedef struct {
  double x, y, z, mass;
} Body; /* what travels */

typedef struct {
  double x, y, z;
} Vector;

#define SOFTENING 1e-2
#define TIME_STEP 1e-3

static void place(Body* bodies, Vector* velocity, long first, long count, long n) {
  for (long i = 0; i < count; ++i) {
    const uint64_t g = (uint64_t)(first + i);
    bodies[i].x = uniform_at(21, 3 * g) - 0.5;
    bodies[i].y = uniform_at(21, 3 * g + 1) - 0.5;
    bodies[i].z = uniform_at(21, 3 * g + 2) - 0.5;
    bodies[i].mass = 1.0 / (double)n;
    velocity[i].x = -bodies[i].y;
    velocity[i].y = bodies[i].x;
    velocity[i].z = 0.0;
  }
}

static void attract(Vector* force, const Body* bodies, long count, const Body* others, long other_count) {
  for (long i = 0; i < count; ++i) {
    Vector sum = {0.0, 0.0, 0.0};
    for (long j = 0; j < other_count; ++j) {
      const double dx = others[j].x - bodies[i].x, dy = others[j].y - bodies[i].y, dz = others[j].z - bodies[i].z;
      const double square = dx * dx + dy * dy + dz * dz + SOFTENING;
      const double pull = others[j].mass / (square * sqrt(square));
      sum.x += pull * dx;
      sum.y += pull * dy;
      sum.z += pull * dz;
    }
    force[i].x += sum.x;
    force[i].y += sum.y;
    force[i].z += sum.z;
  }
}

static void advance(Body* bodies, Vector* velocity, Vector* force, long count) {
  for (long i = 0; i < count; ++i) {
    velocity[i].x += TIME_STEP * force[i].x;
    velocity[i].y += TIME_STEP * force[i].y;
    velocity[i].z += TIME_STEP * force[i].z;
    bodies[i].x += TIME_STEP * velocity[i].x;
    bodies[i].y += TIME_STEP * velocity[i].y;
    bodies[i].z += TIME_STEP * velocity[i].z;
    force[i].x = force[i].y = force[i].z = 0.0;
  }
}

typedef struct {
  Body* blocks[2];         /* the travelling block here, and the one coming in */
  MPI_Request requests[4]; /* [2 * b], [2 * b + 1]: send blocks[b], receive into blocks[1 - b] */
  long room;
} Ring;

static Ring make_ring(long n, int rank, int size) {
  Ring ring;
  ring.room = block_count(n, size, 0);
  for (int b = 0; b < 2; ++b) ring.blocks[b] = (Body*)allocate((size_t)ring.room, sizeof(Body));
  for (int b = 0; b < 2; ++b) {
    MPI_Send_init(ring.blocks[b], (int)(4 * ring.room), MPI_DOUBLE, (rank + 1) % size, b, MPI_COMM_WORLD,
                  &ring.requests[2 * b]);
    MPI_Recv_init(ring.blocks[1 - b], (int)(4 * ring.room), MPI_DOUBLE, (rank + size - 1) % size, b, MPI_COMM_WORLD,
                  &ring.requests[2 * b + 1]);
  }
  return ring;
}

static void ring_forces(Ring* ring, const Body* bodies, Vector* force, long n, int rank, int size) {
  const long count = block_count(n, size, rank);
  memcpy(ring->blocks[0], bodies, (size_t)count * sizeof(Body));
  for (int hop = 0; hop < size; ++hop) {
    const int b = hop % 2, owner = (rank - hop + size) % size;
    if (hop + 1 < size) MPI_Startall(2, &ring->requests[2 * b]);
    attract(force, bodies, count, ring->blocks[b], block_count(n, size, owner));
    if (hop + 1 < size) MPI_Waitall(2, &ring->requests[2 * b], MPI_STATUSES_IGNORE);
  }
}

static double energy(const Body* bodies, const Vector* velocity, long n) {
  double sum = 0.0;
  for (long i = 0; i < n; ++i) {
    const Vector v = velocity[i];
    sum += 0.5 * bodies[i].mass * (v.x * v.x + v.y * v.y + v.z * v.z);
    for (long j = 0; j < i; ++j) {
      const double dx = bodies[i].x - bodies[j].x, dy = bodies[i].y - bodies[j].y, dz = bodies[i].z - bodies[j].z;
      sum -= bodies[i].mass * bodies[j].mass / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
    }
  }
  return sum;
}

static int answer_good(const Body* result, const Vector* result_velocity, long n, long steps, int size) {
  Body* bodies = (Body*)allocate((size_t)n, sizeof(Body));
  Vector* velocity = (Vector*)allocate((size_t)n, sizeof(Vector));
  Vector* force = (Vector*)allocate((size_t)n, sizeof(Vector));
  place(bodies, velocity, 0, n, n);
  const double energy_before = energy(bodies, velocity, n);
  for (long s = 0; s < steps; ++s) {
    for (int rank = 0; rank < size; ++rank) {
      const long first = block_first(n, size, rank);
      for (int hop = 0; hop < size; ++hop) {
        const int owner = (rank - hop + size) % size;
        attract(force + first, bodies + first, block_count(n, size, rank), bodies + block_first(n, size, owner),
                block_count(n, size, owner));
      }
    }
    advance(bodies, velocity, force, n);
  }
  int good = memcmp(bodies, result, (size_t)n * sizeof(Body)) == 0 &&
             memcmp(velocity, result_velocity, (size_t)n * sizeof(Vector)) == 0;
  const double drift = energy(bodies, velocity, n) - energy_before;
  good = good && fabs(drift) < 1e-2 * fabs(energy_before);
  free(bodies);
  free(velocity);
  free(force);
  return good;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long n = option_long(argc, argv, "--size", 1024, 1);
  const long steps = option_long(argc, argv, "--steps", 20, 0);
  const int check = option_flag(argc, argv, "--check");

  const long count = block_count(n, size, rank);
  Body* bodies = (Body*)allocate((size_t)count, sizeof(Body));
  Vector* velocity = (Vector*)allocate((size_t)count, sizeof(Vector));
  Vector* force = (Vector*)allocate((size_t)count, sizeof(Vector));
  place(bodies, velocity, block_first(n, size, rank), count, n);
  Ring ring = make_ring(n, rank, size);
  for (long s = 0; s < steps; ++s) {
    ring_forces(&ring, bodies, force, n, rank, size);
    advance(bodies, velocity, force, count);
  }

  int* counts = (int*)allocate((size_t)size, 2 * sizeof(int));
  int* places = (int*)allocate((size_t)size, 2 * sizeof(int));
  for (int p = 0; p < size; ++p) {
    counts[p] = (int)(4 * block_count(n, size, p));
    places[p] = (int)(4 * block_first(n, size, p));
    counts[size + p] = (int)(3 * block_count(n, size, p));
    places[size + p] = (int)(3 * block_first(n, size, p));
  }
  Body* all = (Body*)allocate(rank == 0 ? (size_t)n : 0, sizeof(Body));
  Vector* all_velocity = (Vector*)allocate(rank == 0 ? (size_t)n : 0, sizeof(Vector));
  MPI_Gatherv(bodies, counts[rank], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gatherv(velocity, counts[size + rank], MPI_DOUBLE, all_velocity, counts + size, places + size, MPI_DOUBLE, 0,
              MPI_COMM_WORLD);
  int good = 1;
  if (rank == 0) {
    const uint64_t state = digest(DIGEST_START, all, (size_t)n * sizeof(Body));
    printf("nbody: %ld bodies, %ld steps, first at %.17g %.17g %.17g, digest %016llx\n", n, steps, all[0].x, all[0].y,
           all[0].z, (unsigned long long)digest(state, all_velocity, (size_t)n * sizeof(Vector)));
    if (check) good = answer_good(all, all_velocity, n, steps, size);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&ring.requests[i]);
  for (int b = 0; b < 2; ++b) free(ring.blocks[b]);
  free(bodies);
  free(velocity);
  free(force);
  free(all);
  free(all_velocity);
  free(counts);
  free(places);
  const int code = verdict(rank, check, good);
  MPI_Finalize();
  return code;
}
