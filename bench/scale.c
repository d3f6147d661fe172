/* How does a call in stages grow with n and dim, and what does streaming cost beside having all rows
   in memory? One thread; the thread's own clock counts, and the least time.
     beside      for each rule: agg_aggregate() with all rows in memory; the same in stages, with
                 windows that point there, or are copied from there, as a read from a file does it;
                 and their ratios. "one read" is a bare sum of all rows
     growth      time against n and against dim, and the exponents of c n^a dim^b that fit best
     long rows   n x 10^8 by streaming, rows that exist nowhere as a whole: windows are copied from a
                 pool of random numbers
   BENCH_QUICK=1 shortens it. bench/ranks.sh measures ranks of MPI. */
#include "bench.h"
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"

enum { POOL = 1 << 24 }; /* numbers: more than any cache */

typedef struct contender {
    const char *name;
    agg_rule rule;
    agg_pre pre;
    size_t most; /* n; 0 = any */
} contender;

static const contender contenders[] = {{"mean", AGG_MEAN, AGG_PRE_NONE, 0},
                                       {"CWTM", AGG_CWTM, AGG_PRE_NONE, 0},
                                       {"CWMed", AGG_CWMED, AGG_PRE_NONE, 0},
                                       {"MeaMed", AGG_MEAMED, AGG_PRE_NONE, 0},
                                       {"winsorised", AGG_WINSOR, AGG_PRE_NONE, 0},
                                       {"sign vote", AGG_SIGN_VOTE, AGG_PRE_NONE, 0},
                                       {"CGE", AGG_CGE, AGG_PRE_NONE, 0},
                                       {"MoNNA", AGG_MONNA, AGG_PRE_NONE, 0},
                                       {"Aksel", AGG_AKSEL, AGG_PRE_NONE, 0},
                                       {"FLTrust", AGG_FLTRUST, AGG_PRE_NONE, 0},
                                       {"CClip", AGG_CCLIP, AGG_PRE_NONE, 0},
                                       {"Krum", AGG_KRUM, AGG_PRE_NONE, 0},
                                       {"Multi-Krum", AGG_MULTI_KRUM, AGG_PRE_NONE, 0},
                                       {"MDA", AGG_MDA, AGG_PRE_NONE, 0},
                                       {"GM", AGG_GM, AGG_PRE_NONE, 0},
                                       {"FedPG", AGG_FEDPG, AGG_PRE_NONE, 0},
                                       {"Bulyan", AGG_BULYAN, AGG_PRE_NONE, 0},
                                       {"CAF", AGG_CAF, AGG_PRE_NONE, 0},
                                       {"SMEA", AGG_SMEA, AGG_PRE_NONE, 30},
                                       {"NNM + mean", AGG_MEAN, AGG_PRE_NNM, 0},
                                       {"NNM + MDA", AGG_MDA, AGG_PRE_NNM, 0}};

enum { CONTENDERS = sizeof contenders / sizeof *contenders };

typedef struct stream {
    agg_desc d;
    const agg_real *pool;
    const agg_real **row; /* NULL: windows come from the pool */
    const agg_real **here;
    agg_real *out; /* of a window, or of all */
    int whole;     /* out is of all */
    int copied;    /* windows are copied, as a read from a file does */
    size_t window, passes, memory;
} stream;

static agg_real *new_pool(void) {
    agg_real *pool = (agg_real *)bench_alloc(POOL, sizeof *pool);
    uint64_t state = 1;
    for (size_t k = 0; k < POOL; k++) pool[k] = (agg_real)bench_gauss(&state);
    return pool;
}

static agg_desc desc_of(const contender *c, size_t n, size_t dim) {
    agg_desc d = agg_make_desc(c->rule, n, dim, 0);
    const size_t most = agg_max_f(c->rule, n), want = 3 * n / 10;
    d.f = c->rule == AGG_MEAN ? (c->pre ? want : 0) : want < most ? want : most;
    d.pre[0] = c->pre;
    return d;
}

/* row i from coordinate `at` on: some place of the pool */
static const agg_real *place(const stream *s, size_t i, size_t at) {
    return s->pool + (i * 7919 * 64 + at) % (POOL - ((size_t)1 << 20));
}

static void load(stream *s, agg_stages *st, size_t at, size_t width) {
    for (size_t i = 0; i < s->d.n; i++) {
        agg_real *to = agg_stages_row(st, i);
        s->here[i] = s->row && !s->copied ? s->row[i] + at : to;
        if (!s->row || s->copied)
            memcpy(to, s->row ? s->row[i] + at : place(s, i, at), width * sizeof *to);
    }
}

static void add_part(stream *s, agg_stages *st, size_t part) {
    size_t at, left, width;
    agg_stages_part(st, part, &at, &left);
    for (; left; at += width, left -= width) {
        width = left < s->window ? left : s->window;
        load(s, st, at, width);
        if (agg_stages_add(st, part, at, width, s->here, s->out + (s->whole ? at : 0)) != AGG_OK)
            exit(1);
    }
}

static void run_stream(stream *s, void *memory, size_t size) {
    agg_stages *st = NULL;
    agg_status status = agg_stages_begin(&st, &s->d, s->window, NULL, NULL, memory, size);
    if (status != AGG_OK) exit(1);
    for (s->passes = 0; (status = agg_stages_decide(st)) == AGG_MORE;) {
        s->passes += agg_stages_parts(st) == agg_slices(s->d.n, s->d.dim);
        for (size_t p = 0; p < agg_stages_parts(st); p++) add_part(s, st, p);
    }
    if (status != AGG_OK && status != AGG_INEXACT) exit(1);
}

static double time_stream(stream *s, int times) {
    const size_t size = agg_stages_size(&s->d, s->window);
    void *memory = bench_alloc(size, 1);
    bench_stat b = {{0}, 0};
    s->memory = size;
    for (int k = 0; k < times; k++) {
        const double begin = bench_cpu();
        run_stream(s, memory, size);
        bench_add(&b, bench_cpu() - begin);
    }
    free(memory);
    return bench_min(&b);
}

static double time_whole(const stream *s, int times) {
    const size_t size = agg_scratch_size(&s->d);
    void *scratch = bench_alloc(size, 1);
    bench_stat b = {{0}, 0};
    for (int k = 0; k < times; k++) {
        const double begin = bench_cpu();
        const agg_status status = agg_aggregate(&s->d, s->row, s->out, scratch, size, NULL);
        bench_add(&b, bench_cpu() - begin);
        if (status != AGG_OK && status != AGG_INEXACT) exit(1);
    }
    free(scratch);
    return bench_min(&b);
}

/* rows in one piece, and what is needed beside them */
static stream new_stream(const agg_real *pool, size_t n, size_t dim, size_t window, int in_memory) {
    stream s;
    memset(&s, 0, sizeof s);
    s.pool = pool;
    s.window = window < dim ? window : dim;
    s.here = (const agg_real **)bench_alloc(n, sizeof *s.here);
    s.whole = in_memory;
    s.out = (agg_real *)bench_alloc(in_memory ? dim : s.window + 8, sizeof *s.out);
    s.d.n = n;
    if (!in_memory) return s;
    s.row = (const agg_real **)bench_alloc(n, sizeof *s.row);
    for (size_t i = 0; i < n; i++) {
        agg_real *x = (agg_real *)bench_alloc(dim, sizeof *x);
        size_t at, width;
        for (at = 0; at < dim; at += width) {
            width = dim - at < 4096 ? dim - at : 4096;
            memcpy(x + at, place(&s, i, at), width * sizeof *x);
        }
        s.row[i] = x;
    }
    return s;
}

static void free_stream(stream *s) {
    for (size_t i = 0; i < s->d.n && s->row; i++) free((void *)(uintptr_t)s->row[i]);
    free(s->row);
    free(s->here);
    free(s->out);
}

/* a bare sum of all rows, in lanes enough for the machine to read as fast as it can */
static double time_read(const stream *s, size_t dim, int times) {
    bench_stat b = {{0}, 0};
    for (int t = 0; t < times; t++) {
        const double begin = bench_cpu();
        float sum = 0;
        for (size_t i = 0; i < s->d.n; i++) {
            float lane[32] = {0};
            for (size_t k = 0; k + 32 <= dim; k += 32)
                for (size_t l = 0; l < 32; l++) lane[l] += (float)s->row[i][k + l];
            for (size_t l = 0; l < 32; l++) sum += lane[l];
        }
        bench_sink = sum;
        bench_add(&b, bench_cpu() - begin);
    }
    return bench_min(&b);
}

static int fits(const contender *c, size_t n) { return !c->most || n <= c->most; }

static void print_beside(const agg_real *pool, size_t n, size_t dim, size_t window, int times) {
    stream s = new_stream(pool, n, dim, window, 1);
    const double read = time_read(&s, dim, times);
    printf("\n%d x %d, windows of %d: one read %.1f ms\n", (int)n, (int)dim, (int)window,
           1e3 * read);
    printf("%-12s %10s %10s %7s %10s %7s %7s\n", "rule", "memory ms", "stages ms", "ratio",
           "copied ms", "ratio", "passes");
    for (size_t k = 0; k < CONTENDERS; k++) {
        double whole, staged, copied;
        if (!fits(&contenders[k], n)) continue;
        s.d = desc_of(&contenders[k], n, dim);
        whole = time_whole(&s, times);
        s.copied = 0;
        staged = time_stream(&s, times);
        s.copied = 1;
        copied = time_stream(&s, times);
        printf("%-12s %10.2f %10.2f %7.2f %10.2f %7.2f %7d\n", contenders[k].name, 1e3 * whole,
               1e3 * staged, staged / whole, 1e3 * copied, copied / whole, (int)s.passes);
        fflush(stdout);
    }
    free_stream(&s);
}

/* ---- growth: least squares for log t = log c + a log n + b log dim */

typedef struct fit {
    double m[3][4];
} fit;

static void fit_add(fit *f, double n, double dim, double t) {
    const double x[4] = {1, log(n), log(dim), log(t)};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) f->m[i][k] += x[i] * x[k];
}

static void fit_solve(fit *f) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const double by = j == i ? 0 : f->m[j][i] / f->m[i][i];
            for (int k = i; k < 4 && j != i; k++) f->m[j][k] -= by * f->m[i][k];
        }
    }
}

static void print_growth(const agg_real *pool, size_t window, int quick) {
    static const size_t size[][2] = {{10, 10000},  {10, 100000},  {10, 1000000}, {30, 100000},
                                     {100, 10000}, {100, 100000}, {300, 30000},  {1000, 10000}};
    const size_t sizes = quick ? 3 : sizeof size / sizeof *size;
    printf("\nstages, ms, by n x dim; seconds = c n^a dim^b\n%-12s", "rule");
    for (size_t k = 0; k < sizes; k++) printf(" %5dx%.0e", (int)size[k][0], (double)size[k][1]);
    printf("      a     b\n");
    for (size_t c = 0; c < CONTENDERS; c++) {
        fit f;
        memset(&f, 0, sizeof f);
        printf("%-12s", contenders[c].name);
        for (size_t k = 0; k < sizes; k++) {
            stream s;
            double t;
            if (!fits(&contenders[c], size[k][0])) {
                printf(" %11s", "-");
                continue;
            }
            s = new_stream(pool, size[k][0], size[k][1], window, 0);
            s.d = desc_of(&contenders[c], size[k][0], size[k][1]);
            t = time_stream(&s, size[k][0] * size[k][1] < 3000000 ? 3 : 1);
            fit_add(&f, (double)size[k][0], (double)size[k][1], t);
            printf(" %11.3g", 1e3 * t);
            fflush(stdout);
            free_stream(&s);
        }
        if (!quick && fits(&contenders[c], 1000)) {
            fit_solve(&f);
            printf("  %5.2f %5.2f", f.m[1][3] / f.m[1][1], f.m[2][3] / f.m[2][2]);
        }
        printf("\n");
    }
}

static void print_long(const agg_real *pool, size_t n, size_t dim, size_t window) {
    printf("\n%d x %.0e by streaming, %.1f GB that are never in memory\n%-12s %9s %9s %7s %10s\n",
           (int)n, (double)dim, 1e-9 * (double)n * (double)dim * sizeof(agg_real), "rule",
           "seconds", "GB/s", "passes", "memory MB");
    for (size_t k = 0; k < CONTENDERS; k++) {
        static const int shown[] = {AGG_MEAN, AGG_CWTM, AGG_CWMED, AGG_CGE, AGG_MDA, AGG_GM};
        stream s;
        double t;
        size_t i = 0;
        while (i < 6 && shown[i] != (int)contenders[k].rule) i++;
        if (i == 6 || (contenders[k].pre && contenders[k].rule == AGG_MDA)) continue;
        s = new_stream(pool, n, dim, window, 0);
        s.d = desc_of(&contenders[k], n, dim);
        t = time_stream(&s, 1);
        printf("%-12s %9.1f %9.2f %7d %10.1f\n", contenders[k].name, t,
               1e-9 * (double)s.passes * (double)n * (double)dim * sizeof(agg_real) / t,
               (int)s.passes, 1e-6 * (double)s.memory);
        fflush(stdout);
        free_stream(&s);
    }
}

int main(void) {
    const int quick = bench_quick();
    agg_real *pool = new_pool();
    printf("bench/scale.c, %s, %s\n", BENCH_FLAGS, sizeof(agg_real) == 4 ? "float" : "double");
    print_beside(pool, 10, quick ? 300000 : 3000000, 8192, 3);
    print_beside(pool, 100, quick ? 30000 : 300000, 2048, 3);
    print_growth(pool, 2048, quick);
    print_long(pool, 10, quick ? 1000000 : 100000000, 8192);
    if (!quick) print_long(pool, 100, 10000000, 2048);
    free(pool);
    return 0;
}
