/* Sums of rows: equal rows come out exactly, a giant of no weight spoils nothing, sums that
   overflow are mended, weights too small for a float count, and the error is what the header
   says. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

/* around the vectors, strips, blocks and chunks */
static const size_t dims[] = {1, 5, 16, 31, 33, 127, 129, 256, 300, 1025, 4200};
#define DIMS (sizeof dims / sizeof *dims)

static void copy_row(rows *x, size_t to, const agg_real *from, size_t dim) {
    memcpy(rows_at(x, to), from, dim * sizeof *from);
}

/* the same numbers; the sign of a zero does not matter */
static int same(const agg_real *a, const agg_real *b, size_t dim) {
    for (size_t k = 0; k < dim; k++)
        if (a[k] < b[k] || a[k] > b[k]) return 0;
    return 1;
}

/* n - f equal rows and f others: NNM keeps each of the equal ones, bit for bit */
static void equal_and_others(rows *x, size_t n, size_t f, size_t dim, rng *r, double scale) {
    for (size_t i = 0; i < n; i++) {
        fill_normal(rows_at(x, i), dim, r, 0, scale);
        if (i > f) copy_row(x, i, rows_at(x, f), dim);
    }
}

TEST equal_rows(double scale) {
    rng r = rng_make(1);
    for (size_t c = 0; c < DIMS; c++) {
        for (size_t n = 1; n <= 70; n = n < 4 ? n + 1 : n * 2 + 1) {
            const size_t dim = dims[c], f = (n - 1) / 2;
            rows x = rows_new(n, dim);
            agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
            agg_desc d = agg_make_desc(AGG_KRUM, n, dim, f);
            equal_and_others(&x, n, f, dim, &r, scale);
            d.pre[0] = AGG_PRE_NNM;
            ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
            if (!same(out, x.row[f], dim)) FAILm(WHY("NNM: n %zu, dim %zu", n, dim));
            for (size_t i = 0; i < f; i++) copy_row(&x, i, x.row[f], dim);
            for (int rule = AGG_MEAN; rule <= AGG_MONNA; rule++) {
                d = agg_make_desc((agg_rule)rule, n, dim, rule == AGG_BULYAN ? 0 : f);
                if (rule == AGG_BULYAN && n < 3) continue;
                ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
                if (!same(out, x.row[f], dim))
                    FAILm(WHY("%s: n %zu, dim %zu", agg_rule_name(d.rule), n, dim));
            }
            free(out);
            rows_free(&x);
        }
    }
    PASS();
}

/* |out - sum of weight x| <= most EPS max |x| at any coordinate, over the rows of some weight */
static int is_mix(const rows *x, size_t n, size_t dim, const double *weight, const agg_real *out,
                  double most) {
    ref_num *want = (ref_num *)ref_alloc(dim, sizeof *want);
    ref_num *mag = (ref_num *)ref_alloc(dim, sizeof *mag);
    int good = 1;
    ref_mix(x->row, n, dim, weight, 1, want, mag);
    for (size_t k = 0; k < dim; k++) {
        const ref_num off = ref_abs(want[k] - (ref_num)out[k]);
        good &= off <= (ref_num)(most * EPS) * mag[k] + (ref_num)REAL_TINY;
    }
    free(want);
    free(mag);
    return good;
}

/* The mean of what NNM made is a weighted mean of the rows: a wrong sum of a subset shows. */
TEST against_long_double(agg_pre pre) {
    static const size_t sizes[] = {2, 3, 10, 17, 33, 65, 130};
    rng r = rng_make(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t c = 0; c < DIMS; c++) {
            const size_t n = sizes[s], dim = n > 33 && dims[c] > 1025 ? 700 : dims[c];
            rows x = rows_new(n, dim);
            agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
            agg_report rep = report_new(n);
            agg_desc d =
                agg_make_desc(AGG_MEAN, n, dim, pre == AGG_PRE_BUCKETING ? 0 : (n - 1) / 3);
            for (size_t i = 0; i < n; i++) fill_normal(rows_at(&x, i), dim, &r, 1, 1);
            d.pre[0] = pre;
            d.bucket = 3;
            d.clip = sqrt((double)dim);
            d.rng.next = rng_callback;
            d.rng.self = &r;
            ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
            if (!is_mix(&x, n, dim, rep.weight, out, 24 + (double)n / 16))
                FAILm(WHY("%s: n %zu, dim %zu", agg_pre_name(pre), n, dim));
            report_free(&rep);
            free(out);
            rows_free(&x);
        }
    }
    PASS();
}

/* f giants that no honest row is mixed with */
/* many long rows, which are read ahead */
TEST long_rows(size_t n, size_t dim) {
    const agg_desc d = agg_make_desc(AGG_MEAN, n, dim, 0);
    rng r = rng_make(n + dim);
    rows x = rows_new(n, dim);
    agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
    for (size_t i = 0; i < n; i++) fill_normal(rows_at(&x, i), dim, &r, 1, 1);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    for (size_t k = 0; k < dim; k++) {
        ref_num sum = 0;
        for (size_t i = 0; i < n; i++) sum += (ref_num)x.row[i][k];
        if (ref_abs((ref_num)out[k] - sum / (ref_num)n) > (ref_num)(8 * EPS))
            FAILm(WHY("number %zu is %.9g", k, (double)out[k]));
    }
    free(out);
    rows_free(&x);
    PASS();
}

TEST giants_of_no_weight(double size, agg_rule rule) {
    enum { N = 21, F = 8, DIM = 300 };

    rng r = rng_make(3);
    rows x = rows_new(N, DIM);
    agg_real out[DIM];
    agg_report rep = report_new(N);
    agg_desc d = agg_make_desc(rule, N, DIM, F);
    for (size_t i = 0; i < N; i++) {
        fill_normal(rows_at(&x, i), DIM, &r, 0, 1);
        for (size_t k = 0; k < DIM && i < F; k++)
            rows_at(&x, i)[k] = (agg_real)((i + k) % 2 ? -size : size);
    }
    if (rule == AGG_KRUM) d.pre[0] = AGG_PRE_NNM;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    for (size_t i = 0; i < F; i++) ASSERT(!(rep.weight[i] > 0));
    ASSERT(is_mix(&x, N, DIM, rep.weight, out, 100)); /* rows minus a base of their size */
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* +-MAX in every second row: differences and sums overflow, the answer does not */
TEST largest_numbers(agg_pre pre) {
    rng r = rng_make(4);
    for (size_t n = 2; n <= 40; n += 1 + n / 2) {
        enum { DIM = 300 };

        rows x = rows_new(n, DIM);
        agg_real out[DIM];
        agg_report rep = report_new(n);
        agg_desc d = agg_make_desc(AGG_MEAN, n, DIM, (n - 1) / 2);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < DIM; k++) {
                const agg_real top = (rng_next(&r) & 1 ? 1 : -1) * REAL_MAX;
                rows_at(&x, i)[k] = k % 3 ? top : (agg_real)rng_normal(&r);
            }
        }
        d.pre[0] = pre;
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
        if (!is_mix(&x, n, DIM, rep.weight, out, 64)) FAILm(WHY("n %zu", n));
        report_free(&rep);
        rows_free(&x);
    }
    PASS();
}

/* one step of CClip on v */
static void clip_step(const rows *x, size_t n, size_t dim, ref_num tau, ref_num *v, ref_num *sum) {
    memset(sum, 0, dim * sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        ref_num square = 0, part;
        for (size_t k = 0; k < dim; k++) {
            const ref_num off = (ref_num)x->row[i][k] - v[k];
            square += off * off;
        }
        part = sqrtl(square) > tau ? tau / sqrtl(square) : 1;
        for (size_t k = 0; k < dim; k++) sum[k] += part * ((ref_num)x->row[i][k] - v[k]);
    }
    for (size_t k = 0; k < dim; k++) v[k] += sum[k] / (ref_num)n;
}

/* Steps over several blocks and slices. */
TEST steps_of_clipping(size_t n) {
    rng r = rng_make(6);
    for (size_t c = 0; c < DIMS; c++) {
        const size_t dim = dims[c];
        rows x = rows_new(n, dim);
        agg_real *start = (agg_real *)need(calloc(dim, sizeof *start));
        agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
        ref_num *v = (ref_num *)ref_alloc(dim, sizeof *v);
        ref_num *sum = (ref_num *)ref_alloc(dim, sizeof *sum);
        agg_desc d = agg_make_desc(AGG_CCLIP, n, dim, n / 3);
        for (size_t i = 0; i < n; i++)
            fill_normal(rows_at(&x, i), dim, &r, 0.3, i < n / 3 ? 100 : 1);
        d.start = start;
        d.tau = sqrt((double)dim) / 2;
        d.iterations = 4;
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
        for (int t = 0; t < 4; t++) clip_step(&x, n, dim, (ref_num)d.tau, v, sum);
        for (size_t k = 0; k < dim; k++)
            if (ref_abs(v[k] - (ref_num)out[k]) > 64 * (ref_num)EPS)
                FAILm(WHY("dim %zu: %g is not %g", dim, (double)out[k], (double)v[k]));
        free(sum);
        free(v);
        free(out);
        free(start);
        rows_free(&x);
    }
    PASS();
}

/* Rows as long as they come, shortened to next to nothing: tau/||x|| and clip/||x|| would vanish in
   a float. */
TEST light_weights(void) {
    enum { DIM = 1000 };

    const double tau = 1e-4, top = 3e38 * sqrt((double)DIM);
    rows x = rows_new(3, DIM);
    agg_real start[DIM], out[DIM];
    agg_desc d = agg_make_desc(AGG_CCLIP, 3, DIM, 1);
    memset(start, 0, sizeof start);
    for (size_t k = 0; k < DIM; k++) {
        rows_at(&x, 0)[k] = (agg_real)(k % 2 ? 3e38 : -3e38);
        rows_at(&x, 1)[k] = rows_at(&x, 2)[k] = 0;
    }
    d.start = start;
    d.tau = tau;
    d.iterations = 1;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    for (size_t k = 0; k < DIM; k++)
        ASSERT_IN_RANGE((double)rows_at(&x, 0)[k] * (tau / top / 3), (double)out[k], 1e-6 * tau);
    d = agg_make_desc(AGG_MEAN, 3, DIM, 0);
    d.pre[0] = AGG_PRE_CLIP;
    d.clip = tau;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    for (size_t k = 0; k < DIM; k++)
        ASSERT_IN_RANGE((double)rows_at(&x, 0)[k] * (tau / top / 3), (double)out[k],
                        1e-6 * tau / sqrt((double)DIM));
    rows_free(&x);
    PASS();
}

/* Norms and distances whose squares underflow or overflow in agg_real: the order is kept. Row i is
   i + 1 times as far off as row 0. */
TEST lengths_out_of_range(double unit, double shared, agg_rule rule) {
    enum { N = 5, DIM = 600 };

    rows x = rows_new(N, DIM);
    agg_real out[DIM];
    agg_report rep = report_new(N);
    agg_desc d = agg_make_desc(rule, N, DIM, 2);
    for (size_t i = 0; i < N; i++) {
        const size_t far_off = rule == AGG_MONNA ? i : N - i;
        for (size_t k = 0; k < DIM; k++) rows_at(&x, i)[k] = (agg_real)(unit * (double)far_off);
        rows_at(&x, i)[DIM / 2] = (agg_real)shared;
    }
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    for (size_t i = 0; i < N; i++) ASSERT_EQ(rule == AGG_MONNA ? i < 3 : i >= 2, rep.weight[i] > 0);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* NNM takes the lower of rows that are equally far off, itself first */
TEST ties_of_neighbours(void) {
    enum { N = 70 };

    rows x = rows_new(N, 1);
    agg_real out[1];
    agg_report rep = report_new(N);
    agg_desc d = agg_make_desc(AGG_MONNA, N, 1, 30);
    for (size_t i = 0; i < N; i++) rows_at(&x, i)[0] = (agg_real)(i == 65 ? 0 : i % 2 ? 1 : -1);
    d.pre[0] = AGG_PRE_NNM;
    d.pivot = 65;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    d = agg_make_desc(AGG_CWTM, N, 1,
                      34); /* every row but 65 is +-1, and its nearest are its like */
    d.pre[0] = AGG_PRE_NNM;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT(out[0] >= -1 && out[0] <= 1);
    for (size_t i = 0; i < N; i++) rows_at(&x, i)[0] = i < 35 ? (agg_real)1 : (agg_real)-1;
    d = agg_make_desc(AGG_MEAN, N, 1, 30);
    d.pre[0] = AGG_PRE_NNM; /* 40 neighbours: its 35 like, and the first five others */
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    for (size_t i = 0; i < N; i++) {
        const double likes = 35.0 / 40 / N, other = i % 35 < 5 ? likes : 0;
        ASSERT_IN_RANGE(likes + other, rep.weight[i], 1e-12);
    }
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* a NaN in any place convicts its row, whichever pass over the rows meets it first */
TEST not_a_number(agg_rule rule, agg_pre pre) {
    enum { N = 20, F = 6, DIM = 4200 };

    static const size_t places[] = {0, 255, 2049, DIM - 1};
    rng r = rng_make(5);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        rows x = rows_new(N, DIM);
        agg_real *out = (agg_real *)need(malloc(DIM * sizeof *out));
        agg_report rep = report_new(N);
        agg_desc d = agg_make_desc(rule, N, DIM, F);
        for (size_t i = 0; i < N; i++) fill_normal(rows_at(&x, i), DIM, &r, 0, 1);
        rows_at(&x, 3)[places[p]] = (agg_real)NAN;
        rows_at(&x, 7)[places[p]] = (agg_real)INFINITY;
        d.pre[0] = pre;
        d.clip = 3;
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
        ASSERT_EQ(2, rep.dropped);
        ASSERT(!(rep.weight[3] > 0) && !(rep.weight[7] > 0));
        for (size_t k = 0; k < DIM; k++) ASSERT(isfinite(out[k]));
        report_free(&rep);
        free(out);
        rows_free(&x);
    }
    PASS();
}

SUITE(mixing) {
    const double giant = (double)REAL_MAX / 4, tiny = 4 * (double)REAL_TINY;
    RUN_TEST1(equal_rows, 1.0);
    RUN_TEST1(equal_rows, giant / 100);
    RUN_TEST1(equal_rows, tiny);
    for (int pre = AGG_PRE_NONE; pre < AGG_PRE_COUNT; pre++)
        RUN_TEST1(against_long_double, (agg_pre)pre);
    RUN_TESTp(long_rows, (size_t)18, (size_t)300);
    RUN_TESTp(long_rows, (size_t)18, 4 * AGGI_SPAN + 37);
    RUN_TESTp(long_rows, (size_t)33, 5 * AGGI_SPAN);
    RUN_TESTp(giants_of_no_weight, 1e30, AGG_KRUM);
    RUN_TESTp(giants_of_no_weight, (double)REAL_MAX, AGG_KRUM);
    RUN_TESTp(giants_of_no_weight, (double)REAL_MAX, AGG_CGE);
    RUN_TEST1(largest_numbers, AGG_PRE_NONE);
    RUN_TEST1(largest_numbers, AGG_PRE_NNM);
    RUN_TEST1(largest_numbers, AGG_PRE_ARC);
    RUN_TEST1(steps_of_clipping, (size_t)3);
    RUN_TEST1(steps_of_clipping, (size_t)10);
    RUN_TEST1(steps_of_clipping, (size_t)40);
    RUN_TEST(light_weights);
    RUN_TESTp(lengths_out_of_range, 1.0, 0.0, AGG_CGE);
    RUN_TESTp(lengths_out_of_range, tiny, 0.0, AGG_CGE);
    RUN_TESTp(lengths_out_of_range, giant / 4, 0.0, AGG_CGE);
    RUN_TESTp(lengths_out_of_range, tiny, giant, AGG_MONNA);
    RUN_TESTp(lengths_out_of_range, giant / 4, 1.0, AGG_MONNA);
    RUN_TEST(ties_of_neighbours);
    for (int pre = AGG_PRE_NONE; pre < AGG_PRE_COUNT; pre++) {
        if (pre == AGG_PRE_BUCKETING) continue;
        RUN_TESTp(not_a_number, AGG_MEAN, (agg_pre)pre);
        RUN_TESTp(not_a_number, AGG_CGE, (agg_pre)pre);
        RUN_TESTp(not_a_number, AGG_CCLIP, (agg_pre)pre);
    }
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(mixing);
    GREATEST_MAIN_END();
}
