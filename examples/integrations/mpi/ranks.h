/* ranks.h - what both programs need of MPI beside MPI itself: messages of any length, agreement on
   whether to go on, words from one rank alone. Include mpi.h first. */
#ifndef RANKS_H
#define RANKS_H
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GNUC__)
#define RANKS_FN static __attribute__((unused))
#else
#define RANKS_FN static
#endif

typedef struct ranks {
    int rank, count;
    const char *program;
    double moved; /* bytes that came to this rank from others */
} ranks;

RANKS_FN ranks ranks_begin(int *argc, char ***argv, const char *program) {
    ranks r;
    signal(SIGXFSZ, SIG_IGN); /* too large a file is an error of write(), not the end */
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.count);
    r.program = program;
    r.moved = 0;
    return r;
}

/* the rank says what is wrong, if it has something to say: one line, whole */
RANKS_FN int ranks_complain(const ranks *r, const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "%s: rank %d: %s\n", r->program, r->rank, text);
    fflush(stderr);
    return 1;
}

/* rank 0: can a file be put at path, by way of PATH.new? Better asked before the work than after it.
   Only a file is replaced, no device. 0, or 1 and it was said. */
RANKS_FN int ranks_check_place(const ranks *r, const char *path) {
    struct stat about;
    char beside[4096];
    int file, there;
    if (r->rank || !path) return 0;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return ranks_complain(r, "%s: there, and not a file", path);
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return ranks_complain(r, "%s: too long a name", path);
    there = stat(beside, &about) == 0;
    file = open(beside, O_WRONLY | O_CREAT, 0666);
    if (file < 0) return ranks_complain(r, "%s: %s", beside, strerror(errno));
    close(file);
    if (!there) unlink(beside);
    return 0;
}

/* A launcher that is told to kill drops what it has not read yet of the ranks' words: it gets a
   second for them. */
RANKS_FN void ranks_abort(void) {
    sleep(1);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* stderr is silent from here on, or speaks again. POSIX. */
RANKS_FN void ranks_hush(int silent) {
    static int kept = -1;
    fflush(stderr);
    if (silent && kept < 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        kept = dup(2);
        if (nowhere >= 0) dup2(nowhere, 2);
    } else if (!silent && kept >= 0) {
        dup2(kept, 2);
        kept = -1;
    }
}

/* is something wrong anywhere? The same answer at all ranks, which so end together. */
RANKS_FN int ranks_any(int bad) {
    int any = 0;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

/* MPI counts in int: long messages go in pieces */
enum { RANKS_PIECE = 1 << 28 };

RANKS_FN void ranks_broadcast(ranks *r, void *bytes, size_t size, int from) {
    char *at = (char *)bytes;
    r->moved += r->rank != from ? (double)size : 0;
    while (size) {
        const int n = size < RANKS_PIECE ? (int)size : RANKS_PIECE;
        MPI_Bcast(at, n, MPI_BYTE, from, MPI_COMM_WORLD);
        at += n;
        size -= (size_t)n;
    }
}

RANKS_FN void ranks_send(const ranks *r, const void *bytes, size_t size, int to) {
    const char *at = (const char *)bytes;
    (void)r;
    while (size) {
        const int n = size < RANKS_PIECE ? (int)size : RANKS_PIECE;
        MPI_Send(at, n, MPI_BYTE, to, 0, MPI_COMM_WORLD);
        at += n;
        size -= (size_t)n;
    }
}

RANKS_FN void ranks_receive(ranks *r, void *bytes, size_t size, int from) {
    char *at = (char *)bytes;
    r->moved += (double)size;
    while (size) {
        const int n = size < RANKS_PIECE ? (int)size : RANKS_PIECE;
        MPI_Recv(at, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        at += n;
        size -= (size_t)n;
    }
}

/* ends the program at all ranks alike */
RANKS_FN int ranks_end(int status) {
    MPI_Finalize();
    return status;
}
#endif /* RANKS_H */
