/* clocks ROUNDS: an ordinary program that shows what it learns from the C library: each round each rank reads clocks, random numbers and
   its process id, tells the others a digest of them, and rank 0 prints how long the rounds took. Repeated, it says the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

ssize_t __read_chk(int fd, void* to, size_t bytes, size_t room);

static uint64_t digest = 14695981039346656037u;

static void learn(uint64_t value) { digest = (digest ^ value) * 1099511628211u; }

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(3);
}

/* What is used up does not become less, nor do the ticks of the system. */
static void look_at_usage(void) {
  static long long before[7];
  struct rusage usage;
  struct tms used;
  getrusage(RUSAGE_SELF, &usage);
  const long long ticks = (long long)times(&used);
  const long long now[] = {usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec, usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec,
                           used.tms_utime, used.tms_stime, used.tms_cutime, used.tms_cstime, ticks};
  for (int i = 0; i < 7; ++i) {
    need(now[i] >= before[i], "getrusage or times goes back");
    learn((uint64_t)(before[i] = now[i]));
  }
  learn((uint64_t)usage.ru_maxrss);
}

static void look_at_clocks(void) {
  static const clockid_t all[] = {CLOCK_REALTIME, CLOCK_MONOTONIC_RAW, CLOCK_PROCESS_CPUTIME_ID, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME};
  struct timespec t;
  struct timeval v;
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    clock_gettime(all[i], &t);
    learn((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
  }
  gettimeofday(&v, NULL);
  learn((uint64_t)v.tv_sec * 1000000u + (uint64_t)v.tv_usec);
  learn((uint64_t)time(NULL));
  learn((uint64_t)clock());
  look_at_usage();
}

static void learn_bytes(const void* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) learn(((const unsigned char*)bytes)[i]);
}

struct broken_down { /* timeb, whose header goes out of use */
  time_t time;
  unsigned short milliseconds;
  short zone, summer;
};
int ftime(struct broken_down*);

static void look_at_what_is_old(void) {
  struct broken_down t;
  const struct itimerval wanted = {.it_value = {.tv_sec = 1000}};
  struct itimerval timer[2];
  need(ftime(&t) == 0 && t.milliseconds < 1000, "ftime");
  learn((uint64_t)t.time * 1000 + t.milliseconds);
  need(setitimer(ITIMER_REAL, &wanted, &timer[0]) == 0 && getitimer(ITIMER_REAL, &timer[1]) == 0, "a timer");
  need(timer[1].it_value.tv_sec >= 990, "a timer that has just been set");
  learn_bytes(timer, sizeof timer);
  learn((uint64_t)get_avphys_pages());
  learn((uint64_t)sysconf(_SC_AVPHYS_PAGES));
  need(sysconf(_SC_PAGESIZE) >= 4096, "sysconf");
}

static void look_at_host(void) {
  unsigned processor = 0, node = 0;
  struct sysinfo info;
  double load[3];
  struct statfs system;
  struct statvfs same;
  learn((uint64_t)sched_getcpu());
  need(getcpu(&processor, &node) == 0 && sysinfo(&info) == 0 && getloadavg(load, 3) == 3, "what the host is like");
  learn(processor + node);
  learn_bytes(&info, offsetof(struct sysinfo, mem_unit));
  learn_bytes(load, sizeof load);
  need(statfs("/", &system) == 0 && statvfs("/", &same) == 0 && same.f_blocks == system.f_blocks, "what the file system is like");
  learn((uint64_t)system.f_bfree + (uint64_t)same.f_bavail);
  errno = 0;
  need(statfs("/there/is/none", &system) == -1 && errno == ENOENT, "a file system that is not there");
}

static void look_at_random(int round) {
  static unsigned char bytes[10000];
  const size_t wanted = round % 4 == 3 ? sizeof bytes : 16;
  size_t got = (size_t)getrandom(bytes, wanted, 0);
  uint64_t value;
  for (size_t i = 0; i < got; ++i) learn(bytes[i]);
  getentropy(&value, sizeof value);
  learn(value);
  int fd = open("/dev/urandom", O_RDONLY);
  if (read(fd, &value, sizeof value) == sizeof value) learn(value);
  close(fd);
  FILE* file = fopen("/dev/urandom", "rb");
  if (fread(&value, sizeof value, 1, file) == 1) learn(value);
  fclose(file);
  fd = open("/dev/urandom", O_RDONLY);
  file = fdopen(fd, "rb");
  need(file && fread(&value, sizeof value, 1, file) == 1 && fclose(file) == 0 && close(fd) == -1, "a stream of a descriptor");
  learn(value);
  fd = open("/dev/urandom", O_RDONLY);
  need(__read_chk(fd, &value, sizeof value, sizeof value) == sizeof value && close(fd) == 0, "read in a fortified program");
  learn(value);
  need(syscall(SYS_getrandom, &value, sizeof value, 0) == sizeof value, "a system call by its number");
  learn(value);
}

static struct timespec after(double s) {
  const double at = seconds() + s;
  struct timespec t = {.tv_sec = (time_t)at};
  t.tv_nsec = (long)(1e9 * (at - (double)t.tv_sec));
  return t;
}

static void need_time(const struct timespec* t, const char* what) {
  need(seconds() >= (double)t->tv_sec + 1e-9 * (double)t->tv_nsec - 1e-6, what);
}

/* The system is told of times by the clock that the program knows. */
static void wait_until_times(void) {
  static const double far = 1000, soon = 0.0003;
  pthread_condattr_t attributes;
  pthread_cond_t condition;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  sem_t semaphore;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition, &attributes);
  sem_init(&semaphore, 0, 0);
  struct timespec t = after(soon);
  need(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0, "clock_nanosleep");
  need_time(&t, "clock_nanosleep");
  t = after(soon);
  pthread_mutex_lock(&mutex);
  need(pthread_cond_timedwait(&condition, &mutex, &t) == ETIMEDOUT, "pthread_cond_timedwait");
  need_time(&t, "pthread_cond_timedwait");
  t = after(soon);
  need(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &t) == ETIMEDOUT, "pthread_cond_clockwait");
  need_time(&t, "pthread_cond_clockwait");
  pthread_mutex_unlock(&mutex);
  t = after(soon);
  need(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT, "sem_clockwait");
  need_time(&t, "sem_clockwait");
  t = after(soon);
  int word = 0;
  need(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &t, NULL, FUTEX_BITSET_MATCH_ANY) == -1 && errno == ETIMEDOUT, "futex");
  need_time(&t, "futex");
  struct itimerspec wanted = {.it_value = after(far)}, left;
  timer_t timer;
  struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
  need(timer_create(CLOCK_MONOTONIC, &nothing, &timer) == 0 && timer_settime(timer, TIMER_ABSTIME, &wanted, NULL) == 0, "timer_settime");
  need(timer_gettime(timer, &left) == 0 && left.it_value.tv_sec > 0 && left.it_value.tv_sec <= far && timer_delete(timer) == 0, "timer_settime");
  const int fd = timerfd_create(CLOCK_BOOTTIME, 0);
  clock_gettime(CLOCK_BOOTTIME, &wanted.it_value);
  wanted.it_value.tv_sec += (time_t)far;
  need(timerfd_settime(fd, TFD_TIMER_ABSTIME, &wanted, NULL) == 0 && timerfd_gettime(fd, &left) == 0 && close(fd) == 0, "timerfd_settime");
  need(left.it_value.tv_sec > 0 && left.it_value.tv_sec <= far, "timerfd_settime");
}

static void wait_by_clock(double s) {
  const double end = seconds() + s;
  double now;
  do learn((uint64_t)(1e9 * (now = seconds())));
  while (now < end);
}

/* A signal is ignored also where the program says that the handler, which is none, is given more about it. */
static void ignore_signals(void) {
  struct sigaction wanted = {.sa_flags = SA_SIGINFO}, had;
  wanted.sa_handler = SIG_IGN;
  need(sigaction(SIGUSR1, &wanted, NULL) == 0 && raise(SIGUSR1) == 0, "an ignored signal");
  wanted.sa_handler = SIG_DFL;
  need(sigaction(SIGUSR1, &wanted, &had) == 0 && had.sa_handler == SIG_IGN, "what was ignored before");
  need(sigaction(SIGCHLD, &wanted, NULL) == 0 && raise(SIGCHLD) == 0, "a signal without a handler");
}

/* The system is told of the process by the number that the program knows. */
static void name_own_process(void) {
  const pid_t self = getpid();
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  struct sched_param how;
  timer_t timer;
  clockid_t clock;
  int value = 1, copy = 0;
  struct iovec from = {&value, sizeof value}, to = {&copy, sizeof copy};
  need(kill(self, 0) == 0 && getpgid(self) > 0, "kill");
  need(setpgid(self, 0) == 0 && getpgrp() == self && getpgid(0) == self, "setpgid");
  need(kill(-self, 0) == 0 && killpg(self, 0) == 0, "killpg");
  need(sched_getscheduler(self) >= 0 && sched_getparam(self, &how) == 0 && sched_setscheduler(self, SCHED_OTHER, &how) == 0, "sched_setscheduler");
  need(clock_getcpuclockid(self, &clock) == 0, "clock_getcpuclockid");
  event._sigev_un._tid = gettid();
  need(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_delete(timer) == 0, "timer_create");
  const int fd = open("/dev/null", O_RDONLY);
  need(fcntl(fd, F_SETOWN, self) == 0 && fcntl(fd, F_GETOWN) == self && close(fd) == 0, "F_SETOWN");
  need((process_vm_readv(self, &to, 1, &from, 1, 0) == sizeof copy && copy == 1) || errno == EPERM, "process_vm_readv"); /* a container may forbid it */
}

int main(int argc, char** argv) {
  ignore_signals();
  learn((uint64_t)time(NULL)); /* before MPI_Init */
  learn((uint64_t)getpid());
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 50;
  const double begin = seconds();
  for (int round = 0; round < rounds; ++round) {
    look_at_clocks();
    look_at_random(round);
    look_at_host();
    look_at_what_is_old();
    name_own_process();
    wait_by_clock(0.0005);
    if (round % 10 == 0) wait_until_times();
    uint64_t told = digest;
    MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    learn(told);
    if (rank == 0) printf("round %d: %.9f s, process %d, %016llx\n", round, seconds() - begin, (int)getpid(), (unsigned long long)digest);
  }
  printf("rank %d: %016llx\n", rank, (unsigned long long)digest);
  MPI_Finalize();
  printf("rank %d ended after %.9f s\n", rank, seconds() - begin);
  return 0;
}
