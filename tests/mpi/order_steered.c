/* A program that is steered by chance: the order of matching, the indices and counts of Waitany, Testsome and their
 * like, the number of failed tests and probes, whether a Cancel succeeded, and MPI_Wtime all flow into a state from
 * which it draws what it does next, to whom it sends, how much, and what. Two runs differ. What must hold in every run,
 * also in one that loses ranks: for each stream (source, destination, class) the digests at both ends agree, each
 * message was received once, and its payload is the one that its header names.
 *
 *     order_steered [STEPS [SEED]]
 *
 * Three classes of messages, each on its own communicator: 0 is received by posted any-source receives, 1 by probes,
 * 2 by receives that are often cancelled. Prints "streams agree" and a hash of all final states; exit code 4 when a
 * stream disagrees. */
#include <stdint.h>

#include "check.h"

enum { classes = 3 };
enum { ranks_max = 64, share = 4, window = classes * share, posted = 4, small_max = 1500, large_max = 40000 };

typedef struct {
  uint64_t number; /* n-th of its stream; of the final message: how many came before */
  uint64_t state;  /* names the payload; of the final message: the digest of the stream */
  uint32_t length; /* of the payload */
  uint32_t final;
} Header;

typedef struct {
  uint64_t count, digest;
} Stream;

typedef unsigned char Buffer[sizeof(Header) + large_max];

static MPI_Comm comms[classes];
static Stream sent[classes][ranks_max], received[classes][ranks_max], announced[classes][ranks_max];
static int finals[classes];
static uint64_t state;

/* Slots 0 .. window-1 send, `share` of them for each class; the rest are the posted receives of class 0: one array, so
 * that one call can wait for both. */
static MPI_Request requests[window + posted];
static Buffer buffers[window + posted], inbox;

static uint64_t scramble(uint64_t x) {
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27, x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* Something that chance decided, or that follows from it, enters the state. */
static void steer(uint64_t kind, uint64_t value) {
  state = scramble(state ^ scramble(kind * 0x9e3779b97f4a7c15u + value));
}

static uint64_t draw(uint64_t bound) {
  state = scramble(state + 0x9e3779b97f4a7c15u);
  return state % bound;
}

static void make_payload(unsigned char* payload, uint32_t length, uint64_t seed) {
  for (uint32_t i = 0; i < length; ++i) {
    if (i % 8 == 0) seed = scramble(seed + 1);
    payload[i] = (unsigned char)(seed >> i % 8 * 8);
  }
}

static uint64_t hash(const unsigned char* bytes, size_t length) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; ++i) h = (h ^ bytes[i]) * 0x100000001b3u;
  return scramble(h);
}

static void fail(int source, int class_number, const char* what) {
  fprintf(stderr, "rank %d: stream from rank %d, class %d: %s\n", world_rank, source, class_number, what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 4);
}

static void consume(int class_number, const unsigned char* bytes, const MPI_Status* status) {
  static unsigned char expected[large_max];
  Header header;
  int length = 0, source = status->MPI_SOURCE;
  Stream* stream = &received[class_number][source];
  MPI_Get_count(status, MPI_BYTE, &length);
  memcpy(&header, bytes, sizeof header);
  if (length < (int)sizeof header || length != (int)sizeof header + (int)header.length)
    fail(source, class_number, "length");
  if (header.final) {
    announced[class_number][source] = (Stream){header.number, header.state};
    ++finals[class_number];
    steer(1, (uint64_t)source);
    return;
  }
  if (status->MPI_TAG != (int)(header.number % 7)) fail(source, class_number, "tag");
  make_payload(expected, header.length, header.state);
  if (memcmp(expected, bytes + sizeof header, header.length)) fail(source, class_number, "payload");
  ++stream->count;
  stream->digest += hash(bytes, (size_t)length); /* a sum: the order of completion is not that of the stream */
  steer(2, (uint64_t)source << 32 | header.number);
  steer(3, stream->digest);
}

static void post(int slot) {
  OK(MPI_Irecv(buffers[slot], sizeof(Buffer), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[0], &requests[slot]));
}

/* A request of `requests` has been completed. */
static void completed(int slot, const MPI_Status* status) {
  steer(4, (uint64_t)slot);
  if (slot < window) return;
  consume(0, buffers[slot], status);
  post(slot);
}

/* Tests the posted receives, at most `patience` times, until something is found. */
static void test_receives(int patience) {
  int found = 0, indices[posted];
  MPI_Status statuses[posted];
  for (int failures = 0; failures < patience; ++failures) {
    OK(MPI_Testsome(posted, requests + window, &found, indices, statuses));
    steer(5, (uint64_t)found);
    if (found) break;
  }
  for (int i = 0; i < found; ++i) completed(window + indices[i], &statuses[i]);
}

static void test_sends(void) {
  int found = 0, indices[window];
  OK(MPI_Testsome(window, requests, &found, indices, MPI_STATUSES_IGNORE));
  if (found == MPI_UNDEFINED) return;
  steer(6, (uint64_t)found);
  for (int i = 0; i < found; ++i) steer(7, (uint64_t)indices[i]);
}

/* Receives a message that a probe finds within `patience` looks. */
static void probe(int class_number, int patience, int matched) {
  MPI_Message message;
  MPI_Status status;
  int flag = 0, failures = 0;
  for (; !flag && failures < patience; ++failures) {
    if (matched) {
      OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[class_number], &flag, &message, &status));
    } else {
      OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[class_number], &flag, &status));
    }
  }
  steer(8, (uint64_t)failures);
  if (!flag) return;
  steer(9, (uint64_t)status.MPI_SOURCE);
  if (matched) {
    OK(MPI_Mrecv(inbox, sizeof inbox, MPI_BYTE, &message, &status));
  } else {
    int source = state & 1 ? MPI_ANY_SOURCE : status.MPI_SOURCE;
    OK(MPI_Recv(inbox, sizeof inbox, MPI_BYTE, source, MPI_ANY_TAG, comms[class_number], &status));
  }
  consume(class_number, inbox, &status);
}

/* A receive of class 2 that is given up after some failed tests. */
static void cancelled_receive(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0, cancelled = 0, patience = (int)draw(6), failures = 0;
  /* Of a named source the outcome alone is not determined: in a replay the message is there at once. */
  int source = draw(2) ? (int)draw(world_size) : MPI_ANY_SOURCE;
  OK(MPI_Irecv(inbox, sizeof inbox, MPI_BYTE, source, MPI_ANY_TAG, comms[2], &request));
  for (; !flag && failures < patience; ++failures) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  steer(10, (uint64_t)failures);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  steer(11, (uint64_t)cancelled);
  if (!cancelled) consume(2, inbox, &status);
}

/* A free slot of the class, or -1. */
static int free_slot(int class_number) {
  int first = (int)draw(share);
  for (int i = 0; i < share; ++i) {
    int slot = class_number * share + (first + i) % share;
    if (requests[slot] == MPI_REQUEST_NULL) return slot;
  }
  return -1;
}

/* Receives what is there and frees slots; never blocks. */
static void serve(void) {
  test_sends();
  test_receives(1);
  probe(1, 1, 1);
  probe(2, 1, 0);
}

static void send_to(int class_number, int destination, int final) {
  int slot = free_slot(class_number), synchronous = draw(4) == 0;
  /* The last message has to go; others are left out, lest a rank that waits here keep another from its end. */
  for (; slot < 0 && final; slot = free_slot(class_number)) serve();
  if (slot < 0) {
    serve();
    return;
  }
  Stream* stream = &sent[class_number][destination];
  Header header = {stream->count, state, 0, (uint32_t) final};
  if (final) {
    header.state = stream->digest;
  } else {
    header.length = (uint32_t)(draw(24) ? draw(small_max) : draw(large_max));
    make_payload(buffers[slot] + sizeof header, header.length, header.state);
  }
  memcpy(buffers[slot], &header, sizeof header);
  int length = (int)(sizeof header + header.length), tag = (int)(header.number % 7);
  if (!final) {
    ++stream->count;
    stream->digest += hash(buffers[slot], (size_t)length);
  }
  if (synchronous) {
    OK(MPI_Issend(buffers[slot], length, MPI_BYTE, destination, tag, comms[class_number], &requests[slot]));
  } else {
    OK(MPI_Isend(buffers[slot], length, MPI_BYTE, destination, tag, comms[class_number], &requests[slot]));
  }
}

/* Waits for a send or a receive. Only while a send of class 0 is under way: its receive is always posted, so that this
 * cannot wait for ever. */
static void wait_any(void) {
  int index = 0, safe = 0;
  MPI_Status status;
  for (int slot = 0; slot < share; ++slot) safe |= requests[slot] != MPI_REQUEST_NULL;
  if (!safe) return;
  OK(MPI_Waitany(window + posted, requests, &index, &status));
  completed(index, &status);
}

static void test_any(void) {
  int index = 0, flag = 0, failures = 0, patience = (int)draw(8);
  MPI_Status status;
  for (; !flag && failures < patience; ++failures) {
    OK(MPI_Testany(window + posted, requests, &index, &flag, &status));
  }
  steer(12, (uint64_t)failures);
  if (flag) completed(index, &status);
}

static void test_one(void) {
  int flag = 0, slot = window + (int)draw(posted);
  MPI_Status status;
  OK(MPI_Test(&requests[slot], &flag, &status));
  steer(13, (uint64_t)flag);
  if (flag) completed(slot, &status);
}

static void read_clock(void) {
  double now = MPI_Wtime();
  uint64_t bits;
  memcpy(&bits, &now, sizeof bits);
  steer(14, bits);
}

static void compute(void) {
  volatile uint64_t x = state;
  for (uint64_t i = draw(20000); i > 0; --i) x = x * 3 + i;
}

static void step(void) {
  switch (draw(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      send_to(0, (int)draw((uint64_t)world_size), 0);
      break;
    case 5:
    case 6:
      send_to(1, (int)draw((uint64_t)world_size), 0);
      break;
    case 7:
      send_to(2, (int)draw((uint64_t)world_size), 0);
      break;
    case 8:
      test_receives((int)draw(20) + 1);
      break;
    case 9:
      wait_any();
      break;
    case 10:
      probe(1, (int)draw(10) + 1, 0);
      break;
    case 11:
      probe(1, (int)draw(10) + 1, 1);
      break;
    case 12:
      cancelled_receive();
      break;
    case 13:
      test_any();
      break;
    case 14:
      test_one();
      break;
    default:
      draw(2) ? read_clock() : compute();
  }
}

static int drained(int class_number) {
  if (finals[class_number] < world_size) return 0;
  for (int source = 0; source < world_size; ++source) {
    if (received[class_number][source].count < announced[class_number][source].count) return 0;
  }
  return 1;
}

static void drain(void) {
  MPI_Status status;
  for (int c = 0; c < classes; ++c) {
    for (int peer = 0; peer < world_size; ++peer) send_to(c, (world_rank + peer) % world_size, 1);
  }
  while (!drained(0)) {
    int index;
    OK(MPI_Waitany(posted, requests + window, &index, &status));
    completed(window + index, &status);
  }
  for (int c = 1; c < classes; ++c) {
    while (!drained(c)) {
      OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &status));
      OK(MPI_Recv(inbox, sizeof inbox, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comms[c], &status));
      consume(c, inbox, &status);
    }
  }
  OK(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
  for (int slot = window; slot < window + posted; ++slot) {
    int cancelled = 0;
    OK(MPI_Cancel(&requests[slot]));
    OK(MPI_Wait(&requests[slot], &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    if (!cancelled) fail(status.MPI_SOURCE, 0, "a message after the last");
  }
}

static void compare(void) {
  for (int c = 0; c < classes; ++c) {
    int flag;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &flag, MPI_STATUS_IGNORE));
    if (flag) fail(-1, c, "a message after the last");
    for (int source = 0; source < world_size; ++source) {
      if (received[c][source].count != announced[c][source].count) fail(source, c, "number of messages");
      if (received[c][source].digest != announced[c][source].digest) fail(source, c, "digest");
    }
  }
}

int main(int argc, char** argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 3000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, all;
  begin(&argc, &argv);
  if (world_size > ranks_max) {
    if (world_rank == 0) fprintf(stderr, "at most %d ranks\n", ranks_max);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  state = scramble(seed * 1000003 + (uint64_t)world_rank);
  for (int c = 0; c < classes; ++c) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]));
  for (int slot = 0; slot < window; ++slot) requests[slot] = MPI_REQUEST_NULL;
  for (int slot = window; slot < window + posted; ++slot) post(slot);
  for (int i = 0; i < steps; ++i) step();
  drain();
  MPI_Barrier(MPI_COMM_WORLD);
  compare();
  OK(MPI_Reduce(&state, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD));
  for (int c = 0; c < classes; ++c) OK(MPI_Comm_free(&comms[c]));
  if (world_rank == 0) printf("streams agree, final state %016llx\n", (unsigned long long)all);
  MPI_Finalize();
  return 0;
}
