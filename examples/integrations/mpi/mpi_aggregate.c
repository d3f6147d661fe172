/* mpi_aggregate - robust aggregation of rows in files, by as many ranks as there are.

       mpirun -n 4 mpi_aggregate --rule MDA --f 30 rows/[*].f32 -o out.f32

   (without the brackets.) A file is one row: its numbers one after the other, 4 bytes each, or 8 in
   mpi_aggregate64, in the byte order of the machine, nothing else. Each rank takes some slices of
   the coordinates and reads these numbers of all files, a window at a time, so that memory is rows
   x window, whatever the rows' length is. With --local each rank reads some of the files only, as if
   they were on a disk of its own, and the rows are transposed in memory: then every rank holds its
   slices of all rows. Only sums go over the wire after that (STAGES in aggregators.h). The bits of
   the result are those of agg_aggregate() for any number of ranks. */
#define _POSIX_C_SOURCE 200809L
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include <mpi.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ranks.h"

enum { HALO = 7 }; /* a sample may reach so far into the next slice */

typedef struct job {
    ranks r;
    agg_desc d;
    uint64_t random;
    const char *out_path;
    char **path; /* n files */
    int *file;   /* n descriptors, -1: not open here */
    unsigned char *missing;
    int local, absent_is_missing, report, stats, quiet;
    size_t window, memory; /* numbers; bytes a rank may take */
    size_t begin, end;     /* this rank's coordinates */
    agg_real *shard;       /* --local: n x (end + HALO - begin), as far as rows go */
    size_t shard_width;
    agg_real *out; /* of these coordinates */
    agg_stages *stages;
    void *stages_memory;
    int *count;           /* 2 ranks: what each has of the sums, and where */
    const agg_real **row; /* n: a window */
    agg_report rep;
    double started, told, read; /* seconds; bytes */
    size_t passes;
} job;

/* ---- the command line */

typedef struct choice {
    const char *key, *help;
} choice;

static const choice choices[] = {
    {"--rule NAME", "MDA (the default), CWTM, MeaMed, CWMed, Krum, Multi-Krum, GM, mean, ..."},
    {"--f N", "adversaries to survive (0)"},
    {"--pre NAME", "NNM, bucketing, clipping, ARC, median clipping; twice: one after the other"},
    {"--q N", "Multi-Krum: rows averaged (n - f)"},
    {"--clip X", "clipping: the largest norm"},
    {"--tau X", "CClip: the radius (the median distance)"},
    {"--iterations N", "CClip (3)"},
    {"--pivot N", "MoNNA, FLTrust: the row to trust, from 0 (0)"},
    {"--seed N", "of random numbers, which bucketing draws (1)"},
    {"--window N", "numbers of a row at hand, 2048 or more (so many that rows take 64 MB)"},
    {"--memory MB", "the most that a rank may take (the machine's, shared by its ranks)"},
    {"--local", "each rank reads every R-th file only; the rows are transposed in memory"},
    {"--absent", "a file that is not there is a row that did not come, which convicts its sender"},
    {"--report", "print the weight and the suspicion of every row"},
    {"--stats", "print time, passes, and bytes read and sent"},
    {"--quiet", "no progress"},
    {"-o FILE", "the result: a row as the files are, replaced as a whole, or not at all"}};

static void print_help(const ranks *r) {
    if (r->rank) return;
    printf("usage: mpirun -n RANKS mpi_aggregate [options] row ... -o FILE\n"
           "Aggregates rows in files of %d-byte numbers, with the bits of one process.\n",
           (int)sizeof(agg_real));
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        printf("  %-15s %s\n", choices[k].key, choices[k].help);
}

static int same_word(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        const int x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
        const int y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (x != y) return 0;
    }
    return *a == *b;
}

static int read_rule(const char *text, agg_rule *rule) {
    for (int k = 0; k < AGG_RULE_COUNT; k++)
        if (same_word(text, agg_rule_name((agg_rule)k))) return *rule = (agg_rule)k, 1;
    return 0;
}

static int read_pre(const char *text, agg_pre *pre) {
    for (int k = 0; k < AGG_PRE_COUNT; k++)
        if (same_word(text, agg_pre_name((agg_pre)k))) return *pre = (agg_pre)k, 1;
    return 0;
}

static int read_size(const char *text, size_t *value) {
    char *end = NULL;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, 10);
    *value = (size_t)v;
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && v <= (size_t)-1;
}

static int read_real(const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    return end != text && !*end;
}

/* an option with a value; 0: there is no such one, -1: the value is none */
static int take_value(job *j, const char *key, const char *text, size_t *pre) {
    struct {
        const char *key;
        size_t *size;
        double *real;
    } const number[] = {{"--f", &j->d.f, NULL},         {"--q", &j->d.q, NULL},
                        {"--clip", NULL, &j->d.clip},   {"--tau", NULL, &j->d.tau},
                        {"--pivot", &j->d.pivot, NULL}, {"--iterations", &j->d.iterations, NULL},
                        {"--window", &j->window, NULL}, {"--memory", &j->memory, NULL}};
    size_t seed;
    if (!strcmp(key, "-o")) return j->out_path = text, 1;
    if (!strcmp(key, "--rule")) return read_rule(text, &j->d.rule) ? 1 : -1;
    if (!strcmp(key, "--pre")) return *pre < 2 && read_pre(text, &j->d.pre[(*pre)++]) ? 1 : -1;
    if (!strcmp(key, "--seed")) return read_size(text, &seed) ? (j->random = seed, 1) : -1;
    for (size_t k = 0; k < sizeof number / sizeof *number; k++) {
        if (strcmp(key, number[k].key) != 0) continue;
        if (number[k].size) return read_size(text, number[k].size) ? 1 : -1;
        return read_real(text, number[k].real) ? 1 : -1;
    }
    return 0;
}

static int take_flag(job *j, const char *key) {
    struct {
        const char *key;
        int *flag;
    } const flags[] = {{"--local", &j->local},
                       {"--absent", &j->absent_is_missing},
                       {"--report", &j->report},
                       {"--stats", &j->stats},
                       {"--quiet", &j->quiet}};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (!strcmp(key, flags[k].key)) return *flags[k].flag = 1;
    return 0;
}

/* 0: all understood; else rank 0 has said what is not */
static int read_options(job *j, int argc, char **argv) {
    size_t pre = 0;
    j->path = argv; /* files move to the front */
    for (int i = 1; i < argc; i++) {
        int taken;
        if (argv[i][0] != '-') {
            j->path[j->d.n++] = argv[i];
            continue;
        }
        if (take_flag(j, argv[i])) continue;
        taken = i + 1 < argc ? take_value(j, argv[i], argv[i + 1], &pre) : 0;
        if (taken == 1) {
            i++;
            continue;
        }
        if (j->r.rank) return 1;
        if (taken) return ranks_complain(&j->r, "%s %s: not a value of it", argv[i], argv[i + 1]);
        return ranks_complain(
            &j->r, "%s: no such option, or its value is missing; --help lists them", argv[i]);
    }
    if (j->d.n && j->out_path) return 0;
    return j->r.rank ? 1
                     : ranks_complain(&j->r, "%s; --help says more",
                                      j->d.n ? "-o FILE is missing" : "there are no files");
}

/* ---- files */

/* --local: does this rank read the file? */
static int is_mine(const job *j, size_t i) {
    return !j->local || (int)(i % (size_t)j->r.count) == j->r.rank;
}

/* the length of a row file; 0: it is missing, and may be; -1: complained */
static long long file_length(const job *j, size_t i) {
    struct stat about;
    if (stat(j->path[i], &about) != 0) {
        if (errno == ENOENT && j->absent_is_missing) return 0;
        return -ranks_complain(&j->r, "%s: %s", j->path[i], strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) return -ranks_complain(&j->r, "%s: not a file", j->path[i]);
    if (about.st_size == 0) return -ranks_complain(&j->r, "%s: empty", j->path[i]);
    if (about.st_size % (long long)sizeof(agg_real))
        return -ranks_complain(&j->r, "%s: %lld bytes are no row of %d-byte numbers", j->path[i],
                               (long long)about.st_size, (int)sizeof(agg_real));
    return about.st_size;
}

/* every file that is this rank's: all of one length */
static int check_files(job *j) {
    long long length = 0, longest = 0;
    size_t first = 0;
    int bad = 0;
    for (size_t i = 0; i < j->d.n && !bad; i++) {
        const long long here = is_mine(j, i) ? file_length(j, i) : 0;
        if (here < 0) bad = 1;
        j->missing[i] = is_mine(j, i) && here == 0;
        if (here <= 0) continue;
        if (!length) first = i;
        if (length && here != length)
            bad = ranks_complain(&j->r, "%s: %lld numbers, but %s has %lld", j->path[i],
                                 here / (long long)sizeof(agg_real), j->path[first],
                                 length / (long long)sizeof(agg_real));
        length = here;
    }
    if (ranks_any(bad)) return 1;
    MPI_Allreduce(&length, &longest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, j->missing, (int)j->d.n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    j->d.dim = (size_t)longest / sizeof(agg_real);
    if (!longest && !j->r.rank) ranks_complain(&j->r, "none of the files is there");
    if (!longest) return 1;
    if (length && length != longest)
        bad = ranks_complain(&j->r, "%s: %lld numbers, but files of other ranks have %lld",
                             j->path[first], length / (long long)sizeof(agg_real),
                             longest / (long long)sizeof(agg_real));
    return ranks_any(bad);
}

static int open_files(job *j) {
    struct rlimit limit;
    int bad = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (size_t i = 0; i < j->d.n; i++) {
        j->file[i] = -1;
        if (bad || j->missing[i] || !is_mine(j, i)) continue;
        j->file[i] = open(j->path[i], O_RDONLY);
        if (j->file[i] < 0) bad = ranks_complain(&j->r, "%s: %s", j->path[i], strerror(errno));
    }
    return ranks_any(bad);
}

static int read_numbers(job *j, size_t i, size_t at, size_t count, agg_real *to) {
    char *byte = (char *)to;
    size_t left = count * sizeof *to;
    off_t from = (off_t)(at * sizeof *to);
    while (left) {
        const ssize_t got = pread(j->file[i], byte, left, from);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ranks_complain(&j->r, "%s: %s", j->path[i], strerror(errno));
        if (got == 0) return ranks_complain(&j->r, "%s: it became shorter", j->path[i]);
        byte += got;
        from += got;
        left -= (size_t)got;
        j->read += (double)got;
    }
    return 0;
}

/* ---- slices and memory */

/* contiguous slices to ranks; those beyond the slices have none */
static int rank_of_slice(const job *j, size_t s) {
    const size_t slices = agg_slices(j->d.n, j->d.dim), count = (size_t)j->r.count;
    return (int)(count < slices ? s * count / slices : s);
}

static int rank_of(const job *j, size_t at) {
    size_t s = 0;
    while (agg_slice_begin(j->d.n, j->d.dim, s + 1) <= at) s++;
    return rank_of_slice(j, s);
}

/* the coordinates of a rank */
static void range_of(const job *j, int rank, size_t *begin, size_t *end) {
    const size_t slices = agg_slices(j->d.n, j->d.dim);
    size_t s;
    *begin = *end = j->d.dim;
    for (s = slices; s-- > 0;) {
        if (rank_of_slice(j, s) != rank) continue;
        if (*begin == j->d.dim) *end = agg_slice_begin(j->d.n, j->d.dim, s + 1);
        *begin = agg_slice_begin(j->d.n, j->d.dim, s);
    }
    if (*begin == j->d.dim) *end = *begin;
}

static size_t with_halo(const job *j, size_t end) {
    return j->d.dim - end < HALO ? j->d.dim : end + HALO;
}

static size_t default_window(const job *j) {
    const size_t many = ((size_t)64 << 20) / sizeof(agg_real) / j->d.n;
    return many < 2048 ? 2048 : many > ((size_t)1 << 20) ? (size_t)1 << 20 : many;
}

/* what this rank may take, if nobody says */
static double memory_here(void) {
    MPI_Comm node;
    int neighbours = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &neighbours);
    MPI_Comm_free(&node);
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / neighbours;
}

static const char *why_no_stages(const job *j) {
    agg_stages *none;
    char unused;
    if (j->window < 2048 && j->window < j->d.dim) return "--window is less than 2048";
    return agg_status_text(agg_stages_begin(&none, &j->d, j->window, NULL, NULL, &unused, 1));
}

/* desc and memory; 0: all is there */
static int take_memory(job *j) {
    const double most = j->memory ? (double)j->memory * 1e6 : memory_here();
    const size_t n = j->d.n;
    double bytes;
    size_t size;
    char text[256];
    if (agg_explain(&j->d, text, sizeof text) != AGG_OK)
        return j->r.rank ? 1 : ranks_complain(&j->r, "%s", text);
    if (!j->window) j->window = default_window(j);
    size = agg_stages_size(&j->d, j->window);
    if (!size) return j->r.rank ? 1 : ranks_complain(&j->r, "%s", why_no_stages(j));
    range_of(j, j->r.rank, &j->begin, &j->end);
    j->shard_width = j->begin < j->end ? with_halo(j, j->end) - j->begin : 0;
    bytes = (double)size + (double)(j->end - j->begin) * (double)sizeof(agg_real);
    if (j->local) /* and a whole row: see transpose() */
        bytes += ((double)n * (double)j->shard_width + (double)j->d.dim) * (double)sizeof(agg_real);
    if (bytes > most)
        return ranks_complain(&j->r,
                              "%.0f MB are needed and %.0f allowed: more ranks%s, or --memory",
                              bytes / 1e6, most / 1e6, j->local ? "" : ", a smaller --window");
    if (j->local && j->shard_width > INT_MAX / sizeof(agg_real))
        return ranks_complain(&j->r, "--local: more than 2 GB of a row for one rank: more ranks");
    j->stages_memory = malloc(size);
    j->out = (agg_real *)malloc((j->end - j->begin + 1) * sizeof *j->out);
    if (j->local) j->shard = (agg_real *)malloc((n * j->shard_width + 1) * sizeof *j->shard);
    if (!j->stages_memory || !j->out || (j->local && !j->shard))
        return ranks_complain(&j->r, "no memory for %.0f MB", bytes / 1e6);
    return agg_stages_begin(&j->stages, &j->d, j->window, j->missing, &j->rep, j->stages_memory,
                            size) == AGG_OK
               ? 0
               : ranks_complain(&j->r, "agg_stages_begin() refuses");
}

/* ---- --local: every rank has some rows, and gets some coordinates of all */

static void say_progress(job *j, const char *what, double share);

/* One row from each rank at a time: to every rank its coordinates of it. */
static int transpose(job *j) {
    const size_t count = (size_t)j->r.count, rounds = (j->d.n + count - 1) / count;
    agg_real *mine = (agg_real *)calloc(j->d.dim, sizeof *mine);
    int bad = !mine && ranks_complain(&j->r, "no memory for a row");
    size_t k;
    int p;
    if (ranks_any(bad)) return 1;
    for (k = 0; k < rounds; k++) {
        const size_t own = k * count + (size_t)j->r.rank;
        if (own < j->d.n && j->file[own] >= 0) bad = read_numbers(j, own, 0, j->d.dim, mine);
        if (ranks_any(bad)) return 1;
        for (p = 0; p < j->r.count; p++) { /* in step p from the p-th before to the p-th after */
            const int to = (j->r.rank + p) % j->r.count,
                      from = (j->r.rank + j->r.count - p) % j->r.count;
            const size_t theirs = k * count + (size_t)from;
            MPI_Request sending = MPI_REQUEST_NULL;
            size_t begin, end;
            range_of(j, to, &begin, &end);
            if (own < j->d.n && begin < end) {
                const size_t width = with_halo(j, end) - begin;
                MPI_Isend(mine + begin, (int)(width * sizeof *mine), MPI_BYTE, to, 1,
                          MPI_COMM_WORLD, &sending);
            }
            if (theirs < j->d.n && j->shard_width)
                MPI_Recv(j->shard + theirs * j->shard_width, (int)(j->shard_width * sizeof *mine),
                         MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (theirs < j->d.n && p) j->r.moved += (double)(j->shard_width * sizeof *mine);
            MPI_Wait(&sending, MPI_STATUS_IGNORE);
        }
        say_progress(j, "transposing", (double)(k + 1) / (double)rounds);
    }
    free(mine);
    return 0;
}

/* ---- passes */

/* rank 0, every second or so */
static void say_progress(job *j, const char *what, double share) {
    const double now = MPI_Wtime();
    if (j->r.rank || j->quiet || now - j->started < 2 || now - j->told < 1) return;
    j->told = now;
    fprintf(stderr, "%s: %.0f %%, %.0f s\n", what, 100 * share, now - j->started);
}

/* j->row = coordinates [at, at + width) of all rows */
static int load_window(job *j, size_t at, size_t width) {
    for (size_t i = 0; i < j->d.n; i++) {
        j->row[i] = NULL;
        if (j->missing[i]) continue;
        j->row[i] = j->local ? j->shard + i * j->shard_width + (at - j->begin)
                             : agg_stages_row(j->stages, i);
        if (!j->local && read_numbers(j, i, at, width, agg_stages_row(j->stages, i))) return 1;
    }
    return 0;
}

/* a part that this rank has */
static int add_part(job *j, size_t part) {
    const size_t most = j->window >= j->d.dim ? j->d.dim : j->window / 2048 * 2048;
    agg_real spare[8] = {0}; /* a sample may reach beyond what this rank has of out */
    size_t at, left, width;
    char what[32];
    agg_stages_part(j->stages, part, &at, &left);
    for (; left; at += width, left -= width) {
        agg_real *out = at + left <= j->end ? j->out + (at - j->begin) : spare;
        width = left < most ? left : most;
        if (load_window(j, at, width)) return 1;
        if (agg_stages_add(j->stages, part, at, width, j->row, out) != AGG_OK)
            return ranks_complain(&j->r, "agg_stages_add() refuses");
        snprintf(what, sizeof what, "pass %d", (int)j->passes + 1);
        say_progress(j, what, (double)(at - j->begin) / (double)(j->end - j->begin));
    }
    return 0;
}

static int owner_of_part(const job *j, size_t part) {
    size_t at, width;
    agg_stages_part(j->stages, part, &at, &width);
    return rank_of(j, at);
}

/* The sums of all parts to all ranks, in one go: ranks have their parts in order. */
static void exchange(job *j, char *sums, size_t size) {
    const size_t parts = agg_stages_parts(j->stages);
    const int in_one = parts * size <= INT_MAX;
    int *count = j->count, *from = j->count + j->r.count;
    memset(count, 0, 2 * (size_t)j->r.count * sizeof *count);
    for (size_t p = parts; p-- > 0;) {
        const int owner = owner_of_part(j, p);
        count[owner] += in_one ? (int)size : 0;
        from[owner] = in_one ? (int)(p * size) : 0;
        if (owner == j->r.rank) agg_stages_get(j->stages, p, sums + p * size);
    }
    if (in_one) {
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, count, from, MPI_BYTE,
                       MPI_COMM_WORLD);
        j->r.moved += (double)(parts * size) - count[j->r.rank];
    }
    for (size_t p = 0; p < parts; p++) {
        const int owner = owner_of_part(j, p);
        if (!in_one) ranks_broadcast(&j->r, sums + p * size, size, owner);
        if (owner != j->r.rank) agg_stages_put(j->stages, p, sums + p * size);
    }
}

/* every part by the rank that has it, and its sums to all */
static int make_pass(job *j) {
    const size_t parts = agg_stages_parts(j->stages), size = agg_stages_sums_size(j->stages);
    char *sums = (char *)malloc(parts * size);
    int bad = 0;
    if (!sums) bad = ranks_complain(&j->r, "no memory for sums of %.0f MB", 1e-6 * (double)size);
    for (size_t p = 0; p < parts && !bad; p++)
        if (owner_of_part(j, p) == j->r.rank) bad = add_part(j, p);
    bad = ranks_any(bad);
    if (!bad) exchange(j, sums, size);
    free(sums);
    j->passes++;
    return bad;
}

/* ---- the result */

static int write_all(job *j, int file, const agg_real *x, size_t count) {
    const char *at = (const char *)x;
    size_t left = count * sizeof *x;
    while (left) {
        const ssize_t n = write(file, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return ranks_complain(&j->r, "%s: %s", j->out_path, strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    return 0;
}

/* rank 0: its own coordinates, then those of the others in order */
static int collect(job *j, int file) {
    int bad = write_all(j, file, j->out, j->end - j->begin);
    for (int p = 1; p < j->r.count; p++) {
        size_t begin, end, width;
        range_of(j, p, &begin, &end);
        for (; begin < end; begin += width) {
            agg_real *piece = (agg_real *)j->stages_memory; /* which is done with */
            width = end - begin < 4096 ? end - begin : 4096;
            ranks_receive(&j->r, piece, width * sizeof *piece, p);
            if (!bad) bad = write_all(j, file, piece, width);
        }
    }
    return bad;
}

static void give(job *j) {
    size_t at, width;
    for (at = 0; at < j->end - j->begin; at += width) {
        width = j->end - j->begin - at < 4096 ? j->end - j->begin - at : 4096;
        ranks_send(&j->r, j->out + at, width * sizeof *j->out, 0);
    }
}

/* rank 0: what is written beside the result is no row */
static int check_place(const job *j) {
    struct stat about, row;
    char beside[4096];
    if (j->r.rank) return 0;
    snprintf(beside, sizeof beside, "%s.new", j->out_path);
    if (stat(beside, &about) == 0)
        for (size_t i = 0; i < j->d.n; i++)
            if (stat(j->path[i], &row) == 0 && row.st_dev == about.st_dev &&
                row.st_ino == about.st_ino)
                return ranks_complain(&j->r, "%s: a row, and -o would write there", j->path[i]);
    return ranks_check_place(&j->r, j->out_path);
}

/* beside the file, then in its place: nothing half-written */
static int write_result(job *j) {
    char beside[4096];
    int file = -1, bad = 0;
    if (!j->r.rank) {
        if (snprintf(beside, sizeof beside, "%s.new", j->out_path) >= (int)sizeof beside)
            bad = ranks_complain(&j->r, "%s: too long a name", j->out_path);
        file = bad ? -1 : open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (!bad && file < 0) bad = ranks_complain(&j->r, "%s: %s", beside, strerror(errno));
    }
    if (ranks_any(bad)) return 1;
    if (j->r.rank) {
        give(j);
        return ranks_any(0);
    }
    bad = collect(j, file);
    if (!bad && fsync(file) != 0) bad = ranks_complain(&j->r, "%s: %s", beside, strerror(errno));
    close(file);
    if (!bad && rename(beside, j->out_path) != 0)
        bad = ranks_complain(&j->r, "%s: %s", j->out_path, strerror(errno));
    if (bad) unlink(beside);
    return ranks_any(bad);
}

static void print_report(const job *j, agg_status s) {
    if (j->r.rank) return;
    if (s == AGG_INEXACT) fprintf(stderr, "mpi_aggregate: %s\n", agg_status_text(s));
    if (!j->report) return;
    printf("weight      suspicion   row\n");
    for (size_t i = 0; i < j->d.n; i++)
        printf("%-11.6g %-11.6g %s\n", j->rep.weight[i], j->rep.suspicion[i], j->path[i]);
}

static void print_stats(const job *j) {
    double sum[2] = {j->read, j->r.moved}, all[2] = {0, 0};
    MPI_Reduce(sum, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (j->r.rank || !j->stats) return;
    printf("ranks %d rows %d numbers %.0f seconds %.3f passes %d read %.0f moved %.0f\n",
           j->r.count, (int)j->d.n, (double)j->d.dim, MPI_Wtime() - j->started, (int)j->passes,
           all[0], all[1]);
}

/* ---- all of it */

static uint64_t next_random(void *self) { /* splitmix64 */
    uint64_t *state = (uint64_t *)self, z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int aggregate(job *j) {
    agg_status s;
    if (ranks_any(take_memory(j))) return 1;
    if (!j->r.rank && !j->quiet && (size_t)j->r.count > agg_slices(j->d.n, j->d.dim))
        fprintf(stderr,
                "mpi_aggregate: rows of %.0f numbers have %d slices: more ranks than that have "
                "nothing to do\n",
                (double)j->d.dim, (int)agg_slices(j->d.n, j->d.dim));
    if (j->local && transpose(j)) return 1;
    while ((s = agg_stages_decide(j->stages)) == AGG_MORE)
        if (make_pass(j)) return 1;
    if (s != AGG_OK && s != AGG_INEXACT) {
        if (!j->r.rank)
            ranks_complain(&j->r, "%s (%d of them)", agg_status_text(s), (int)j->rep.dropped);
        return 1;
    }
    if (write_result(j)) return 1;
    print_report(j, s);
    print_stats(j);
    return 0;
}

static void release(job *j) {
    for (size_t i = 0; i < j->d.n && j->file; i++)
        if (j->file[i] >= 0) close(j->file[i]);
    free(j->file);
    free(j->missing);
    free(j->rep.weight);
    free(j->rep.suspicion);
    free(j->stages_memory);
    free(j->shard);
    free(j->out);
    free(j->row);
    free(j->count);
}

/* arrays of n */
static int take_lists(job *j) {
    const size_t n = j->d.n;
    j->file = (int *)malloc(n * sizeof *j->file);
    j->missing = (unsigned char *)calloc(n, 1);
    j->row = (const agg_real **)malloc(n * sizeof *j->row);
    j->count = (int *)malloc(2 * (size_t)j->r.count * sizeof *j->count);
    for (size_t i = 0; i < n && j->file; i++) j->file[i] = -1;
    if (j->report) j->rep.weight = (double *)calloc(n, sizeof(double));
    if (j->report) j->rep.suspicion = (double *)calloc(n, sizeof(double));
    if (j->file && j->missing && j->row && j->count &&
        (!j->report || (j->rep.weight && j->rep.suspicion)))
        return 0;
    return ranks_complain(&j->r, "no memory for %d rows", (int)n);
}

int main(int argc, char **argv) {
    job j;
    int bad;
    memset(&j, 0, sizeof j);
    j.r = ranks_begin(&argc, &argv, "mpi_aggregate");
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) return print_help(&j.r), ranks_end(0);
    j.started = MPI_Wtime();
    j.random = 1;
    j.d = agg_make_desc(AGG_MDA, 0, 0, 0);
    if (read_options(&j, argc, argv)) return ranks_end(2);
    j.d.rng.next = next_random;
    j.d.rng.self = &j.random;
    bad = ranks_any(take_lists(&j)) || check_files(&j) || ranks_any(check_place(&j)) ||
          open_files(&j) || aggregate(&j);
    release(&j);
    return ranks_end(bad);
}
