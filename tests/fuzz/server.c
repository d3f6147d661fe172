/* A server fed by any rows, round after round. Promised: theta is finite, whatever came; a round
   that fails leaves theta and t as they were; a normalised step is no longer than gamma; theta
   stays within the radius; the state can be saved and loaded at any time. Bound: as
   agg_aggregate(), and 64 multiplications for a schedule. */
#include "implementation.h"
#include "resnharpg.h"
#include <math.h>
#include "common.h"
#include "fuzz/fuzz.h"

enum { MOST_DIM = 24 };

static rn_schedule feed_schedule(feed *f) {
    rn_schedule s;
    memset(&s, 0, sizeof s);
    s.kind = (rn_schedule_kind)feed_below(f, RN_SCHEDULE_CALLBACK);
    s.value = feed_double(f);
    s.end = feed_double(f);
    s.factor = feed_double(f);
    s.shift = feed_double(f);
    s.rounds = feed_size(f);
    return s;
}

static rn_server_desc feed_desc(feed *f) {
    rn_server_desc d;
    memset(&d, 0, sizeof d);
    d.n = 1 + feed_below(f, 9);
    d.dim = 1 + feed_below(f, MOST_DIM);
    d.agg.rule = (agg_rule)feed_below(f, AGG_RULE_COUNT);
    d.agg.f = feed_below(f, 5);
    d.agg.pre[0] = (agg_pre)(feed_byte(f) > 192 ? feed_below(f, AGG_PRE_COUNT) : 0);
    d.agg.clip = 1;
    d.update = (rn_update_kind)feed_below(f, 4);
    d.gamma = feed_flag(f) ? feed_schedule(f) : rn_schedule_constant(0.5);
    d.eta = feed_flag(f) ? feed_schedule(f) : rn_schedule_constant(0.5);
    if (feed_flag(f)) {
        d.beta1 = feed_double(f);
        d.beta2 = feed_double(f);
        d.epsilon = feed_double(f);
        d.radius = feed_double(f);
        d.soft = feed_flag(f);
        d.kl = feed_flag(f) ? feed_double(f) : 0;
    }
    return d;
}

/* of x - y, y may be NULL */
static double norm_of(const rn_real *x, const rn_real *y, size_t dim) {
    long double sum = 0;
    for (size_t k = 0; k < dim; k++) {
        const long double v = (long double)x[k] - (y ? (long double)y[k] : 0);
        sum += v * v;
    }
    return (double)sqrtl(sum);
}

/* what is saved can be loaded, and is the same */
static void check_saving(rn_server *s, rn_server *other, size_t dim) {
    const size_t size = rn_server_save_size(s);
    unsigned char *a = (unsigned char *)need(malloc(size)),
                  *b = (unsigned char *)need(malloc(size));
    PROMISE(rn_server_save(s, a, size) == RN_OK);
    PROMISE(rn_server_load(other, a, size) == RN_OK);
    PROMISE(rn_server_save_size(other) == size && rn_server_save(other, b, size) == RN_OK &&
            !memcmp(a, b, size));
    PROMISE(same_bits(rn_server_theta(s), rn_server_theta(other), dim));
    free(a);
    free(b);
}

static void check_step(const rn_server_desc *d, const rn_server *s, rn_status st,
                       const rn_progress *p, const rn_real *before, size_t round) {
    const rn_real *theta = rn_server_theta(s);
    double size = 0;
    for (size_t k = 0; k < d->dim; k++) size = fmax(size, fabs((double)before[k]));
    PROMISE(st == RN_OK || st == RN_ERR_AGGREGATE || st == RN_ERR_THETA);
    PROMISE(all_finite(theta, d->dim) && all_finite(rn_server_direction(s), d->dim));
    PROMISE(rn_server_current_round(s) == round + (st == RN_OK));
    if (st != RN_OK) {
        PROMISE(same_bits(theta, before, d->dim));
        return;
    }
    if (d->radius > 0)
        PROMISE(norm_of(theta, NULL, d->dim) <= d->radius * (1 + 1e-5) + (double)REAL_MIN);
    else if (d->update == RN_UPDATE_NORMALISED) {
        const double most = fabs(p->gamma), moved = norm_of(theta, before, d->dim);
        PROMISE(moved <= most * (1 + 1e-5) + 2 * EPS * (size + most) * sqrt((double)d->dim) +
                             (double)REAL_MIN);
    }
}

static rn_server *server_new(const rn_server_desc *d, void **block) {
    const size_t size = rn_server_size(d);
    rn_server *s = NULL;
    *block = need(malloc(size + 1));
    if (size) PROMISE(rn_server_init(&s, d, *block, size - 1) == RN_ERR_MEMORY && !s);
    if (rn_server_init(&s, d, *block, size) != RN_OK) free(*block);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = feed_make(data, size);
    rn_server_desc d = feed_desc(&f);
    agg_real *start = feed_flag(&f) ? feed_row(&f, d.dim, NULL) : NULL;
    void *block, *other_block;
    rn_server *s, *other;
    d.theta = start;
    s = server_new(&d, &block);
    free(start);
    d.theta = NULL;
    if (!s) return 0;
    other = server_new(&d, &other_block);
    PROMISE(other != NULL);
    for (int round = 0; round < 6 && f.left; round++) {
        table t = feed_table(&f, d.n, d.dim);
        rn_real before[MOST_DIM];
        double curvature[9];
        const size_t at = rn_server_current_round(s);
        rn_progress p;
        rn_status st;
        memcpy(before, rn_server_theta(s), d.dim * sizeof *before);
        for (size_t i = 0; i < d.n; i++) curvature[i] = d.kl > 0 ? feed_double(&f) : 0;
        st = rn_server_update_with(s, t.read, curvature, &p);
        check_step(&d, s, st, &p, before, at);
        check_saving(s, other, d.dim);
        if (st != RN_OK) rn_server_skip_round(s);
        table_free(&t);
    }
    free(block);
    free(other_block);
    return 0;
}
