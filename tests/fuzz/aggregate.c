/* agg_aggregate() with any rows, sizes, rule and options. Promised: a status, and out untouched
   unless it is AGG_OK or AGG_INEXACT; else out is finite and within lambda times the diameter of
   every set of n-f rows; the report adds up; the bits depend on nothing but desc and rows. Bound:
   desc.budget operations of a search and desc.iterations passes, see feed_rule(). */
#include "implementation.h"
#include "aggregators.h"
#include <math.h>
#include "common.h"
#include "reference.h"
#include "fuzz/fuzz.h"

static void run_backwards(void *self, size_t count, agg_job *job, void *arg) {
    (void)self;
    while (count-- > 0) job(arg, count);
}

/* scratch as long as asked for and not a byte more, at any address, full of anything */
static agg_status call(const agg_desc *d, const table *t, agg_real *out, agg_report *report,
                       size_t shift, int fill) {
    const size_t size = agg_scratch_size(d);
    unsigned char *block = (unsigned char *)need(malloc(size + shift));
    agg_status s;
    memset(block, fill, size + shift);
    s = agg_aggregate(d, t->read, out, block + shift, size, report);
    for (size_t i = 0; i < shift; i++) PROMISE(block[i] == fill);
    if (size) PROMISE(agg_aggregate(d, t->read, out, block, size - 1, NULL) == AGG_ERR_SCRATCH);
    free(block);
    return s;
}

/* -1: nothing is promised */
static double lambda_for(const agg_desc *d, agg_status s, size_t n, size_t f) {
    if (d->pre[0] || d->pre[1] || d->classic_krum) return -1;
    if (d->rule == AGG_MDA && s == AGG_INEXACT) return 3 * (double)f / (double)(n - f);
    return agg_lambda(d->rule, n, f, d->dim);
}

static void check_guarantee(const agg_desc *d, agg_status s, const table *t, const agg_real *out) {
    const agg_real *good[MOST_ROWS];
    size_t n = 0, f;
    double lambda;
    for (size_t i = 0; i < d->n; i++)
        if (ref_row_ok(t->read[i], d->dim)) good[n++] = t->read[i];
    f = d->f - (d->n - n);
    lambda = lambda_for(d, s, n, f);
    if (!(lambda >= 0) || isinf(lambda)) return;
    PROMISE((double)ref_resilience(good, n, d->dim, f, out,
                                   4 * (ref_num)EPS * (ref_num)sqrt((double)d->dim)) <=
            lambda * (1 + 1e-5));
}

static void check_report(const agg_desc *d, const table *t, const agg_report *r) {
    double sum = 0;
    size_t used = 0;
    PROMISE(r->dropped == ref_bad_rows(t->read, d->n, d->dim));
    for (size_t i = 0; i < d->n; i++) {
        PROMISE(r->weight[i] >= 0 && r->suspicion[i] >= 0);
        PROMISE(ref_row_ok(t->read[i], d->dim) || (r->weight[i] <= 0 && isinf(r->suspicion[i])));
        sum += r->weight[i];
        used += r->weight[i] > 0;
    }
    PROMISE(used == r->used && sum <= 1 + 1e-9);
    PROMISE(r->gap >= 0 && r->diameter >= 0);
    PROMISE(!d->budget || r->nodes <= d->budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = feed_make(data, size);
    const uint64_t seed = feed_byte(&f);
    rng random = rng_make(seed);
    agg_desc d = feed_rule(&f, &random);
    const int fill = feed_byte(&f);
    table t = feed_table(&f, d.n, d.dim ? d.dim : 1);
    agg_real *start = feed_flag(&f) && d.dim ? feed_row(&f, d.dim, NULL) : NULL;
    agg_real *out = (agg_real *)need(malloc(d.dim * sizeof *out + 1)),
             *again = (agg_real *)need(malloc(d.dim * sizeof *out + 1));
    agg_report report = report_new(d.n);
    agg_status s;
    d.start = start;
    memset(out, CANARY, d.dim * sizeof *out);
    memcpy(again, out, d.dim * sizeof *out);
    s = call(&d, &t, out, &report, feed_byte(&f) % 65, fill);
    PROMISE((unsigned)s < AGG_STATUS_COUNT);
    if (wrote(s)) {
        PROMISE(all_finite(out, d.dim));
        check_report(&d, &t, &report);
        check_guarantee(&d, s, &t, out);
        random = rng_make(seed);
        d.jobs.run = run_backwards;
        PROMISE(call(&d, &t, again, NULL, feed_byte(&f) % 65, ~fill & 255) == s);
    }
    PROMISE(same_bits(out, again, d.dim));
    report_free(&report);
    table_free(&t);
    free(start);
    free(out);
    free(again);
    return 0;
}
