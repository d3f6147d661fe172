/* Laws every rule obeys, and the independence of the bits from job pools: order of jobs, shuffled
   jobs, real threads. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"
#include "pools.h"

static size_t small_f(agg_rule rule, size_t n) {
    return rule == AGG_MEAN ? 0 : rule == AGG_BULYAN ? (n - 3) / 4 : (n - 1) / 2;
}

static double largest(const rows *x) {
    double top = 0;
    for (size_t i = 0; i < x->n * x->dim; i++)
        if (fabs((double)x->data[i]) > top) top = fabs((double)x->data[i]);
    return top;
}

/* ---- laws ---- */
/* Ties even among random rows: a row and its nearest have the same Krum score if one neighbour
   counts, numbers on the coarse grid near 100 are equally far from a median, between two middle
   numbers every one is a GM, and two dense rows are as far from their mean for FedPG. */
static int order_may_matter(const agg_desc *d, layout lay) {
    switch (d->rule) {
    case AGG_KRUM: return d->n - d->f < 3 || lay == LAY_MIXED;
    case AGG_MULTI_KRUM: return lay == LAY_MIXED;
    case AGG_MEAMED:
    case AGG_BULYAN: return lay == LAY_OFFSET;
    case AGG_FEDPG: return 1;
    case AGG_GM: return d->dim == 1;
    default: return 0;
    }
}

/* a of d and x, b of e and the same rows in another order: agree as far as the rule promises */
TEST same_outputs(const agg_desc *d, const rows *x, layout lay, const agg_real *a,
                  const agg_real *b) {
    const double top = largest(x), spread = lay == LAY_OFFSET ? 1 : top;
    const double tol = d->rule == AGG_GM    ? 3e-3 * spread
                       : d->rule == AGG_CAF ? 1e-3 * spread
                                            : 8 * EPS * top;
    if (lay == LAY_MIXED && (d->rule == AGG_GM || d->rule == AGG_CAF)) PASS();
    for (size_t k = 0; k < d->dim; k++)
        if (!(fabs((double)a[k] - (double)b[k]) <= tol))
            FAILm(WHY("%s n %zu dim %zu: %.9g and %.9g", agg_rule_name(d->rule), d->n, d->dim,
                      (double)a[k], (double)b[k]));
    PASS();
}

/* the order of the rows does not matter, except among ties */
TEST permutation(agg_rule rule) {
    static const layout lays[] = {LAY_RANDOM, LAY_OFFSET, LAY_MIXED};
    rng r = rng_make(10 + (uint64_t)rule);
    for (size_t t = 0; t < rounds(150); t++) {
        const size_t n = 3 + rng_below(&r, 12), dim = 1 + rng_below(&r, 20);
        const layout lay = lays[rng_below(&r, 3)];
        agg_desc d = agg_make_desc(rule, n, dim, rule == AGG_BULYAN ? 0 : small_f(rule, n)), e = d;
        const agg_real *shuffled[16];
        agg_real a[20], b[20];
        size_t perm[16];
        rows x;
        if (order_may_matter(&d, lay) || (rule == AGG_SMEA && n > 10)) continue;
        x = rows_new(n, dim);
        fill_rows(&x, lay, &r);
        for (size_t i = 0; i < n; i++) perm[i] = i;
        rng_shuffle(&r, perm, n);
        for (size_t i = 0; i < n; i++) {
            shuffled[i] = x.row[perm[i]];
            if (perm[i] == d.pivot) e.pivot = i;
        }
        if (rule == AGG_MDA) { /* several sets may have the least diameter: compare that instead */
            agg_report p = report_new(n), q = report_new(n);
            ASSERT(wrote(run(&d, x.row, a, &p)) && wrote(run(&e, shuffled, b, &q)));
            ASSERT_IN_RANGE(p.diameter, q.diameter, 4 * EPS * p.diameter);
            report_free(&p);
            report_free(&q);
        } else {
            ASSERT(wrote(run(&d, x.row, a, NULL)) && wrote(run(&e, shuffled, b, NULL)));
            CHECK_CALL(same_outputs(&d, &x, lay, a, b));
        }
        rows_free(&x);
    }
    PASS();
}

/* integers moved by an integer: the same choice, the answer moved as far */
TEST translation(agg_rule rule) {
    rng r = rng_make(30 + (uint64_t)rule);
    for (size_t t = 0; t < rounds(150); t++) {
        const size_t n = 3 + rng_below(&r, 7), dim = 1 + rng_below(&r, 20);
        agg_desc d = agg_make_desc(rule, n, dim, small_f(rule, n));
        rows x = rows_new(n, dim), y = rows_new(n, dim);
        agg_real a[20], b[20], by[20];
        agg_report p = report_new(n), q = report_new(n);
        for (size_t k = 0; k < dim; k++) by[k] = (agg_real)((int)rng_below(&r, 4001) - 2000);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < dim; k++) {
                rows_at(&x, i)[k] = (agg_real)((int)rng_below(&r, 2001) - 1000);
                rows_at(&y, i)[k] = rows_at(&x, i)[k] + by[k];
            }
        ASSERT(wrote(run(&d, x.row, a, &p)) && wrote(run(&d, y.row, b, &q)));
        for (size_t i = 0; i < n && rule != AGG_GM && rule != AGG_CAF && rule != AGG_CCLIP; i++)
            if (!(fabs(p.weight[i] - q.weight[i]) <= 1e-9))
                FAILm(WHY("%s n %zu dim %zu: weight of row %zu %g, moved %g", agg_rule_name(rule),
                          n, dim, i, p.weight[i], q.weight[i]));
        const double tol = rule == AGG_GM ? 5 : rule == AGG_CAF ? 1 : 16 * EPS * 4000;
        for (size_t k = 0; k < dim; k++)
            if (!(fabs((double)a[k] + (double)by[k] - (double)b[k]) <= tol))
                FAILm(WHY("%s n %zu dim %zu: %.9g moved by %g became %.9g", agg_rule_name(rule), n,
                          dim, (double)a[k], (double)by[k], (double)b[k]));
        report_free(&p);
        report_free(&q);
        rows_free(&x);
        rows_free(&y);
    }
    PASS();
}

/* a power of two changes exponents alone, so every bit follows it */
TEST scale(agg_rule rule) {
    static const int powers[] = {1, -1, 7, -20, 60, -60};
    rng r = rng_make(50 + (uint64_t)rule);
    for (size_t t = 0; t < rounds(60); t++) {
        const size_t n = 3 + rng_below(&r, 7), dim = 1 + rng_below(&r, 20);
        const int power = powers[t % 6];
        agg_desc d = agg_make_desc(rule, n, dim, small_f(rule, n));
        rows x = rows_new(n, dim), y = rows_new(n, dim);
        agg_real a[20], b[20];
        fill_rows(&x, t % 2 ? LAY_RANDOM : LAY_TIED, &r);
        for (size_t i = 0; i < n * dim; i++) y.data[i] = (agg_real)ldexp((double)x.data[i], power);
        ASSERT(wrote(run(&d, x.row, a, NULL)) && wrote(run(&d, y.row, b, NULL)));
        for (size_t k = 0; k < dim && rule != AGG_SIGN_VOTE; k++)
            a[k] = (agg_real)ldexp((double)a[k], power);
        /* iterations, which may stop elsewhere: within their accuracy */
        if (rule == AGG_GM || rule == AGG_CAF) {
            for (size_t k = 0; k < dim; k++)
                ASSERT(fabs((double)a[k] - (double)b[k]) <= 3e-3 * ldexp(largest(&x), power));
            /* it compares square roots of lengths, which no power of two but 4^k scales exactly */
        } else if (rule == AGG_CCLIP || rule == AGG_SIGNGUARD) {
            for (size_t k = 0; k < dim; k++)
                ASSERT(fabs((double)a[k] - (double)b[k]) <= 8 * EPS * ldexp(largest(&x), power));
        } else if (rule != AGG_FLTRUST && !same_numbers(a, b, dim))
            FAILm(WHY("%s n %zu dim %zu scaled by 2^%d: %.9g, not %.9g", agg_rule_name(rule), n,
                      dim, power, (double)b[0], (double)a[0]));
        rows_free(&x);
        rows_free(&y);
    }
    PASS();
}

TEST no_adversaries_is_the_mean(void) {
    static const agg_rule some[] = {AGG_MDA,   AGG_CWTM, AGG_MEAMED, AGG_MULTI_KRUM, AGG_CGE,
                                    AGG_MONNA, AGG_CAF,  AGG_SMEA,   AGG_MEAN,       AGG_AKSEL,
                                    AGG_DNC,   AGG_GAS,  AGG_WINSOR};
    rng r = rng_make(70);
    for (size_t m = 0; m < sizeof some / sizeof *some; m++)
        for (size_t n = 1; n <= 9; n++) {
            agg_desc d = agg_make_desc(some[m], n, 33, 0);
            rows x = rows_new(n, 33);
            agg_real out[33];
            ref_num want[33], mag[33];
            if (some[m] == AGG_MULTI_KRUM) d.q = n;
            fill_rows(&x, LAY_RANDOM, &r);
            ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
            ref_mean(x.row, n, 33, want, NULL, mag);
            for (size_t k = 0; k < 33; k++)
                if (ref_abs((ref_num)out[k] - want[k]) > 8 * (ref_num)EPS * mag[k])
                    FAILm(WHY("%s n %zu: %.9g, mean %.9g", agg_rule_name(some[m]), n,
                              (double)out[k], (double)want[k]));
            rows_free(&x);
        }
    PASS();
}

static double sign_of(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

/* FLTrust makes rows as long as the trusted one, which rounds */
static int is_unanimous(agg_rule rule, const agg_real *out, const agg_real *row) {
    for (size_t k = 0; k < 5; k++)
        if (rule == AGG_FLTRUST &&
            fabs((double)out[k] - (double)row[k]) > 8 * EPS * fabs((double)row[k]))
            return 0;
    return rule == AGG_FLTRUST || same_numbers(out, row, 5);
}

/* unanimity: numbers whose sums are not exact, the largest and the least number there is */
TEST equal_rows(agg_rule rule) {
    const double values[] = {0.1,
                             -0.7,
                             1.0 / 3,
                             1e-30,
                             1e30,
                             (double)REAL_MAX,
                             -(double)REAL_MAX,
                             (double)REAL_TINY,
                             (double)REAL_MIN,
                             0};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t n = 1; n <= 13; n++)
            for (int pre = 0; pre < AGG_PRE_COUNT; pre++)
                for (size_t f = 0; f <= small_f(rule, n < 3 ? 3 : n); f++) {
                    rng r = rng_make(1);
                    agg_desc d = agg_make_desc(rule, n, 5, f);
                    rows x;
                    agg_real out[5];
                    agg_status s;
                    size_t after = n;
                    d.pre[0] = (agg_pre)pre;
                    d.clip = (double)INFINITY;
                    d.rng = rng_for_library(&r);
                    if (pre == AGG_PRE_BUCKETING) after = (n + 1) / 2;
                    if (pre == AGG_PRE_CLIP) d.clip = DBL_MAX;
                    if (after <= 2 * f || (rule == AGG_BULYAN && after < 4 * f + 3)) continue;
                    x = rows_new(n, 5);
                    fill_number(x.data, n * 5, values[v]);
                    s = run(&d, x.row, out, NULL);
                    /* norm > DBL_MAX */
                    if (rule == AGG_SIGN_VOTE) fill_number(x.data, 5, sign_of(values[v]));
                    const int clipped =
                        pre == AGG_PRE_CLIP && sizeof(agg_real) == 8 && fabs(values[v]) >= DBL_MAX;
                    if (!clipped && (s != AGG_OK || !is_unanimous(rule, out, x.row[0])))
                        FAILm(WHY("%s n %zu f %zu pre %d: status %d, rows are %.17g, out is %.17g",
                                  agg_rule_name(rule), n, f, pre, (int)s, (double)x.row[0][0],
                                  (double)out[0]));
                    rows_free(&x);
                }
    PASS();
}

/* pulling one adversary's row further out never takes a resilient coordinate-wise rule beyond the
   honest values */
TEST monotone_forgeries(void) {
    static const agg_rule some[] = {AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_MDA,
                                    AGG_KRUM, AGG_GM,     AGG_AKSEL, AGG_WINSOR};
    rng r = rng_make(90);
    for (size_t m = 0; m < sizeof some / sizeof *some; m++)
        for (size_t t = 0; t < rounds(30); t++) {
            agg_desc d = agg_make_desc(some[m], 7, 1, 3);
            rows x = rows_new(7, 1);
            double lo = 1e300, hi = -1e300;
            fill_rows(&x, LAY_RANDOM, &r);
            for (size_t i = 3; i < 7; i++) {
                lo = fmin(lo, (double)x.data[i]);
                hi = fmax(hi, (double)x.data[i]);
            }
            for (double far = 1; far < (double)REAL_MAX / 2; far *= 1e3) {
                agg_real out[1];
                const double lambda = agg_lambda(some[m], 7, 3, 1),
                             reach = (1 + lambda) * (hi - lo);
                for (size_t i = 0; i < 3; i++) x.data[i] = (agg_real)(far * (double)(i + 1) / 3);
                ASSERT(wrote(run(&d, x.row, out, NULL)));
                ASSERTm(agg_rule_name(some[m]),
                        (double)out[0] >= lo - reach && (double)out[0] <= hi + reach);
                if (some[m] == AGG_CWTM || some[m] == AGG_CWMED || some[m] == AGG_WINSOR)
                    ASSERT((double)out[0] >= lo && (double)out[0] <= hi);
            }
            rows_free(&x);
        }
    PASS();
}

/* ---- job pools ---- */
typedef struct answer {
    agg_status status;
    agg_real *out;
    agg_report report;
} answer;

static answer answer_of(agg_desc d, const rows *x, agg_jobs jobs) {
    answer a;
    rng r = rng_make(5);
    a.out = (agg_real *)need(calloc(d.dim, sizeof *a.out));
    a.report = report_new(d.n);
    d.jobs = jobs;
    d.rng = rng_for_library(&r);
    a.status = run(&d, x->row, a.out, &a.report);
    return a;
}

static void answer_free(answer *a) {
    free(a->out);
    report_free(&a->report);
}

static int answers_equal(const answer *a, const answer *b, size_t n, size_t dim) {
    return a->status == b->status && same_bits(a->out, b->out, dim) &&
           !memcmp(a->report.weight, b->report.weight, n * sizeof(double)) &&
           !memcmp(a->report.suspicion, b->report.suspicion, n * sizeof(double)) &&
           !memcmp(&a->report.diameter, &b->report.diameter, sizeof(double)) &&
           !memcmp(&a->report.gap, &b->report.gap, sizeof(double)) &&
           a->report.dropped == b->report.dropped && a->report.used == b->report.used &&
           a->report.nodes == b->report.nodes;
}

static const char *same_for_all_pools(const agg_desc *d, const rows *x) {
    job_pool pools[4];
    agg_jobs none;
    const char *bad = NULL;
    answer serial;
    memset(&none, 0, sizeof none);
    pools[0] = job_pool_make(BACKWARD, 1);
    pools[1] = job_pool_make(SHUFFLED, 1);
    pools[2] = job_pool_make(FORWARD, 2);
    pools[3] = job_pool_make(FORWARD, 4);
    serial = answer_of(*d, x, none);
    if (!wrote(serial.status))
        bad = WHY("%s n %zu f %zu dim %zu pre %d: status %d", agg_rule_name(d->rule), d->n, d->f,
                  d->dim, (int)d->pre[0], (int)serial.status);
    for (size_t p = 0; p < 4 && !bad; p++) {
        answer a = answer_of(*d, x, job_pool_jobs(&pools[p]));
        if (!answers_equal(&serial, &a, d->n, d->dim))
            bad = WHY("%s n %zu f %zu dim %zu pre %d: pool %zu gives other bits",
                      agg_rule_name(d->rule), d->n, d->f, d->dim, (int)d->pre[0], p);
        answer_free(&a);
    }
    answer_free(&serial);
    return bad;
}

TEST pools(agg_rule rule) {
    static const size_t dims[] = {1, 15, 16, 17, 63, 64, 65, 1000, 5000, 40000};
    rng r = rng_make(110 + (uint64_t)rule);
    for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
            const size_t n = dims[c] > 1000 ? 9 : 11;
            agg_desc d = agg_make_desc(rule, n, dims[c], rule == AGG_MEAN ? 0 : 2);
            rows x;
            const char *bad;
            if (dims[c] > 1000 && pre && pre != AGG_PRE_NNM) continue;
            d.pre[0] = (agg_pre)pre;
            d.clip = sqrt((double)dims[c]);
            if (pre == AGG_PRE_BUCKETING || (rule == AGG_BULYAN && n < 11))
                d.f = rule == AGG_BULYAN && pre == AGG_PRE_BUCKETING ? 0 : d.f < 1 ? 0 : 1;
            x = rows_new(n, dims[c]);
            fill_rows(&x, LAY_RANDOM, &r);
            /* found by whichever job has the last numbers */
            if (d.f) rows_at(&x, n - 1)[dims[c] - 1] = (agg_real)NAN;
            if (d.f > 1) rows_at(&x, n - 2)[0] = (agg_real)REAL_MAX; /* so rows are scaled */
            bad = same_for_all_pools(&d, &x);
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* the same call twice, and in dirty scratch: run() fills it with a pattern, here with another */
TEST scratch_contents_do_not_matter(void) {
    rng r = rng_make(130);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
            agg_desc d = agg_make_desc(rule_at(i), 11, 50,
                                       rule_at(i) == AGG_MEAN || pre == AGG_PRE_BUCKETING ? 0 : 2);
            rows x = rows_new(11, 50);
            agg_real a[50], b[50];
            unsigned char *scratch;
            rng p = rng_make(1), q = rng_make(1);
            d.pre[0] = (agg_pre)pre;
            d.clip = 5;
            fill_rows(&x, LAY_RANDOM, &r);
            d.rng = rng_for_library(&p);
            ASSERT(wrote(run(&d, x.row, a, NULL)));
            scratch = (unsigned char *)need(malloc(agg_scratch_size(&d)));
            memset(scratch, 0xFF, agg_scratch_size(&d));
            d.rng = rng_for_library(&q);
            ASSERT(wrote(agg_aggregate(&d, x.row, b, scratch, agg_scratch_size(&d), NULL)));
            ASSERTm(agg_rule_name(rule_at(i)), same_bits(a, b, 50));
            free(scratch);
            rows_free(&x);
        }
    PASS();
}

SUITE(laws) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const agg_rule rule = rule_at(i);
        RUN_RULE(permutation, rule);
        if (rule != AGG_CGE && rule != AGG_FLTRUST && rule != AGG_SIGNGUARD &&
            rule != AGG_SIGN_VOTE)
            RUN_RULE(translation, rule);
        RUN_RULE(scale, rule);
        RUN_RULE(equal_rows, rule);
    }
    RUN_TEST(no_adversaries_is_the_mean);
    RUN_TEST(monotone_forgeries);
}

SUITE(jobs) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) RUN_RULE(pools, rule_at(i));
    RUN_TEST(scratch_contents_do_not_matter);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(laws);
    RUN_SUITE(jobs);
    GREATEST_MAIN_END();
}
