/* A network with a delay between network namespaces, in user space: delay MICROSECONDS NAMESPACE ...

   Makes a tun device "wire" in each namespace, says "ready", and passes IPv4 packets on: the namespace given as number n, from 1, has
   the address that ends in n. Each packet waits so long, in both directions. Ends with a signal, and the devices with it. Root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS_MAX = 16, PACKET_MAX = 65536, QUEUE_MAX = 1 << 16 };

typedef struct {
  int64_t due_ns;
  int to;
  size_t bytes;
  unsigned char* data;
} Packet;

/* The delay is the same for all: what came first is due first. */
static Packet queue[QUEUE_MAX];
static unsigned first, last;
static struct pollfd wires[HOSTS_MAX];
static int hosts;
static unsigned long dropped;

static void die(const char* what) {
  fprintf(stderr, "delay: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int open_wire(const char* name) {
  char path[128];
  snprintf(path, sizeof path, "/var/run/netns/%s", name);
  const int netns = open(path, O_RDONLY | O_CLOEXEC);
  if (netns < 0 || setns(netns, CLONE_NEWNET)) die(path);
  close(netns);
  const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die("/dev/net/tun");
  struct ifreq request = {0};
  strcpy(request.ifr_name, "wire");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(fd, TUNSETIFF, &request)) die("TUNSETIFF");
  return fd;
}

/* The host of a packet's destination; -1: none. */
static int host_of(const unsigned char* packet, size_t bytes) {
  if (bytes < 20 || packet[0] >> 4 != 4) return -1;
  const int host = packet[19] - 1;
  return host >= 0 && host < hosts ? host : -1;
}

static void take(int wire, int64_t delay_ns) {
  static unsigned char data[PACKET_MAX];
  for (;;) {
    const ssize_t n = read(wire, data, sizeof data);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) die("read");
    const int to = host_of(data, (size_t)n);
    if (to < 0) continue;
    if (last - first == QUEUE_MAX) {
      if (dropped++ == 0) fprintf(stderr, "delay: packets are dropped: more than %d are on their way\n", QUEUE_MAX);
      continue;
    }
    Packet* p = &queue[last++ % QUEUE_MAX];
    *p = (Packet){now_ns() + delay_ns, to, (size_t)n, malloc((size_t)n)};
    if (!p->data) die("memory");
    memcpy(p->data, data, (size_t)n);
  }
}

static void give(void) {
  while (first != last && queue[first % QUEUE_MAX].due_ns <= now_ns()) {
    Packet* p = &queue[first++ % QUEUE_MAX];
    /* A device that is down, or full, loses packets as any network does. */
    if (write(wires[p->to].fd, p->data, p->bytes) < 0 && errno != EIO && errno != EAGAIN && errno != ENOBUFS) die("write");
    free(p->data);
  }
}

int main(int argc, char** argv) {
  if (argc < 3 || argc - 2 > HOSTS_MAX) {
    fprintf(stderr, "usage: delay MICROSECONDS NAMESPACE ...\n");
    return 2;
  }
  const int64_t delay_ns = atoll(argv[1]) * 1000;
  for (; hosts < argc - 2; ++hosts) wires[hosts] = (struct pollfd){open_wire(argv[hosts + 2]), POLLIN, 0};
  prctl(PR_SET_TIMERSLACK, 1);
  if (setpriority(PRIO_PROCESS, 0, -20)) perror("delay: not before other processes, so that packets may wait longer");
  puts("ready");
  fflush(stdout);
  for (;;) {
    int64_t wait_ns = first == last ? -1 : queue[first % QUEUE_MAX].due_ns - now_ns();
    if (first != last && wait_ns < 0) wait_ns = 0;
    const struct timespec wait = {wait_ns / 1000000000, wait_ns % 1000000000};
    if (ppoll(wires, (nfds_t)hosts, wait_ns < 0 ? NULL : &wait, NULL) < 0 && errno != EINTR) die("poll");
    for (int h = 0; h < hosts; ++h) {
      if (wires[h].revents & POLLIN) take(wires[h].fd, delay_ns);
    }
    give();
  }
}
