/* relay.h - a bad network of the test's own: every connection to one port is led to another, and on
   the way bytes are delayed, stalled, damaged, and connections cut. A process, one loop, seeded.
   What it did it counts in memory that its parent shares. */
#ifndef RELAY_H
#define RELAY_H
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RELAY_LINKS = 64, RELAY_CHUNK = 4096 };

typedef struct relay_counts {
    volatile int on; /* 0: bytes pass untouched */
    volatile unsigned links, delays, stalls, cuts, damages;
    volatile unsigned long long bytes;
} relay_counts;

/* one way of a connection: what was read from one side and not yet written to the other */
typedef struct relay_way {
    unsigned char bytes[RELAY_CHUNK];
    size_t from, size;
    long until; /* ms: nothing moves before */
} relay_way;

typedef struct relay_link {
    int fd[2]; /* -1: free */
    relay_way way[2];
} relay_link;

static long relay_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* splitmix64: 0 .. n-1 */
static unsigned relay_draw(uint64_t *seed, unsigned n) {
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static struct sockaddr_in relay_address(int port) {
    struct sockaddr_in a;
    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_port = htons((uint16_t)port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* a socket that listens there; -1: it cannot */
static int relay_listen(int port) {
    const struct sockaddr_in a = relay_address(port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 64) != 0)
        return -1;
    return fd;
}

/* a port that nobody has now */
static int relay_free_port(void) {
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    const int fd = relay_listen(0);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &size) != 0) return -1;
    close(fd);
    return ntohs(a.sin_port);
}

static void relay_close(relay_link *l) {
    for (int s = 0; s < 2; s++) {
        if (l->fd[s] >= 0) close(l->fd[s]);
        l->fd[s] = -1;
    }
}

/* the other side may be dead: then so is this one */
static void relay_open(relay_link *links, int fd, int port, relay_counts *c) {
    const struct sockaddr_in a = relay_address(port);
    const int to = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    int k = 0;
    while (k < RELAY_LINKS && links[k].fd[0] >= 0) k++;
    if (k == RELAY_LINKS || to < 0 || connect(to, (const struct sockaddr *)&a, sizeof a) != 0) {
        if (to >= 0) close(to);
        close(fd);
        return;
    }
    memset(links[k].way, 0, sizeof links[k].way);
    links[k].fd[0] = fd;
    links[k].fd[1] = to;
    for (int s = 0; s < 2; s++) {
        fcntl(links[k].fd[s], F_SETFL, O_NONBLOCK);
        setsockopt(links[k].fd[s], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    c->links++;
}

/* What happens to a chunk: of 1000 about 40 are delayed, 2 stall for longer than a heartbeat waits,
   3 are damaged, 3 are the last of their connection. */
static void relay_harm(relay_link *l, relay_way *w, uint64_t *seed, relay_counts *c) {
    const unsigned dice = relay_draw(seed, 1000);
    if (!c->on) return;
    if (dice < 40) {
        w->until = relay_now() + 5 + relay_draw(seed, 60);
        c->delays++;
    } else if (dice < 42) {
        w->until = relay_now() + 500 + relay_draw(seed, 3000);
        c->stalls++;
    } else if (dice < 45) {
        w->bytes[relay_draw(seed, (unsigned)w->size)] ^= (unsigned char)(1 + relay_draw(seed, 255));
        c->damages++;
    } else if (dice < 48) {
        relay_close(l);
        c->cuts++;
    }
}

/* from side s to the other: reads if nothing is left, writes what it can */
static void relay_move(relay_link *l, int s, uint64_t *seed, relay_counts *c) {
    relay_way *w = &l->way[s];
    ssize_t n;
    if (l->fd[0] < 0 || relay_now() < w->until) return;
    if (w->size == 0) {
        n = read(l->fd[s], w->bytes, RELAY_CHUNK);
        if (n == 0 || (n < 0 && errno != EAGAIN)) relay_close(l);
        if (n <= 0) return;
        w->from = 0;
        w->size = (size_t)n;
        c->bytes += (unsigned long long)n;
        relay_harm(l, w, seed, c);
        if (l->fd[0] < 0 || relay_now() < w->until) return;
    }
    n = write(l->fd[!s], w->bytes + w->from, w->size);
    if (n < 0 && errno != EAGAIN) relay_close(l);
    if (n <= 0) return;
    w->from += (size_t)n;
    w->size -= (size_t)n;
}

/* for ever: kill it */
static void relay_run(int listener, int port, uint64_t seed, relay_counts *c) {
    static relay_link links[RELAY_LINKS];
    struct pollfd polls[1 + 2 * RELAY_LINKS];
    for (int k = 0; k < RELAY_LINKS; k++) links[k].fd[0] = links[k].fd[1] = -1;
    for (;;) {
        polls[0].fd = listener;
        polls[0].events = POLLIN;
        for (int k = 0; k < RELAY_LINKS; k++)
            for (int s = 0; s < 2; s++) {
                struct pollfd *p = &polls[1 + 2 * k + s];
                const relay_way *w = &links[k].way[s];
                p->fd = w->size || relay_now() < w->until ? -1 : links[k].fd[s];
                p->events = POLLIN;
            }
        (void)poll(polls, 1 + 2 * RELAY_LINKS, 2);
        if (polls[0].revents & POLLIN) {
            const int fd = accept(listener, NULL, NULL);
            if (fd >= 0) relay_open(links, fd, port, c);
        }
        for (int k = 0; k < RELAY_LINKS; k++)
            for (int s = 0; s < 2; s++) relay_move(&links[k], s, &seed, c);
    }
}
#endif /* RELAY_H */
