/* Sorted columns against one column at a time: every number of rows up to 40 and some more, every
   length of a window, values with ties, giants, zeros of both signs; the weights; AVX2 and plain
   kernels; jobs. The reference ranks rows one by one, by (value, index), and decides by that rank
   alone which rows are inside. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include "common.h"
#include "pools.h"

enum { MOST_ROWS = 130, MOST_DIM = 4200 };

/* ---- the reference */
typedef struct column {
    size_t n, keep;
    int closest;
    double x[MOST_ROWS];
    aggi_item item[2 * MOST_ROWS];
    int inside[MOST_ROWS];
} column;

/* inside = the `keep` items from `from` on */
static void choose(column *c, size_t from) {
    memset(c->inside, 0, sizeof c->inside);
    for (size_t i = from; i < from + c->keep; i++) c->inside[c->item[i].index] = 1;
}

static double mean_of_middle(column *c) {
    const size_t from = (c->n - c->keep) / 2;
    double sum = 0;
    aggi_rank(c->item, c->x, c->n, c->n);
    choose(c, from);
    for (size_t i = 1; i < c->keep; i++) sum += c->item[from + i].key - c->item[from].key;
    return c->item[from].key + sum * (1.0 / (double)c->keep);
}

/* Who is inside: the first by (distance, index). The sum: the window of sorted values that prefers
   lower ones, a class modulo keep after the other, and twice the distance for each upper value that
   is inside instead of a lower one. */
static double mean_of_closest(column *c) {
    const size_t n = c->n, keep = c->keep;
    double off[MOST_ROWS], key[MOST_ROWS], median, reach, sum = 0;
    size_t w = 0, upper = 0, upper_here = 0;
    aggi_rank(c->item, c->x, n, n);
    median = (c->item[(n - 1) / 2].key + c->item[n / 2].key) * 0.5;
    for (size_t i = 0; i < n; i++) off[i] = c->item[i].key - median;
    while (w + keep < n && -off[w] > off[w + keep]) w++;
    for (size_t i = 0; i < keep; i++) sum += off[w + (i + keep - w % keep) % keep];
    reach = fmax(-off[w], off[w + keep - 1]);
    for (size_t i = w; i < w + keep; i++) upper += off[i] > 0 && off[i] == reach;
    for (size_t i = 0; i < n; i++) key[i] = fabs(c->x[i] - median);
    aggi_rank(c->item, key, n, n);
    choose(c, 0);
    for (size_t i = 0; i < n; i++)
        upper_here += c->inside[i] && c->x[i] - median > 0 && key[i] == reach;
    sum += ((double)upper_here - (double)upper) * reach * 2;
    return median + sum * (1.0 / (double)keep);
}

static double mean_of_window(column *c) {
    return c->closest ? mean_of_closest(c) : mean_of_middle(c);
}

/* sums that overflow: scaled down */
static double reference(column *c) {
    const double down = ldexp(1, -4 - aggi_exponent((double)c->keep));
    double mean = mean_of_window(c);
    if (isfinite(mean)) return mean;
    for (size_t i = 0; i < c->n; i++) c->x[i] *= down;
    mean = mean_of_window(c) / down;
    return fmax(-(double)REAL_MAX, fmin(mean, (double)REAL_MAX));
}

/* ---- rows */
enum { NORMAL, BITS, DIGITS, EQUAL, ZEROS, HALVES, GIANTS, LARGEST, MERGED, KINDS };
static const char *const kind_name[] = {"normal", "two values", "digits",  "equal rows", "zeros",
                                        "halves", "giants",     "largest", "merged"};

static double value(int kind, size_t i, size_t k, rng *r) {
    const double sign = rng_next(r) % 2 ? 1 : -1;
    switch (kind) {
    case BITS: return sign;
    case DIGITS: return (double)rng_below(r, 7) - 3;
    case EQUAL: return 0.1 + (double)(k % 5);
    case ZEROS: return sign * 0.0;
    case HALVES: return i % 2 ? sign : rng_normal(r);
    case GIANTS: return rng_below(r, 3) ? rng_normal(r) : sign * (double)REAL_MAX;
    case LARGEST: return (double)REAL_MAX * (1 - 2 * rng_unit(r)) * (double)rng_below(r, 2);
    case MERGED: /* values that differ, but not in their distance from a median of about 1 */
        return rng_below(r, 3) ? 1 : rng_below(r, 2) ? 2 : 1e-30 * rng_unit(r);
    default: return rng_normal(r);
    }
}

static void fill(rows *x, int kind, rng *r) {
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->dim; k++)
            x->data[i * x->dim + k] = (agg_real)value(kind, i, k, r);
}

/* ---- the code under test */
typedef struct result {
    int status;
    agg_real out[MOST_DIM];
    double weight[MOST_ROWS];
} result;

static void window(const rows *x, size_t keep, int closest, int plain, int weights,
                   const agg_jobs *jobs, result *res) {
    agg_desc d = agg_make_desc(AGG_CWMED, x->n, x->dim, 0);
    const size_t size = agg_scratch_size(&d);
    void *scratch = need(malloc(size));
    aggi_call c;
    if (jobs) d.jobs = *jobs;
    (void)aggi_begin(&c, &d, scratch, size);
    if (plain) c.avx2 = 0;
    if (weights) c.report.weight = res->weight;
    aggi_collect(&c, (const agg_real *const *)x->row);
    aggi_play(&c);
    res->status = aggi_window(&c, c.x, c.n, keep, closest);
    memcpy(res->out, c.out, x->dim * sizeof *c.out);
    if (weights) memcpy(res->weight, c.weight, x->n * sizeof *c.weight);
    free(scratch);
}

static int same_results(const result *a, const result *b, const rows *x, int weights) {
    return a->status == b->status && same_bits(a->out, b->out, x->dim) &&
           (!weights || !memcmp(a->weight, b->weight, x->n * sizeof *a->weight));
}

/* each column as the reference says, and the weights */
TEST as_reference(const rows *x, size_t keep, int closest, const char *kind) {
    static column c;
    static result plain, weighed, wide;
    size_t count[MOST_ROWS] = {0};
    window(x, keep, closest, 1, 0, NULL, &plain);
    window(x, keep, closest, 1, 1, NULL, &weighed);
    window(x, keep, closest, 0, 1, NULL, &wide);
    ASSERT_EQm(kind, AGG_OK, plain.status);
    ASSERTm(kind, same_results(&plain, &weighed, x, 0));
    ASSERTm(kind, same_results(&wide, &weighed, x, 1));
    window(x, keep, closest, 0, 0, NULL, &wide);
    ASSERTm(kind, same_results(&plain, &wide, x, 0));
    for (size_t k = 0; k < x->dim; k++) {
        agg_real mean;
        c.n = x->n;
        c.keep = keep;
        c.closest = closest;
        for (size_t i = 0; i < c.n; i++) c.x[i] = (double)x->row[i][k];
        mean = (agg_real)reference(&c);
        if (!same_bits(&mean, plain.out + k, 1))
            FAILm(WHY("%s n %zu keep %zu column %zu: %.17g, not %.17g", kind, x->n, keep, k,
                      (double)plain.out[k], (double)mean));
        for (size_t i = 0; i < c.n; i++) count[i] += (size_t)c.inside[i];
    }
    for (size_t i = 0; i < x->n; i++)
        ASSERT_EQm(kind, (double)count[i] / (double)x->dim / (double)keep, weighed.weight[i]);
    PASS();
}

TEST every_window(size_t n, int kind) {
    rng r = rng_make(100 * (uint64_t)n + (uint64_t)kind);
    rows x = rows_new(n, 8 * (1 + n % 3) + n % 8);
    fill(&x, kind, &r);
    for (size_t keep = 1; keep <= n; keep += n > 40 ? 7 : 1) {
        CHECK_CALL(as_reference(&x, keep, AGGI_CLOSEST, kind_name[kind]));
        if ((n - keep) % 2 == 0) CHECK_CALL(as_reference(&x, keep, AGGI_MIDDLE, kind_name[kind]));
    }
    rows_free(&x);
    PASS();
}

/* rows of every length around a block, a chunk and several slices */
TEST every_width(int kind) {
    static const size_t dims[] = {1, 7, 8, 9, 63, 64, 65, 72, 2047, 2048, 2051, 4099};
    rng r = rng_make(7 + (uint64_t)kind);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        rows x = rows_new(5 + i, dims[i]);
        fill(&x, kind, &r);
        CHECK_CALL(as_reference(&x, 3, AGGI_CLOSEST, kind_name[kind]));
        CHECK_CALL(as_reference(&x, 3 + i % 2, AGGI_MIDDLE, kind_name[kind]));
        rows_free(&x);
    }
    PASS();
}

/* any order of jobs, any number of threads: the same bits, weights too */
TEST jobs_agree(int kind) {
    static result alone, shared;
    rng r = rng_make(70 + (uint64_t)kind);
    rows x = rows_new(19, MOST_DIM);
    fill(&x, kind, &r);
    for (int closest = 0; closest < 2; closest++) {
        window(&x, 7, closest, 0, 1, NULL, &alone);
        for (size_t threads = 1; threads < 4; threads++) {
            job_pool pool = job_pool_make(SHUFFLED, threads);
            const agg_jobs jobs = job_pool_jobs(&pool);
            window(&x, 7, closest, 0, 1, &jobs, &shared);
            ASSERTm(kind_name[kind], same_results(&alone, &shared, &x, 1));
        }
    }
    rows_free(&x);
    PASS();
}

/* One NaN or Inf anywhere is seen, the largest numbers are not taken for one. */
TEST finiteness(size_t n) {
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    static result res;
    rng r = rng_make(n);
    rows x = rows_new(n, 75);
    fill(&x, GIANTS, &r);
    for (size_t i = 0; i < n * x.dim; i++) {
        const agg_real good = x.data[i];
        const int plain = i % 2 != 0;
        if (i % 7 == n % 7) {
            x.data[i] = (agg_real)bad[i % 3];
            window(&x, n, i % 5 < 2, plain, 0, NULL, &res);
            ASSERT_EQ(AGGI_NOT_FINITE, res.status);
            x.data[i] = good;
        }
    }
    window(&x, n, AGGI_MIDDLE, 0, 0, NULL, &res);
    ASSERT_EQ(AGG_OK, res.status);
    rows_free(&x);
    PASS();
}

/* Around a median of giants distances overflow a double: who is closer still counts. */
TEST giants_are_ranked(void) {
    const agg_real top = REAL_MAX, x[5] = {-top, -top / 2, top, top, top};
    const agg_real *row[5] = {x, x + 1, x + 2, x + 3, x + 4};
    double weight[5];
    agg_desc d = agg_make_desc(AGG_MEAMED, 5, 1, 1);
    agg_report report;
    agg_real out;
    memset(&report, 0, sizeof report);
    report.weight = weight;
    ASSERT_EQ(AGG_OK, run(&d, row, &out, &report));
    ASSERT(fabs((double)out / (double)top - 0.625) < 1e-6);
    ASSERT(weight[0] == 0 && weight[1] == 0.25);
    PASS();
}

SUITE(columns) {
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t n = 1; n <= 40; n++) RUN_TESTp(every_window, n, kind);
        RUN_TESTp(every_window, 65, kind);
        RUN_TESTp(every_window, MOST_ROWS, kind);
        RUN_TESTp(every_width, kind);
        RUN_TESTp(jobs_agree, kind);
    }
    for (size_t n = 1; n <= 35; n += 3) RUN_TESTp(finiteness, n);
    RUN_TEST(giants_are_ranked);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(columns);
    GREATEST_MAIN_END();
}
