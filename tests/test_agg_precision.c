/* Long rows lose nothing, rows that share a large offset are told apart, and a distance is as exact
   as the header says, from the least denormal number to the largest there is. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

/* Krum's row when all rows share an offset. The last two rows are Byzantine: far off relative to
   the spread. */
TEST offset(double by) {
    enum { ROWS = 10, DIM = 1000 };

    rng r = rng_make(1);
    for (int t = 0; t < 20; t++) {
        rows x = rows_new(ROWS, DIM);
        agg_real out[DIM];
        agg_report rep = report_new(ROWS);
        agg_desc d = agg_make_desc(AGG_KRUM, ROWS, DIM, 3);
        ref_item items[ROWS];
        ref_num *d2;
        for (size_t i = 0; i < ROWS; i++)
            fill_normal(rows_at(&x, i), DIM, &r, by + (i > 7 ? 0.005 : 0), 0.01);
        d2 = ref_distances2(x.row, ROWS, DIM);
        ref_krum_order(d2, ROWS, 3, 0, items);
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
        if (!(rep.weight[items[0].row] > 0))
            FAILm(WHY("offset %g, case %d: row %zu is best", by, t, items[0].row));
        ASSERT(same_bits(out, x.row[items[0].row], DIM));
        free(d2);
        report_free(&rep);
        rows_free(&x);
    }
    PASS();
}

#define LONG ((size_t)10000000)

TEST ten_million_numbers(void) {
    rng r = rng_make(2);
    const size_t dim = getenv("TEST_QUICK") ? LONG / 100 : is_whole() ? LONG : LONG / 10;
    rows x = rows_new(3, dim);
    agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
    agg_report rep = report_new(3);
    agg_desc d = agg_make_desc(AGG_MDA, 3, dim, 1);
    double worst = 0, d01 = 0, d02 = 0, d12 = 0;
    long double sums[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 * dim; i++)
        x.data[i] = (agg_real)(1 + (double)(rng_next(&r) >> 40) * 0x1p-24);
    /* row 1 is nearer to row 0 than row 2 by one part in a million */
    for (size_t k = 0; k < dim; k++) {
        const double step = (double)rows_at(&x, 1)[k] - (double)rows_at(&x, 0)[k];
        rows_at(&x, 2)[k] =
            (agg_real)((double)rows_at(&x, 0)[k] - step * (k < dim / 2 ? 1.000002 : 1));
    }
    for (size_t k = 0; k < dim; k++) {
        const long double a = (long double)rows_at(&x, 0)[k], b = (long double)rows_at(&x, 1)[k],
                          c = (long double)rows_at(&x, 2)[k];
        sums[0] += (a - b) * (a - b);
        sums[1] += (a - c) * (a - c);
        sums[2] += (b - c) * (b - c);
    }
    d01 = (double)sqrtl(sums[0]);
    d02 = (double)sqrtl(sums[1]);
    d12 = (double)sqrtl(sums[2]);
    ASSERT(d01 < d02 && d02 / d01 < 1.000002 && d01 < d12);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT_IN_RANGE(d01, rep.diameter, 1e-6 * d01);
    ASSERTm("the nearer pair was not found",
            rep.weight[0] > 0 && rep.weight[1] > 0 && !(rep.weight[2] > 0));
    for (size_t k = 0; k < dim; k++) {
        const double want = ((double)rows_at(&x, 0)[k] + (double)rows_at(&x, 1)[k]) / 2;
        worst = fmax(worst, fabs((double)out[k] - want) / want);
    }
    ASSERT(worst <= EPS);
    d = agg_make_desc(AGG_MEAN, 3, dim, 0);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    worst = 0;
    for (size_t k = 0; k < dim; k++) {
        const double want =
            ((double)rows_at(&x, 0)[k] + (double)rows_at(&x, 1)[k] + (double)rows_at(&x, 2)[k]) / 3;
        worst = fmax(worst, fabs((double)out[k] - want) / want);
    }
    ASSERT(worst <= 2 * EPS);
    free(out);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* CGE: norms of a million equal numbers, apart by 2e-6 */
TEST long_norms(void) {
    const size_t dim = 1000000;
    rows x = rows_new(3, dim);
    agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
    agg_report rep = report_new(3);
    agg_desc d = agg_make_desc(AGG_CGE, 3, dim, 1);
    fill_number(rows_at(&x, 0), dim, 0.1000002);
    fill_number(rows_at(&x, 1), dim, 0.1);
    fill_number(rows_at(&x, 2), dim, 0.0999998);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT(rep.weight[1] > 0 && rep.weight[2] > 0 && !(rep.weight[0] > 0));
    free(out);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* ---- every distance against long double ---- */

/* What the header says of a distance (DISTANCES): half of that of its square. */
#ifdef AGG_DOUBLE
#define DISTANCE_HASH  UINT64_C(0x9528673f863df987)
#define DISTANCE_ERROR 0x1p-37
#define EXACT_ERROR    1e-14
#else
#define DISTANCE_HASH  UINT64_C(0xf80eb16099f6a81f)
#define DISTANCE_ERROR 0x1p-14
#define EXACT_ERROR    1e-14
#endif

/* X(id, name): rows whose distances are hard */
#define HARD_LIST(X)                                                                               \
    X(HARD_NORMAL, "normal")                                                                       \
    X(HARD_OFFSET, "offset")                                                                       \
    X(HARD_CLUSTERS, "clusters at several scales")                                                 \
    X(HARD_GIANTS, "giants")                                                                       \
    X(HARD_DENORMAL, "denormal")                                                                   \
    X(HARD_SHARED, "a shared giant, differences of any size")                                      \
    X(HARD_RANGE, "rows of any size")                                                              \
    X(HARD_SPIKES, "one number of a row is of any size")                                           \
    X(HARD_EQUAL, "groups of equal rows")                                                          \
    X(HARD_CLOSE, "pairs that are close and far away")                                             \
    X(HARD_DECOY, "numbers that vanish where one looks, of any size elsewhere")                    \
    X(HARD_HIDDEN, "every row hides a giant, all at one place")                                    \
    X(HARD_ABYSS, "tiny rows, one hides a giant")
#define HARD_X(id, name) id,
typedef enum hard { HARD_LIST(HARD_X) HARD_COUNT } hard;
#undef HARD_X
#define HARD_X(id, name) name,
static const char *const hard_names[] = {HARD_LIST(HARD_X)};
#undef HARD_X

/* +-2^e, e anywhere in the range of agg_real or in a part of it */
static agg_real any_size(rng *r, double from, double to) {
    const double low = log2((double)REAL_TINY), high = log2((double)REAL_MAX);
    const double e = low + (high - low) * (from + (to - from) * rng_unit(r));
    return (agg_real)(rng_below(r, 2) ? exp2(e) : -exp2(e));
}

static double hard_number(hard h, size_t i, size_t k, rng *r) {
    switch (h) {
    case HARD_OFFSET: return 100 + 0.01 * rng_normal(r);
    case HARD_CLUSTERS: return exp2(-3.0 * (double)(i % 5)) + 1e-3 * rng_normal(r);
    case HARD_GIANTS: return i % 3 ? rng_normal(r) : (double)giant(r);
    case HARD_DENORMAL: return (double)((int)rng_below(r, 2001) - 1000) * (double)REAL_TINY;
    case HARD_SHARED: return k % 7 ? (double)any_size(r, 0, 0.3) : (double)any_size(r, 0.8, 1);
    case HARD_CLOSE: return (i % 2 ? 50.0 * (double)(i / 4) : 0) + 1e-3 * rng_normal(r);
    default: return rng_normal(r);
    }
}

/* the numbers by which is guessed how squares are to be formed: all others are as large as the last
   one, or there are none */
static void fill_decoy(agg_real *row, const rows *x, rng *r) {
    const size_t from = x->dim > 8 ? 1 : 0;
    const double size = fabs((double)any_size(r, 0, 0.98));
    for (size_t k = 0; k < x->dim; k++) row[k] = (agg_real)((1 + rng_unit(r)) * (double)REAL_TINY);
    for (size_t k = from; k < x->dim; k++)
        if (x->dim < 64 || (k % (x->dim / 8) && k % (x->dim / x->n)))
            row[k] = (agg_real)((2 * rng_unit(r) - 1) * size);
}

static void fill_hard(rows *x, hard h, rng *r) {
    for (size_t i = 0; i < x->n; i++) {
        agg_real *row = rows_at(x, i);
        const double size = fabs((double)any_size(r, 0, 0.98));
        for (size_t k = 0; k < x->dim; k++) row[k] = (agg_real)hard_number(h, i, k, r);
        for (size_t k = 0; k < x->dim && h == HARD_RANGE; k++)
            row[k] = (agg_real)((2 * rng_unit(r) - 1) * size);
        if (h == HARD_SHARED && i)
            for (size_t k = 0; k < x->dim; k += 7) row[k] = x->data[k];
        if (h == HARD_DECOY) fill_decoy(row, x, r);
        if (h == HARD_HIDDEN) row[x->dim - 1 - x->dim / 64] = (agg_real)(1e9 * rng_normal(r));
        for (size_t k = 0; k < x->dim && h == HARD_ABYSS; k++) row[k] *= any_size(r, 0.25, 0.25);
        if (h == HARD_ABYSS && i == x->n / 2) row[x->dim - 1 - x->dim / 64] = any_size(r, 0.8, 0.9);
        if (h == HARD_SPIKES) row[rng_below(r, x->dim)] = any_size(r, 0, 1);
        if (h == HARD_EQUAL && i % 3)
            memcpy(row, rows_at(x, rng_below(r, i)), x->dim * sizeof *row);
    }
}

/* c->pairs of these rows, to be freed; avx2: with the kernels for it, where they are */
static void *find_pairs(aggi_call *c, agg_desc *d, const rows *x, int exact, int avx2) {
    const size_t size = agg_scratch_size(d);
    void *scratch = need(malloc(size));
    (void)aggi_begin(c, d, scratch, size);
    c->avx2 = c->avx2 && avx2;
    aggi_collect(c, x->row);
    aggi_scan(c);
    aggi_play(c);
    if (aggi_find_pairs(c, exact) != AGG_OK) c->pairs.entry[0] = (double)INFINITY;
    return scratch;
}

/* n x n, to be freed */
static long double *true_distances(const rows *x) {
    long double *want = (long double *)need(calloc(x->n * x->n, sizeof *want));
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < i; j++)
            want[i * x->n + j] = want[j * x->n + i] =
                sqrtl(ref_dist2(x->row[i], x->row[j], x->dim));
    return want;
}

/* the worst of all distances, relative to the true ones; infinite if a plain kernel has others */
static double worst_distance(const rows *x, const long double *truth, int exact) {
    agg_desc d = agg_make_desc(AGG_KRUM, x->n, x->dim, 0);
    aggi_call c, plain;
    void *scratch = find_pairs(&c, &d, x, exact, 1), *other = find_pairs(&plain, &d, x, exact, 0);
    const size_t bytes = x->n * x->n * sizeof *c.pairs.entry;
    double worst = memcmp(c.pairs.entry, plain.pairs.entry, bytes) ? (double)INFINITY : 0;
    for (size_t i = 0; i < x->n; i++) {
        for (size_t j = 0; j < x->n; j++) {
            const double root = aggi_pair_root(&c.pairs, c.pairs.entry[i * x->n + j]);
            const long double got = (long double)root * (long double)root;
            const long double want = truth[i * x->n + j];
            const long double off = want > 0  ? fabsl(got / want - 1)
                                    : got > 0 ? (long double)INFINITY
                                              : 0;
            worst = fmax(worst, (double)off);
        }
    }
    free(scratch);
    free(other);
    return worst;
}

/* Distances of many rows have the same bits on every machine: a hash of those of fixed rows, of
   which some are far away, some close together there, some giants. */
TEST same_bits_everywhere(void) {
    enum { ROWS = 23, DIM = 5003 };

    rng r = rng_make(1);
    rows x = rows_new(ROWS, DIM);
    agg_desc d = agg_make_desc(AGG_KRUM, ROWS, DIM, 0);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    aggi_call c;
    void *scratch;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < DIM; k++)
            rows_at(&x, i)[k] = (agg_real)((i % 4 ? 2 * rng_unit(&r) : 1000 + 1e-3 * rng_unit(&r)) *
                                           (i % 7 == 6 ? 1e30 : 1));
    scratch = find_pairs(&c, &d, &x, 0, 1);
    for (size_t i = 0; i < ROWS * ROWS; i++)
        hash = (hash ^ aggi_bits(c.pairs.entry[i])) * UINT64_C(0x100000001b3);
    free(scratch);
    rows_free(&x);
    if (hash != DISTANCE_HASH) FAILm(WHY("the hash is 0x%016llx", (unsigned long long)hash));
    PASS();
}

TEST distances(hard h) {
    static const size_t ns[] = {3, 10, 23, 50}, dims[] = {1, 5, 8, 29, 300, 9001};
    rng r = rng_make(77 + (uint64_t)h);
    for (size_t a = 0; a < sizeof ns / sizeof *ns; a++)
        for (size_t b = 0; b < sizeof dims / sizeof *dims && ns[a] * dims[b] < 250000; b++) {
            rows x = rows_new(ns[a], dims[b]);
            double worst, worst_exact;
            long double *truth;
            fill_hard(&x, h, &r);
            truth = true_distances(&x);
            worst = worst_distance(&x, truth, 0);
            worst_exact = worst_distance(&x, truth, 1);
            free(truth);
            rows_free(&x);
            if (!(worst <= DISTANCE_ERROR && worst_exact <= EXACT_ERROR))
                FAILm(WHY("%s: n %zu, dim %zu: off by %g, exact ones by %g", hard_names[h], ns[a],
                          dims[b], worst, worst_exact));
        }
    PASS();
}

/* the same of distances from one row, and from 0 */
TEST norms(hard h) {
    static const size_t dims[] = {1, 5, 29, 300, 9001};
    rng r = rng_make(78 + (uint64_t)h);
    for (size_t b = 0; b < 2 * sizeof dims / sizeof *dims; b++) {
        rows x = rows_new(10, dims[b / 2]);
        agg_desc d = agg_make_desc(AGG_CGE, x.n, x.dim, 0);
        agg_real *zero = (agg_real *)need(calloc(x.dim, sizeof *zero));
        const agg_real *from = b % 2 ? x.row[0] : zero;
        void *scratch = need(malloc(agg_scratch_size(&d)));
        double root[10];
        aggi_call c;
        (void)aggi_begin(&c, &d, scratch, agg_scratch_size(&d));
        fill_hard(&x, h, &r);
        ASSERT_EQ(AGG_OK, aggi_find_roots(&c, x.row, x.n, b % 2 ? x.row[0] : NULL, root));
        for (size_t i = 0; i < x.n; i++) {
            const long double got = (long double)root[i] * (long double)root[i];
            const long double want = sqrtl(ref_dist2(x.row[i], from, x.dim));
            if (!(fabsl(got - want) <= (long double)DISTANCE_ERROR * want))
                FAILm(WHY("%s: dim %zu: %Lg, true %Lg", hard_names[h], x.dim, got, want));
        }
        free(zero);
        free(scratch);
        rows_free(&x);
    }
    PASS();
}

/* a pool that starts with the last job */
static void run_backwards(void *self, size_t count, agg_job *job, void *arg) {
    *(size_t *)self += count;
    while (count--) job(arg, count);
}

/* Hostile rows stay in the pool: the answer with jobs is the one without. And so it is with a NaN
   in f rows as without these. */
TEST hostile_in_the_pool(hard h) {
    static const size_t ns[] = {9, 20}, dims[] = {70, 9001};
    rng r = rng_make(31 + (uint64_t)h);
    for (size_t a = 0; a < 4; a++) {
        const size_t n = ns[a / 2], dim = dims[a % 2];
        rows x = rows_new(n, dim);
        agg_desc d = agg_make_desc(AGG_KRUM, n, dim, 3);
        agg_real *out = (agg_real *)need(malloc(3 * dim * sizeof *out)), *pooled = out + dim,
                 *left = out + 2 * dim;
        size_t jobs = 0;
        fill_hard(&x, h, &r);
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
        d.jobs.run = run_backwards;
        d.jobs.self = &jobs;
        ASSERT_EQ(AGG_OK, run(&d, x.row, pooled, NULL));
        ASSERT(same_bits(out, pooled, dim));
        ASSERT(dim < 4096 || jobs > 0);
        for (size_t i = 0; i < 2; i++) rows_at(&x, 5 * i)[dim / 3] = (agg_real)NAN;
        ASSERT_EQ(AGG_OK, run(&d, x.row, pooled, NULL));
        x.row[0] = x.row[5] = NULL;
        ASSERT_EQ(AGG_OK, run(&d, x.row, left, NULL));
        ASSERT(same_bits(left, pooled, dim));
        free(out);
        rows_free(&x);
    }
    PASS();
}

/* Rows of small integers times a power of two: the choice is the same, so ties go to the lower
   row. */
TEST scaled_ties(agg_rule rule) {
    static const int by[] = {-1000, -700, -140, -100, -60, 60, 100, 120, 500, 1000};
    enum { ROWS = 7, DIM = 19 };

    rng r = rng_make(5);
    for (int t = 0; t < 300; t++) {
        const int e = by[rng_below(&r, sizeof by / sizeof *by)];
        const double scale = ldexp(1, sizeof(agg_real) == 8 || abs(e) <= 140 ? e : 0);
        rows x = rows_new(ROWS, DIM);
        agg_desc d = agg_make_desc(rule, ROWS, DIM, 2);
        agg_real out[DIM], scaled[DIM];
        agg_report a = report_new(ROWS), b = report_new(ROWS);
        fill_rows(&x, LAY_TIED, &r);
        ASSERT(run(&d, x.row, out, &a) <= AGG_INEXACT);
        for (size_t k = 0; k < ROWS * DIM; k++) x.data[k] = (agg_real)((double)x.data[k] * scale);
        ASSERT(run(&d, x.row, scaled, &b) <= AGG_INEXACT);
        for (size_t i = 0; i < ROWS; i++)
            if (!(fabs(a.weight[i] - b.weight[i]) <= 0))
                FAILm(WHY("2^%d, case %d, row %zu: weight %g, was %g", e, t, i, b.weight[i],
                          a.weight[i]));
        report_free(&a);
        report_free(&b);
        rows_free(&x);
    }
    PASS();
}

/* the ratio of agg_resilience() in long double */
static long double true_ratio(const rows *x, size_t f, const agg_real *out) {
    long double most = 0;
    for (unsigned set = 0; set < 1u << x->n; set++) {
        long double error = 0, diameter = 0;
        size_t count = 0;
        for (size_t i = 0; i < x->n; i++) count += set >> i & 1;
        if (count != x->n - f) continue;
        for (size_t k = 0; k < x->dim; k++) {
            long double off = 0;
            for (size_t i = 0; i < x->n; i++)
                if (set >> i & 1) off += (long double)out[k] - (long double)x->row[i][k];
            error += off / (long double)count * (off / (long double)count);
        }
        for (size_t i = 0; i < x->n; i++)
            for (size_t j = 0; j < i; j++)
                if (set >> i & set >> j & 1)
                    diameter = fmaxl(diameter, ref_dist2(x->row[i], x->row[j], x->dim));
        if (error > 0)
            most = fmaxl(most, diameter > 0 ? sqrtl(error / diameter) : (long double)INFINITY);
    }
    return most;
}

/* What agg_resilience() measures, in any range; and MDA and Krum stay inside lambda there. */
TEST any_range(hard h) {
    enum { ROWS = 5, F = 2, DIM = 9 };

    rng r = rng_make(9);
    for (int t = 0; t < 200; t++) {
        rows x = rows_new(ROWS, DIM);
        fill_hard(&x, h, &r);
        for (int rule = 0; rule < 2; rule++) {
            agg_desc d = agg_make_desc(rule ? AGG_KRUM : AGG_MDA, ROWS, DIM, F);
            agg_real out[DIM];
            double ratio = 0;
            long double want;
            ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
            want = true_ratio(&x, F, out);
            ASSERT_EQ(AGG_OK, agg_resilience(x.row, ROWS, DIM, F, out, &ratio, NULL));
            if (!(fabsl((long double)ratio - want) <= 1e-6L * (1 + want)) &&
                !(isinf(ratio) && isinf((double)want)))
                FAILm(WHY("%s, case %d: ratio %g, true %Lg", hard_names[h], t, ratio, want));
            if (h == HARD_SHARED && want > 1.001L * (long double)agg_lambda(d.rule, ROWS, F, DIM))
                FAILm(WHY("%s, case %d: %Lg is beyond lambda", hard_names[h], t, want));
        }
        rows_free(&x);
    }
    PASS();
}

SUITE(distance) {
    static const agg_rule choosing[] = {AGG_KRUM, AGG_MULTI_KRUM, AGG_MDA};
    for (int h = 0; h < HARD_COUNT; h++) RUN_TEST1(distances, (hard)h);
    for (int h = 0; h < HARD_COUNT; h++) RUN_TEST1(norms, (hard)h);
    RUN_TEST(same_bits_everywhere);
    for (size_t i = 0; i < sizeof choosing / sizeof *choosing; i++)
        RUN_TEST1(scaled_ties, choosing[i]);
    for (int h = 0; h < HARD_COUNT; h++) RUN_TEST1(any_range, (hard)h);
    for (int h = 0; h < HARD_COUNT; h++) RUN_TEST1(hostile_in_the_pool, (hard)h);
}

SUITE(precision) {
    RUN_TEST1(offset, 0.0);
    RUN_TEST1(offset, 10.0);
    RUN_TEST1(offset, 100.0);
    RUN_TEST(ten_million_numbers);
    RUN_TEST(long_norms);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(precision);
    RUN_SUITE(distance);
    GREATEST_MAIN_END();
}
