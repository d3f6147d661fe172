/* What is behind the speed of the rules? Ratios from one run, float:
     1. the code of textbooks beside the same rule here, and whether the answers are the same
     2. MDA's search beyond its distance pass, on easy rows and on rows placed to make it hard
     3. two jobs on two cores
   The limits of the machine and hostile rows are in rules.c. Others use the machine too: one thread
   is timed by its own clock, the least time counts. BENCH_QUICK=1 shortens it. */
#include "bench.h"
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "examples/pool.h"

/* ---- rows and calls */
typedef struct table {
    size_t n, f, dim;
    float *data, *out;
    const float **row;
    void *scratch;
    size_t scratch_size;
} table;

static table table_make(size_t n, size_t f, size_t dim) {
    table t = {n, f, dim, NULL, NULL, NULL, NULL, 0};
    t.data = (float *)bench_alloc(n * dim, sizeof(float));
    t.out = (float *)bench_alloc(dim, sizeof(float));
    t.row = (const float **)bench_alloc(n, sizeof(float *));
    for (size_t i = 0; i < n; i++) t.row[i] = t.data + i * dim;
    return t;
}

static void table_free(table *t) {
    free(t->data);
    free(t->out);
    free(t->row);
    free(t->scratch);
}

/* Honest rows are standard normal; the f adversaries sit together at a distance where they are
   worth a look. */
static void fill_agents(table *t, double shift, uint64_t seed) {
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->dim; k++)
            t->data[i * t->dim + k] = (float)(bench_gauss(&seed) + (i + t->f >= t->n ? shift : 0));
}

/* this thread's seconds */
static double call(table *t, const agg_desc *d, agg_report *report, agg_status *status) {
    size_t need = agg_scratch_size(d);
    if (need > t->scratch_size) {
        free(t->scratch);
        t->scratch = bench_alloc(need, 1);
        memset(t->scratch, 1, need); /* the pages must be there before the clock runs */
        t->scratch_size = need;
    }
    double start = bench_cpu();
    agg_status s = agg_aggregate(d, t->row, t->out, t->scratch, t->scratch_size, report);
    double stop = bench_cpu();
    if (status) *status = s;
    if (s > AGG_INEXACT) {
        fprintf(stderr, "%s n=%d f=%d: %s\n", agg_rule_name(d->rule), (int)d->n, (int)d->f,
                agg_status_text(s));
        exit(1);
    }
    return stop - start;
}

/* ---- textbook code */
static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static size_t sorted_column(const table *t, size_t k, float *v) {
    for (size_t i = 0; i < t->n; i++) v[i] = t->row[i][k];
    qsort(v, t->n, sizeof *v, by_value);
    return t->n;
}

static float middle(const float *v, size_t n) { return (v[(n - 1) / 2] + v[n / 2]) / 2; }

static void naive_cwmed(table *t) {
    float v[256];
    for (size_t k = 0; k < t->dim; k++) t->out[k] = middle(v, sorted_column(t, k, v));
}

static void naive_cwtm(table *t) {
    float v[256];
    for (size_t k = 0; k < t->dim; k++) {
        float s = 0;
        sorted_column(t, k, v);
        for (size_t i = t->f; i < t->n - t->f; i++) s += v[i];
        t->out[k] = s / (float)(t->n - 2 * t->f);
    }
}

typedef struct by_gap {
    float gap, value;
} by_gap;

static void naive_meamed(table *t) {
    float v[256];
    by_gap g[256];
    for (size_t k = 0; k < t->dim; k++) {
        float s = 0, m = middle(v, sorted_column(t, k, v));
        for (size_t i = 0; i < t->n; i++) {
            g[i].gap = fabsf(v[i] - m);
            g[i].value = v[i];
        }
        qsort(g, t->n, sizeof *g, by_value); /* gap comes first in the struct */
        for (size_t i = 0; i < t->n - t->f; i++) s += g[i].value;
        t->out[k] = s / (float)(t->n - t->f);
    }
}

static float naive_distance2(const float *a, const float *b, size_t dim) {
    float s = 0;
    for (size_t k = 0; k < dim; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return s;
}

static float *naive_distances(const table *t) {
    float *d = (float *)bench_alloc(t->n * t->n, sizeof *d);
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->n; j++)
            d[i * t->n + j] = naive_distance2(t->row[i], t->row[j], t->dim);
    return d;
}

static void naive_krum(table *t) {
    float *d = naive_distances(t), best = INFINITY;
    size_t pick = 0;
    for (size_t i = 0; i < t->n; i++) {
        float score = 0, v[256];
        memcpy(v, d + i * t->n, t->n * sizeof *v);
        qsort(v, t->n, sizeof *v, by_value);
        for (size_t k = 1; k <= t->n - t->f - 1; k++) score += v[k]; /* v[0] is the row itself */
        if (score < best) best = score, pick = i;
    }
    memcpy(t->out, t->row[pick], t->dim * sizeof(float));
    free(d);
}

/* every subset; n <= 25 or so */
static void naive_mda(table *t) {
    float *d = naive_distances(t), best = INFINITY;
    uint32_t pick = 0;
    for (uint32_t set = 0; set < (uint32_t)1 << t->n; set++) {
        float diameter = 0;
        size_t size = 0;
        for (size_t i = 0; i < t->n; i++) size += set >> i & 1;
        if (size != t->n - t->f) continue;
        for (size_t i = 0; i < t->n; i++)
            for (size_t j = 0; j < i; j++)
                if ((set >> i & 1) && (set >> j & 1) && d[i * t->n + j] > diameter)
                    diameter = d[i * t->n + j];
        if (diameter < best) best = diameter, pick = set;
    }
    for (size_t k = 0; k < t->dim; k++) {
        float s = 0;
        for (size_t i = 0; i < t->n; i++)
            if (pick >> i & 1) s += t->row[i][k];
        t->out[k] = s / (float)(t->n - t->f);
    }
    free(d);
}

static void naive_mean(table *t) {
    for (size_t k = 0; k < t->dim; k++) {
        float s = 0;
        for (size_t i = 0; i < t->n; i++) s += t->row[i][k];
        t->out[k] = s / (float)t->n;
    }
}

/* Weiszfeld, 100 iterations from the mean */
static void naive_gm(table *t) {
    float *next = (float *)bench_alloc(t->dim, sizeof *next);
    naive_mean(t);
    for (int it = 0; it < 100; it++) {
        float total = 0;
        memset(next, 0, t->dim * sizeof *next);
        for (size_t i = 0; i < t->n; i++) {
            float w = 1 / sqrtf(naive_distance2(t->row[i], t->out, t->dim) + 1e-12f);
            for (size_t k = 0; k < t->dim; k++) next[k] += w * t->row[i][k];
            total += w;
        }
        for (size_t k = 0; k < t->dim; k++) t->out[k] = next[k] / total;
    }
    free(next);
}

/* ---- 1 beside textbooks */
typedef struct textbook {
    agg_rule rule;
    void (*naive)(table *t);
    size_t most;  /* rows; more take too long */
    double agree; /* largest |ours - naive| that counts as the same */
} textbook;

static const textbook textbooks[] = {
    {AGG_CWMED, naive_cwmed, 256, 1e-5},   {AGG_CWTM, naive_cwtm, 256, 1e-5},
    {AGG_MEAMED, naive_meamed, 256, 1e-5}, {AGG_KRUM, naive_krum, 256, 0},
    {AGG_MDA, naive_mda, 12, 1e-5},        {AGG_GM, naive_gm, 256, 1e-2},
};

enum { TEXTBOOKS = sizeof textbooks / sizeof *textbooks };

static const struct {
    size_t n, f, dim;
} sizes[] = {{10, 3, 1000000}, {50, 15, 100000}, {100, 30, 100000}};

enum { SIZES = sizeof sizes / sizeof *sizes };

static double largest_difference(const float *a, const float *b, size_t dim) {
    double worst = 0;
    for (size_t k = 0; k < dim; k++) worst = fmax(worst, fabs((double)(a[k] - b[k])));
    return worst;
}

/* ours, then theirs once, then ours again: the clock of the machine may change */
static void print_textbook(table *t, const textbook *b) {
    const agg_desc d = agg_make_desc(b->rule, t->n, t->dim, t->f);
    bench_stat ours = {{0}, 0};
    float *answer = (float *)bench_alloc(t->dim, sizeof *answer);
    for (int i = 0; i < 5; i++) bench_add(&ours, call(t, &d, NULL, NULL));
    memcpy(answer, t->out, t->dim * sizeof *answer);
    const double start = bench_cpu();
    b->naive(t);
    const double naive = bench_cpu() - start;
    const int same = largest_difference(answer, t->out, t->dim) <= b->agree;
    for (int i = 0; i < 5; i++) bench_add(&ours, call(t, &d, NULL, NULL));
    printf("  %-12s %9.3f ms  %8.1f x faster than textbook code (%s)\n", agg_rule_name(b->rule),
           bench_min(&ours) * 1e3, naive / bench_min(&ours), same ? "same" : "DIFFERENT");
    fflush(stdout);
    free(answer);
}

static void bench_textbooks(void) {
    for (int z = 0; z < (bench_quick() ? 2 : SIZES); z++) {
        table t = table_make(sizes[z].n, sizes[z].f, sizes[z].dim / (bench_quick() ? 10 : 1));
        fprintf(stderr, "textbook code at n=%d d=%d ...\n", (int)t.n, (int)t.dim);
        fill_agents(&t, 0.5, 1);
        printf("\nn=%d f=%d d=%d\n", (int)t.n, (int)t.f, (int)t.dim);
        for (int i = 0; i < TEXTBOOKS; i++)
            if (t.n <= textbooks[i].most) print_textbook(&t, &textbooks[i]);
        table_free(&t);
    }
}

/* ---- 2 MDA's search */
/* MDA asks whether the graph of far pairs has a vertex cover of f rows. Any graph can be that
   graph: row i is e_i with -eps at its neighbours' places, so pairs are sqrt(2) apart and
   neighbours farther by about sqrt(2) eps. m of the n rows carry the graph, the others have no far
   partner; m is chosen so that the least cover is about f. */
typedef struct graph {
    size_t m;
    unsigned char *edge; /* m x m */
} graph;

static void join(graph *g, size_t i, size_t j, unsigned char on) {
    g->edge[i * g->m + j] = g->edge[j * g->m + i] = on;
}

static int joined(const graph *g, size_t i, size_t j) { return g->edge[i * g->m + j]; }

/* A circulant: neighbours at 1 .. degree/2, and opposite if the degree is odd, when m must be even.
   end: the two ends of every edge. Returns the number of edges. */
static size_t graph_circulant(graph *g, size_t degree, size_t *end) {
    size_t edges = 0;
    for (size_t i = 0; i < g->m; i++)
        for (size_t s = 1; s <= (degree + 1) / 2; s++) {
            const size_t j = (i + (s <= degree / 2 ? s : g->m / 2)) % g->m;
            if (joined(g, i, j)) continue;
            join(g, i, j, 1);
            end[2 * edges] = i;
            end[2 * edges + 1] = j;
            edges++;
        }
    return edges;
}

/* edges ab, cd become ac, bd at random: the degrees stay */
static void graph_regular(graph *g, size_t degree, uint64_t *seed) {
    size_t *end = (size_t *)bench_alloc(g->m * degree, sizeof *end);
    const size_t edges = graph_circulant(g, degree, end);
    for (size_t e = 0; e < 50 * edges; e++) {
        size_t *ab = end + 2 * (bench_random(seed) % edges);
        size_t *cd = end + 2 * (bench_random(seed) % edges);
        const size_t a = ab[0], b = ab[1], c = cd[0], d = cd[1];
        if (a == c || a == d || b == c || b == d) continue;
        if (joined(g, a, c) || joined(g, b, d)) continue;
        join(g, a, b, 0);
        join(g, c, d, 0);
        join(g, a, c, 1);
        join(g, b, d, 1);
        ab[1] = c;
        cd[0] = b;
    }
    free(end);
}

/* disjoint; odd ones fool every matching bound */
static void graph_cycles(graph *g, size_t length, uint64_t *seed) {
    (void)seed;
    for (size_t i = 0; i + length <= g->m; i += length)
        for (size_t s = 0; s < length; s++) join(g, i + s, i + (s + 1) % length, 1);
}

static void graph_grid(graph *g, size_t width, uint64_t *seed) {
    (void)seed;
    for (size_t i = 0; i < g->m; i++) {
        if ((i + 1) % width && i + 1 < g->m) join(g, i, i + 1, 1);
        if (i + width < g->m) join(g, i, i + width, 1);
    }
}

/* complete bipartite without a perfect matching */
static void graph_crown(graph *g, size_t unused, uint64_t *seed) {
    (void)unused, (void)seed;
    for (size_t i = 0; i < g->m / 2; i++)
        for (size_t j = 0; j < g->m / 2; j++)
            if (i != j) join(g, i, g->m / 2 + j, 1);
}

/* every pair with this probability */
static void graph_random(graph *g, size_t percent, uint64_t *seed) {
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < i; j++)
            if (bench_random(seed) % 100 < percent) join(g, i, j, 1);
}

/* copies of the smallest cubic graph of girth 7 */
static void graph_mcgee(graph *g, size_t unused, uint64_t *seed) {
    static const size_t jump[3] = {12, 7, 17};
    (void)unused, (void)seed;
    for (size_t c = 0; c + 24 <= g->m; c += 24)
        for (size_t i = 0; i < 24; i++) {
            join(g, c + i, c + (i + 1) % 24, 1);
            join(g, c + i, c + (i + jump[i % 3]) % 24, 1);
        }
}

/* jitter spreads the radii of far pairs */
static void embed(table *t, const graph *g, double jitter, uint64_t *seed) {
    memset(t->data, 0, t->n * t->dim * sizeof(float));
    for (size_t i = 0; i < t->n; i++) t->data[i * t->dim + i] = 1;
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < i; j++)
            if (joined(g, i, j)) {
                float eps = (float)(0.02 * (1 + jitter * bench_uniform(seed)));
                t->data[i * t->dim + j] = t->data[j * t->dim + i] = -eps;
            }
}

static void fill_gauss(table *t, double shift, uint64_t *seed) {
    fill_agents(t, shift, bench_random(seed));
}

/* every diameter competes */
static void fill_sphere(table *t, double unused, uint64_t *seed) {
    (void)unused;
    for (size_t i = 0; i < t->n; i++) {
        double x[64], s = 0;
        for (size_t k = 0; k < t->dim; k++) x[k] = bench_gauss(seed), s += x[k] * x[k];
        for (size_t k = 0; k < t->dim; k++) t->data[i * t->dim + k] = (float)(x[k] / sqrt(s));
    }
}

static void fill_circle(table *t, double jitter, uint64_t *seed) {
    for (size_t i = 0; i < t->n; i++) {
        double a = 6.283185307179586 * ((double)i + jitter * bench_uniform(seed)) / (double)t->n;
        t->data[i * t->dim] = (float)cos(a);
        t->data[i * t->dim + 1] = (float)sin(a);
    }
}

/* corners of a lattice: ties everywhere */
static void fill_cube(table *t, double levels, uint64_t *seed) {
    for (size_t i = 0; i < t->n * t->dim; i++)
        t->data[i] = (float)(bench_random(seed) % (uint64_t)levels);
}

typedef struct placement {
    const char *name;
    void (*fill)(table *t, double parameter, uint64_t *seed); /* rows directly ... */
    size_t dim;
    double parameter;                                         /* shift, jitter, levels */
    void (*make)(graph *g, size_t parameter, uint64_t *seed); /* ... or by a graph of far pairs */
    size_t degree, m100, m1000; /* size of the graph at n = 100 and n = 1000 */
} placement;

/* clang-format off */
static const placement placements[] = {
    {"iid normal, dim 8", fill_gauss, 8, 0, NULL, 0, 0, 0},
    {"adversaries in a near cluster", fill_gauss, 8, 1.5, NULL, 0, 0, 0},
    {"random 3-regular", NULL, 0, 0, graph_regular, 3, 54, 712},
    {"adversaries in a far cluster", fill_gauss, 8, 9, NULL, 0, 0, 0},
    {"iid normal, dim 64", fill_gauss, 64, 0, NULL, 0, 0, 0},
    {"random on a sphere, dim 3", fill_sphere, 3, 0, NULL, 0, 0, 0},
    {"random on a sphere, dim 32", fill_sphere, 32, 0, NULL, 0, 0, 0},
    {"even on a circle", fill_circle, 2, 0, NULL, 0, 0, 0},
    {"random on a circle", fill_circle, 2, 1, NULL, 0, 0, 0},
    {"0/1 corners, dim 16", fill_cube, 16, 2, NULL, 0, 0, 0},
    {"all distances equal", NULL, 0, 0, graph_cycles, 3, 0, 0},
    {"triangles", NULL, 0, 0, graph_cycles, 3, 48, 603},
    {"5-cycles", NULL, 0, 0, graph_cycles, 5, 55, 670},
    {"grid", NULL, 0, 0, graph_grid, 8, 64, 808},
    {"crown", NULL, 0, 0, graph_crown, 0, 62, 802},
    {"McGee graphs", NULL, 0, 0, graph_mcgee, 0, 72, 696},
    {"random 4-regular", NULL, 0, 0, graph_regular, 4, 51, 680},
    {"random 5-regular", NULL, 0, 0, graph_regular, 5, 48, 648},
    {"random, 10% of pairs", NULL, 0, 0, graph_random, 10, 48, 450},
    {"random, 50% of pairs", NULL, 0, 0, graph_random, 50, 38, 412},
    {"random 3-regular, jitter", NULL, 0, 1, graph_regular, 3, 54, 712},
    {"random 4-regular, jitter", NULL, 0, 1, graph_regular, 4, 49, 680},
    {"random 6-regular, jitter", NULL, 0, 1, graph_regular, 6, 47, 630},
};

/* clang-format on */
enum { PLACEMENTS = sizeof placements / sizeof *placements };

static table place(const placement *p, size_t n, size_t f) {
    uint64_t seed = 7;
    table t = table_make(n, f, p->fill ? p->dim : n);
    if (p->fill) {
        p->fill(&t, p->parameter, &seed);
        return t;
    }
    graph g = {n == 100 ? p->m100 : p->m1000, NULL};
    g.edge = (unsigned char *)bench_alloc(g.m * g.m, 1);
    if (g.m) p->make(&g, p->degree, &seed);
    embed(&t, &g, p->parameter, &seed);
    free(g.edge);
    return t;
}

static double least_call(table *t, agg_rule rule, size_t dim, int times, agg_report *report,
                         agg_status *status) {
    agg_desc d = agg_make_desc(rule, t->n, dim, t->f);
    bench_stat b = {{0}, 0};
    do bench_add(&b, call(t, &d, report, status));
    while (--times > 0 && bench_min(&b) < 0.3);
    return bench_min(&b);
}

/* The distance pass is what Krum takes more for all columns than for one. */
static double search_seconds(table *t, int times, agg_report *report, agg_status *status) {
    double all = least_call(t, AGG_MDA, t->dim, times, report, status);
    double krum = least_call(t, AGG_KRUM, t->dim, times, NULL, NULL);
    double rest = least_call(t, AGG_KRUM, 1, times, NULL, NULL);
    return fmax(all - fmax(krum - rest, 0), 0);
}

static double log10_choose(size_t n, size_t k) {
    return (lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1)) / log(10);
}

static void bench_search(size_t n, size_t f, double target) {
    fprintf(stderr, "MDA's search at N=%d ...\n", (int)n);
    printf("\nMDA's search beyond its distance pass, N=%d f=%d, C(N,f) = 10^%.1f, target %g ms\n",
           (int)n, (int)f, log10_choose(n, f), target * 1e3);
    double start = bench_cpu();
    for (int i = 0; i < PLACEMENTS; i++) {
        if (bench_quick() && bench_cpu() - start > 1) {
            printf("  (in a hurry: %d more placements left out)\n", PLACEMENTS - i);
            break;
        }
        agg_report report;
        agg_status status = AGG_OK;
        table t = place(&placements[i], n, f);
        memset(&report, 0, sizeof report);
        double s = search_seconds(&t, bench_quick() ? 1 : n == 100 ? 5 : 2, &report, &status);
        printf("  %-28s %9.3f ms %8lu nodes  %-8s %s\n", placements[i].name, s * 1e3,
               (unsigned long)report.nodes, status == AGG_OK ? "exact" : "INEXACT",
               s > target         ? "MISSED"
               : status == AGG_OK ? "holds"
                                  : "in time");
        fflush(stdout);
        table_free(&t);
    }
}

/* ---- 3 two jobs on two cores */
typedef struct twin {
    table *t[2];
    agg_desc d;
} twin;

static void run_twin(void *arg, size_t index) {
    twin *w = (twin *)arg;
    call(w->t[index], &w->d, NULL, NULL);
}

typedef struct duel {
    bench_stat one, two, apart; /* alone, with two jobs, two calls at once */
    int same;                   /* bits of one and two */
} duel;

static void time_jobs(twin *w, pool *workers, float *alone, duel *u) {
    table *t = w->t[0];
    agg_desc d = w->d;
    double start = bench_now();
    call(t, &d, NULL, NULL);
    bench_add(&u->one, bench_now() - start);
    memcpy(alone, t->out, t->dim * sizeof *alone);
    d.jobs.run = pool_run;
    d.jobs.self = workers;
    start = bench_now();
    call(t, &d, NULL, NULL);
    bench_add(&u->two, bench_now() - start);
    u->same = u->same && memcmp(alone, t->out, t->dim * sizeof *alone) == 0;
    start = bench_now();
    pool_run(workers, 2, run_twin, w);
    bench_add(&u->apart, bench_now() - start);
}

/* A machine that others use may not give 1.6. */
static void print_jobs(const twin *w, const duel *u) {
    const double one = bench_min(&u->one), two = bench_min(&u->two);
    const double machine = 2 * one / bench_min(&u->apart);
    printf(
        "  %-11s %8.2f ms alone %8.2f ms with two: %.2f x (machine %.2f x), target %.2f %s, %s\n",
        w->d.pre[0] ? agg_pre_name(w->d.pre[0]) : agg_rule_name(w->d.rule), one * 1e3, two * 1e3,
        one / two, machine, fmin(1.6, 0.9 * machine),
        one / two >= fmin(1.6, 0.9 * machine) ? "holds" : "MISSED",
        u->same ? "same bits" : "OTHER BITS");
    fflush(stdout);
}

static void bench_pair(table *t, table *other, pool *workers, agg_rule rule, agg_pre pre) {
    twin w = {{t, other}, agg_make_desc(rule, t->n, t->dim, t->f)};
    float *alone = (float *)bench_alloc(t->dim, sizeof *alone);
    duel u;
    memset(&u, 0, sizeof u);
    u.same = 1;
    w.d.pre[0] = pre;
    call(other, &w.d, NULL, NULL); /* makes its scratch */
    for (int i = 0; i < (bench_quick() ? 5 : 25); i++) time_jobs(&w, workers, alone, &u);
    print_jobs(&w, &u);
    free(alone);
}

/* f finite giants, whose squares do not fit */
static void fill_giants(table *t) {
    for (size_t i = 0; i < t->f * t->dim; i++) t->data[i] *= 1e30f;
}

static void bench_jobs(void) {
    static const agg_rule rules[] = {AGG_CWMED, AGG_CWTM, AGG_MEAMED, AGG_KRUM, AGG_MDA, AGG_GM};
    const size_t dim = bench_quick() ? 20000 : 100000;
    pool workers;
    table t = table_make(50, 15, dim), other = table_make(50, 15, dim);
    fprintf(stderr, "two cores ...\n");
    printf("\ntwo jobs on two cores, n=50 d=%d (machine: two independent calls at once, what it "
           "can give)\n",
           (int)dim);
    fill_agents(&t, 0.5, 1);
    fill_agents(&other, 0.5, 2);
    pool_start(&workers, 2);
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        bench_pair(&t, &other, &workers, rules[r], AGG_PRE_NONE);
    bench_pair(&t, &other, &workers, AGG_MEAN, AGG_PRE_NNM);
    printf(" the same with f giants of 1e30\n");
    fill_giants(&t);
    fill_giants(&other);
    for (size_t r = 3; r < sizeof rules / sizeof *rules; r++)
        bench_pair(&t, &other, &workers, rules[r], AGG_PRE_NONE);
    bench_pair(&t, &other, &workers, AGG_MEAN, AGG_PRE_NNM);
    pool_stop(&workers);
    table_free(&t);
    table_free(&other);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        printf("usage: aggregators\n"
               "Textbook code, MDA's search and two cores. BENCH_QUICK=1: shorter.\n");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    bench_print_build();
    bench_textbooks();
    bench_search(100, 30, 0.010);
    bench_search(1000, 400, 0.200);
    bench_jobs();
    return 0;
}
