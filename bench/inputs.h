/* inputs.h - rows to time a rule on: harmless ones, and the hostile ones an adversary would send to
   make it wait. An input is a row of a table: a name, what honest agents send, what the f
   adversaries send. Include bench.h and aggregators.h first. */
#ifndef BENCH_INPUTS_H
#define BENCH_INPUTS_H

#ifdef AGG_DOUBLE
#define INPUT_GIANT 1e300
#define INPUT_TINY  1e-310
#else
#define INPUT_GIANT 1e30
#define INPUT_TINY  1e-40
#endif

/* ---- rows */
/* Adversaries stand at 1 .. f: row 0 is the one MoNNA trusts. A rule that survives fewer than f of
   them sees honest rows in their places, so both are kept. */
typedef struct rows {
    size_t n, f, dim;
    agg_real *honest, *hostile; /* n x dim, f x dim */
    const agg_real **row;       /* n */
    int missing;                /* adversaries send nothing */
} rows;

static BENCH_UNUSED rows rows_make(size_t n, size_t f, size_t dim) {
    rows r = {n, f, dim, NULL, NULL, NULL, 0};
    r.honest = (agg_real *)bench_alloc(n * dim, sizeof(agg_real));
    r.hostile = (agg_real *)bench_alloc(f * dim, sizeof(agg_real));
    r.row = (const agg_real **)bench_alloc(n, sizeof *r.row);
    return r;
}

static BENCH_UNUSED void rows_free(rows *r) {
    free(r->honest);
    free(r->hostile);
    free(r->row);
}

static BENCH_UNUSED void rows_point(rows *r, size_t f) {
    for (size_t i = 0; i < r->n; i++) r->row[i] = r->honest + i * r->dim;
    for (size_t i = 0; i < f; i++) r->row[1 + i] = r->missing ? NULL : r->hostile + i * r->dim;
}

/* ---- what one agent sends: x has dim numbers, i is its index */
typedef void fill_row(agg_real *x, const rows *r, size_t i, uint64_t *seed);

static void fill_normal_at(agg_real *x, size_t dim, double centre, double spread, uint64_t *seed) {
    for (size_t k = 0; k < dim; k++) x[k] = (agg_real)(centre + spread * bench_gauss(seed));
}

static void fill_normal(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    fill_normal_at(x, r->dim, 0, 1, seed);
}

/* at a distance where they are worth a look */
static void fill_shifted(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    fill_normal_at(x, r->dim, 0.5, 1, seed);
}

static void fill_giant(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    fill_normal_at(x, r->dim, 0, INPUT_GIANT, seed);
}

static void fill_giant_last(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    fill_normal(x, r, i, seed);
    x[r->dim - 1] = (agg_real)INPUT_GIANT;
}

static void fill_equal(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    uint64_t same = 5;
    (void)i, (void)seed;
    fill_normal_at(x, r->dim, 0, 1, &same);
}

static void fill_zero(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i, (void)seed;
    memset(x, 0, r->dim * sizeof *x);
}

static void fill_integers(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    for (size_t k = 0; k < r->dim; k++) x[k] = (agg_real)(bench_random(seed) % 5) - 2;
}

static void fill_equal_away(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i, (void)seed;
    for (size_t k = 0; k < r->dim; k++) x[k] = 1000;
}

static void fill_tight_away(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    fill_normal_at(x, r->dim, 1000, 1e-3, seed);
}

/* whatever is subtracted from all rows, half of them stay far from it and near to each other */
static void fill_two_clusters(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    fill_normal_at(x, r->dim, i % 2 ? 1000 : -1000, 1e-3, seed);
}

static void fill_denormal(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i;
    fill_normal_at(x, r->dim, 0, INPUT_TINY, seed);
}

static void fill_offset(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    uint64_t same = 5;
    (void)i;
    for (size_t k = 0; k < r->dim; k++)
        x[k] = (agg_real)(1e4 * bench_gauss(&same) + bench_gauss(seed));
}

/* five tight ones, 1e-6 .. 1e6 from the origin */
static void fill_clusters(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    const double scale = pow(10, 3 * (double)(i % 5) - 6);
    for (size_t k = 0; k < r->dim; k++)
        x[k] = (agg_real)(scale * (1 + 1e-3 * bench_gauss(seed)) * (k % 2 ? -1 : 1));
}

static void fill_nan(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    (void)i, (void)seed;
    for (size_t k = 0; k < r->dim; k++) x[k] = (agg_real)NAN;
}

static void fill_nan_last(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    fill_normal(x, r, i, seed);
    x[r->dim - 1] = (agg_real)NAN;
}

/* MDA asks for a vertex cover of f rows in the graph of far pairs. Here it is a ring with random
   chords: row i is e_i with a small negative number at its neighbours' places, so that they are
   farther from it than others. m rows carry the graph: then the least cover has about f. */
static void fill_graph(agg_real *x, const rows *r, size_t i, uint64_t *seed) {
    const size_t m = (179 * r->f / 100) & ~(size_t)1, half = m / 2;
    size_t *partner = (size_t *)bench_alloc(half, sizeof *partner);
    uint64_t fixed = 9;
    (void)seed;
    for (size_t k = 0; k < half; k++) partner[k] = k;
    for (size_t k = half; k > 1; k--) {
        const size_t other = bench_random(&fixed) % k, last = partner[k - 1];
        partner[k - 1] = partner[other];
        partner[other] = last;
    }
    memset(x, 0, r->dim * sizeof *x);
    if (i < m) x[(i + 1) % m] = x[(i + m - 1) % m] = (agg_real)-0.02;
    for (size_t k = 0; k < half; k++) { /* chords: 2k and 2 partner[k] + 1 */
        if (i == 2 * k) x[2 * partner[k] + 1] = (agg_real)-0.02;
        if (i == 2 * partner[k] + 1) x[2 * k] = (agg_real)-0.02;
    }
    x[i] = 1;
    free(partner);
}

/* ---- the inputs */
typedef struct input {
    const char *name;
    fill_row *honest, *hostile; /* hostile NULL: adversaries send nothing */
} input;

/* the first is the harmless one */
static const input inputs[] = {
    {"harmless", fill_normal, fill_shifted},
    {"giants", fill_normal, fill_giant},
    {"giant last number", fill_normal, fill_giant_last},
    {"all rows equal", fill_equal, fill_equal},
    {"all zeros", fill_zero, fill_zero},
    {"small integers", fill_integers, fill_integers},
    {"equal rows away", fill_normal, fill_equal_away},
    {"tight rows away", fill_normal, fill_tight_away},
    {"two clusters", fill_two_clusters, fill_two_clusters},
    {"denormals", fill_denormal, fill_denormal},
    {"shared offset", fill_offset, fill_offset},
    {"clusters", fill_clusters, fill_clusters},
    {"missing rows", fill_normal, NULL},
    {"NaN rows", fill_normal, fill_nan},
    {"NaN last number", fill_normal, fill_nan_last},
    {"graph of pairs", fill_graph, fill_graph},
};

enum { INPUTS = sizeof inputs / sizeof *inputs };

static BENCH_UNUSED int input_applies(const input *in, const rows *r) {
    return in->honest != fill_graph || r->dim >= r->n;
}

static BENCH_UNUSED void rows_fill(rows *r, const input *in, uint64_t seed) {
    for (size_t i = 0; i < r->n; i++) in->honest(r->honest + i * r->dim, r, i, &seed);
    r->missing = in->hostile == NULL;
    for (size_t i = 0; i < r->f && in->hostile; i++)
        in->hostile(r->hostile + i * r->dim, r, 1 + i, &seed);
}
#endif /* BENCH_INPUTS_H */
