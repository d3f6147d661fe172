/* Every rule and pre-aggregation of aggregators.h against reference.h: the same set where a rule
   selects, the same numbers to a few units in the last place where it averages, the same report. GM
   has a file of its own. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

/* printed, so that a check that never runs is seen */
static unsigned compared, near_ties, ill_posed;

/* ---- one comparison ---- */
typedef struct trial {
    const agg_desc *d;
    const rows *x;
    layout lay;
    agg_real *out; /* the library's */
    agg_report report;
    ref_set set; /* the reference's */
    ref_num *expected, *mag;
    double *w, *w_all; /* of the prepared rows, of the original rows */
    ref_num own;       /* the rule's own number */
    uint64_t seed;     /* of the random numbers */
} trial;

static double few_ulps(size_t n) { return (n <= 16 ? 8 : (double)n / 2) * EPS; }

static const char *complain(const trial *t, const char *what, double got, double want) {
    const agg_desc *d = t->d;
    return WHY("%s: n %zu f %zu dim %zu layout %s pre %d %d classic %d q %zu: %s: got %.17g, "
               "reference %.17g",
               agg_rule_name(d->rule), d->n, d->f, d->dim, layout_name(t->lay), (int)d->pre[0],
               (int)d->pre[1], d->classic_krum, d->q, what, got, want);
}

static int exact(const trial *t) {
    if (t->d->rule == AGG_GAS) return 0; /* its scores are sums of square roots */
    return layout_is_exact(t->lay) && !t->d->pre[0] && !t->d->pre[1];
}

/* The key a selecting rule orders rows by; smaller is better. */
static void selection_keys(const trial *t, ref_num *key) {
    const ref_set *s = &t->set;
    ref_num *d2 = ref_distances2(s->row, s->n, s->dim);
    ref_item *items = (ref_item *)need(calloc(s->n, sizeof *items));
    if (t->d->rule == AGG_CGE)
        for (size_t i = 0; i < s->n; i++) key[i] = ref_norm2(s->row[i], s->dim);
    else if (t->d->rule == AGG_MONNA)
        for (size_t i = 0; i < s->n; i++) key[i] = d2[i * s->n + s->pivot];
    else if (t->d->rule == AGG_AKSEL || t->d->rule == AGG_GAS) {
        rng again = rng_make(t->seed);
        if (t->d->rule == AGG_AKSEL)
            ref_aksel_keys(s->row, s->n, s->dim, items);
        else
            ref_gas_keys(s->row, s->n, s->dim, ref_gas_blocks(t->d), rng_for_library(&again),
                         items);
        for (size_t i = 0; i < s->n; i++) key[i] = items[i].key;
    } else {
        ref_krum_order(d2, s->n, s->f, t->d->classic_krum, items);
        for (size_t i = 0; i < s->n; i++) key[items[i].row] = items[i].key;
    }
    free(d2);
    free(items);
}

/* The library chose another set than the reference: is it as good, up to rounding? */
static int set_as_good(const trial *t, const size_t *chosen, size_t count) {
    const ref_set *s = &t->set;
    const ref_num tol = 32 * (ref_num)EPS;
    ref_num *key = ref_new(s->n), *d2 = ref_distances2(s->row, s->n, s->dim), least = 0, best = 0;
    int good = 1;
    if (t->d->rule == AGG_MDA)
        good = ref_sqrt(ref_diameter2(d2, s->n, chosen, count)) <= t->own * (1 + tol);
    else if (t->d->rule == AGG_SMEA) {
        size_t *ball = (size_t *)need(calloc(s->n, sizeof *ball));
        const ref_num scale = ref_mda_set_pruned(d2, s->n, s->f, ball);
        good = ref_subset_eigenvalue(s->row, s->dim, chosen, count) <=
               t->own * (1 + tol) + (ref_num)1e-10 * scale;
        free(ball);
    } else {
        selection_keys(t, key);
        for (size_t i = 0; i < s->n; i++)
            if (t->w[i] > 0 && key[i] > least) least = key[i];
        for (size_t i = 0; i < count; i++)
            if (key[chosen[i]] > best) best = key[chosen[i]];
        good = best <= least * (1 + tol);
    }
    free(key);
    free(d2);
    return good;
}

static const char *check_selection(trial *t) {
    const size_t n = t->d->n;
    size_t *chosen = (size_t *)need(calloc(n, sizeof *chosen)), count = 0, j = 0;
    int same = 1, good = 1;
    for (size_t i = 0; i < n; i++) {
        if (!ref_row_ok(t->x->row[i], t->d->dim)) continue;
        if (t->report.weight[i] > 0) chosen[count++] = j;
        same = same && fabs(t->report.weight[i] - t->w_all[i]) <= 1e-12;
        j++;
    }
    if (!same) {
        near_ties++;
        good = !exact(t) && count > 0 && set_as_good(t, chosen, count);
        if (good)
            ref_mean_of(t->set.row, t->set.n, t->set.dim, chosen, count, t->expected, t->w, t->mag);
    }
    free(chosen);
    return good ? NULL : complain(t, "another set was chosen", 0, 0);
}

/* MeaMed, Bulyan: values equally far from the median, up to the rounding of the median to double,
   may have been taken one for another. Is out between the least and the largest mean that this
   allows? */
static int other_side(const trial *t, size_t k, ref_num tolerance) {
    const ref_set *s = &t->set;
    const int bulyan = t->d->rule == AGG_BULYAN;
    const size_t n = bulyan ? s->n - 2 * s->f : s->n, keep = bulyan ? n - 2 * s->f : n - s->f;
    ref_item *items = (ref_item *)need(calloc(s->n, sizeof *items)),
             *tied = (ref_item *)need(calloc(s->n, sizeof *tied));
    size_t *rows_in = (size_t *)need(calloc(s->n, sizeof *rows_in)), ties = 0, sure = 0;
    ref_num low = 0, high = 0, top = 0;
    if (!bulyan && t->d->rule != AGG_MEAMED) {
        free(items);
        free(tied);
        free(rows_in);
        return 0;
    }
    for (size_t i = 0; i < s->n; i++) rows_in[i] = i;
    if (bulyan) {
        ref_num *d2 = ref_distances2(s->row, s->n, s->dim);
        ref_bulyan_picks(d2, s->n, s->f, t->d->classic_krum, rows_in);
        free(d2);
    }
    for (size_t i = 0; i < n; i++) {
        items[i].row = rows_in[i];
        items[i].key = (ref_num)s->row[rows_in[i]][k];
    }
    ref_sort(items, n);
    const ref_num median = ref_median(items, n);
    for (size_t i = 0; i < n; i++) items[i].key = ref_abs(items[i].key - median);
    ref_sort(items, n);
    const ref_num cut = items[keep - 1].key;
    for (size_t i = 0; i < n; i++)
        if (ref_abs((ref_num)s->row[items[i].row][k]) > top)
            top = ref_abs((ref_num)s->row[items[i].row][k]);
    for (size_t i = 0; i < n; i++) {
        const ref_num v = (ref_num)s->row[items[i].row][k];
        if (ref_abs(items[i].key - cut) <= 4 * (ref_num)DBL_EPSILON * top) {
            tied[ties].key = v;
            tied[ties++].row = i;
        } else if (items[i].key < cut) {
            low += v;
            high += v;
            sure++;
        }
    }
    ref_sort(tied, ties);
    for (size_t i = 0; i < keep - sure; i++) {
        low += tied[i].key;
        high += tied[ties - 1 - i].key;
    }
    low = low / (ref_num)keep - tolerance;
    high = high / (ref_num)keep + tolerance;
    free(items);
    free(tied);
    free(rows_in);
    return (ref_num)t->out[k] >= low && (ref_num)t->out[k] <= high;
}

/* Krum after NNM: groups of equal rows have equal scores, up to rounding */
static int other_row(const trial *t) {
    const ref_set *s = &t->set;
    ref_num *d2 = ref_distances2(s->row, s->n, s->dim);
    ref_item *items = (ref_item *)need(calloc(s->n, sizeof *items));
    int found = 0;
    ref_krum_order(d2, s->n, s->f, t->d->classic_krum, items);
    for (size_t i = 0; i < s->n && items[i].key <= items[0].key * (1 + 32 * (ref_num)EPS) && !found;
         i++) {
        found = 1;
        for (size_t k = 0; k < s->dim; k++)
            found = found && ref_abs((ref_num)s->row[items[i].row][k] - (ref_num)t->out[k]) <=
                                 8 * (ref_num)EPS * t->mag[k];
    }
    free(d2);
    free(items);
    return found;
}

static ref_num tolerance_at(const trial *t, size_t k) {
    /* each share of a row is rounded to a denormal number, if it is that small */
    const ref_num least = (ref_num)(8 + t->set.n / 4) * (ref_num)REAL_TINY;
    ref_num tol = (ref_num)few_ulps(t->set.n) * t->mag[k] + least, spread = 0;
    /* rounds add up, and the share of a row at 1e308 is a denormal number */
    if (t->d->rule == AGG_CCLIP) {
        tol *= 4 + (ref_num)t->d->iterations;
        if (t->lay == LAY_GIANTS && sizeof(agg_real) > sizeof(float))
            tol += (ref_num)1e-8 * t->own + (ref_num)(t->set.n * (t->d->iterations + 3)) *
                                                (ref_num)REAL_TINY * (ref_num)REAL_MAX;
    }
    if (t->d->rule == AGG_CAF) { /* eigenvectors amplify rounding */
        for (size_t i = 0; i < t->set.n; i++)
            if (t->w[i] > 0)
                spread += (ref_num)t->w[i] * ref_abs((ref_num)t->set.row[i][k] - t->expected[k]);
        tol += (ref_num)1e-3 * spread;
    }
    return tol;
}

static const char *check_numbers(trial *t) {
    for (size_t k = 0; k < t->d->dim; k++) {
        const ref_num tol = tolerance_at(t, k);
        if (ref_abs((ref_num)t->out[k] - t->expected[k]) <= tol) continue;
        if (!exact(t) && other_side(t, k, tol)) {
            near_ties++;
            continue;
        }
        if (t->d->rule == AGG_KRUM && (t->d->pre[0] || t->d->pre[1]) && other_row(t)) {
            near_ties++;
            return NULL;
        }
        return complain(t, "number", (double)t->out[k], (double)t->expected[k]);
    }
    return NULL;
}

static const char *check_report(trial *t) {
    const agg_desc *d = t->d;
    const size_t bad = ref_bad_rows(t->x->row, d->n, d->dim);
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < d->n; i++) {
        const double w = t->report.weight[i];
        if (!(w >= 0 && w <= 1 + 1e-12)) return complain(t, "weight outside 0..1", w, t->w_all[i]);
        sum += w;
        used += w > 0;
        if (!ref_row_ok(t->x->row[i], d->dim) && (w > 0 || !isinf(t->report.suspicion[i])))
            return complain(t, "a dropped row has a weight or a finite suspicion", w,
                            t->report.suspicion[i]);
    }
    const int none_agreed = d->rule == AGG_FLTRUST && !(t->own > 0);
    const int shortens = d->rule == AGG_CCLIP || d->rule == AGG_SIGNGUARD || none_agreed ||
                         d->pre[0] >= AGG_PRE_CLIP || d->pre[1] >= AGG_PRE_CLIP;
    if (sum > 1 + 1e-9 || (!shortens && sum < 1 - 1e-9))
        return complain(t, "sum of weights", sum, 1);
    if (t->report.used != used)
        return complain(t, "report.used", (double)t->report.used, (double)used);
    if (t->report.dropped != bad)
        return complain(t, "report.dropped", (double)t->report.dropped, (double)bad);
    return NULL;
}

static double weight_tolerance(const trial *t) {
    double top = 0;
    if (t->d->rule == AGG_CAF) return 1e-3;
    for (size_t k = 0; k < t->d->dim && t->d->rule == AGG_CCLIP; k++)
        top = fmax(top, (double)t->mag[k]);
    if (!(top > 0)) return 1e-6; /* CClip's start is rounded, and tau is t->own */
    return 1e-6 + 32 * (EPS * top + (double)REAL_TINY * sqrt((double)t->d->dim)) / (double)t->own;
}

static const char *check_weights(trial *t) {
    for (size_t i = 0; i < t->d->n; i++)
        if (fabs(t->report.weight[i] - t->w_all[i]) > weight_tolerance(t))
            return complain(t, "weight", t->report.weight[i], t->w_all[i]);
    return NULL;
}

/* Does the answer hang on rounding? A vote does so only if its rows were rounded. */
static int is_ill_posed(const trial *t) {
    const int mixed = t->d->pre[0] || t->d->pre[1];
    switch (t->d->rule) {
    case AGG_DNC: return t->own < (ref_num)(sizeof(agg_real) > 4 ? 1e-6 : 2e-3);
    case AGG_SIGNGUARD: return t->own < 16 * (ref_num)EPS;
    case AGG_SIGN_VOTE: return mixed && t->own < 64 * (ref_num)EPS;
    case AGG_GAS: return mixed && t->own < 64 * (ref_num)EPS;
    case AGG_FEDPG: return !exact(t) && t->own < 64 * (ref_num)EPS;
    default: return 0;
    }
}

static const char *judge(trial *t) {
    const agg_rule rule = t->d->rule;
    const char *bad = check_report(t);
    if (!bad && is_ill_posed(t)) {
        ill_posed++;
        return NULL;
    }
    if (!bad && rule_selects(rule) && !t->d->pre[0] && !t->d->pre[1]) bad = check_selection(t);
    if (!bad && rule == AGG_CAF && t->own < (ref_num)1e-3) {
        ill_posed++;
        return NULL;
    }
    if (!bad && rule == AGG_BULYAN &&
        (t->lay == LAY_MIXED || (t->lay == LAY_GIANTS && t->set.n > 9) ||
         (t->lay == LAY_DENORMAL && sizeof(agg_real) > sizeof(float) && t->set.n > 9))) {
        ill_posed++; /* scores of different rows differ by less than rounding */
        return NULL;
    }
    if (!bad) bad = check_numbers(t);
    if (!bad && (rule == AGG_MEAN || rule == AGG_CCLIP || rule == AGG_CAF || rule == AGG_FLTRUST ||
                 rule == AGG_SIGNGUARD || rule == AGG_SIGN_VOTE))
        bad = check_weights(t);
    if (!bad &&
        (rule == AGG_CWTM || rule == AGG_CWMED || rule == AGG_MEAMED || rule == AGG_WINSOR) &&
        (t->lay == LAY_RANDOM) && !t->d->pre[0] && !t->d->pre[1])
        bad = check_weights(t);
    if (!bad && rule == AGG_MDA &&
        fabs(t->report.diameter - (double)t->own) > 4 * EPS * (double)t->own)
        bad = complain(t, "diameter", t->report.diameter, (double)t->own);
    if (!bad && rule == AGG_KRUM && !t->d->pre[0] && !t->d->pre[1])
        for (size_t i = 0; i < t->d->n; i++)
            if (t->report.weight[i] > 0 && !same_numbers(t->out, t->x->row[i], t->d->dim))
                bad = complain(t, "Krum must return a row as it is", 0, 0);
    return bad;
}

/* with pre-aggregations, rounding scales with the rows that were mixed, not with their means */
static void widen_magnitudes(trial *t) {
    const int all = !rule_selects(t->d->rule);
    for (size_t i = 0; i < t->set.n; i++)
        for (size_t a = 0; a < t->d->n; a++) {
            if (!(t->set.mix[i * t->d->n + a] > 0) || !(all || t->w[i] > 0)) continue;
            for (size_t k = 0; k < t->d->dim; k++) {
                const ref_num v = (ref_num)t->d->n * ref_abs((ref_num)t->set.mix[i * t->d->n + a] *
                                                             (ref_num)t->x->row[a][k]);
                if (v > t->mag[k]) t->mag[k] = v;
            }
        }
}

/* NULL if the library agrees with the reference. seed: of the random numbers for bucketing. */
static const char *compare(const agg_desc *desc, const rows *x, layout lay, uint64_t seed) {
    agg_desc d = *desc;
    rng mine = rng_make(seed), theirs = rng_make(seed);
    trial t;
    const char *bad;
    agg_status s;
    d.rng = rng_for_library(&mine);
    memset(&t, 0, sizeof t);
    t.d = &d;
    t.x = x;
    t.lay = lay;
    t.seed = seed;
    t.out = (agg_real *)need(calloc(d.dim, sizeof *t.out));
    t.report = report_new(d.n);
    s = run(&d, x->row, t.out, &t.report);
    d.rng = rng_for_library(&theirs);
    if (s != AGG_OK) {
        bad = complain(&t, s == RUN_DAMAGE ? "wrote outside scratch" : agg_status_text(s),
                       (double)s, 0);
    } else {
        t.set = ref_prepare(&d, x->row);
        t.expected = ref_new(d.dim);
        t.mag = ref_new(d.dim);
        t.w = (double *)need(calloc(d.n, sizeof *t.w));
        t.w_all = (double *)need(calloc(d.n, sizeof *t.w_all));
        t.own = ref_rule(&d, &t.set, t.expected, t.w, t.mag);
        ref_spread_weights(&t.set, t.w, t.w_all);
        if (d.pre[0] || d.pre[1]) widen_magnitudes(&t);
        bad = judge(&t);
        if (!bad && mine.state != theirs.state)
            bad = complain(&t, "another number of random bits was drawn", 0, 0);
        ref_set_free(&t.set);
        free(t.expected);
        free(t.mag);
        free(t.w);
        free(t.w_all);
    }
    compared++;
    free(t.out);
    report_free(&t.report);
    return bad;
}

/* ---- which (rule, n, f) are legal ---- */
static int legal(const agg_desc *d) {
    if (d->n <= 2 * d->f) return 0;
    if (d->rule == AGG_BULYAN && d->n < 4 * d->f + 3) return 0;
    if (d->classic_krum && d->n <= 2 * d->f + 2) return 0;
    return 1;
}

static int has_reference(agg_rule r) { return r != AGG_GM; }

static int slow_reference(agg_rule r) { return r == AGG_SMEA || r == AGG_CAF || r == AGG_DNC; }

/* rows of a layout, compared */
static const char *compare_new(const agg_desc *d, layout lay, rng *r) {
    rows x = rows_new(d->n, d->dim);
    const char *bad;
    fill_rows(&x, lay, r);
    bad = compare(d, &x, lay, 1);
    rows_free(&x);
    return bad;
}

/* The later rules stand on kernels that the first ones test: every second size will do. */
static size_t every(agg_rule r) { return r < AGG_AKSEL ? 1 : 2; }

/* ---- every rule, n <= 9, every f ---- */
TEST every_layout(agg_rule rule) {
    static const size_t dims[] = {1, 2, 3, 17, 64, 100, 257};
    rng r = rng_make(1000 + (uint64_t)rule);
    for (size_t n = 1; n <= 9; n++)
        for (size_t f = 0; 2 * f < n; f++)
            for (size_t c = 0; c < sizeof dims / sizeof *dims; c += every(rule))
                for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                    agg_desc d = agg_make_desc(rule, n, dims[c], f);
                    const char *bad = NULL;
                    if (!legal(&d) || (slow_reference(rule) && dims[c] > 17)) continue;
                    for (size_t i = 0; i < rounds(dims[c] < 20 && rule < AGG_AKSEL ? 3 : 1) && !bad;
                         i++)
                        bad = compare_new(&d, (layout)lay, &r);
                    if (bad) FAILm(bad);
                }
    PASS();
}

/* exactly f forgeries of every kind, and more of them than one can name: the reference drops or
   keeps them as documented */
TEST every_attack(agg_rule rule) {
    static const size_t dims[] = {1, 3, 17};
    rng r = rng_make(2000 + (uint64_t)rule);
    for (size_t n = 3; n <= 9; n++)
        for (size_t f = 1; 2 * f < n; f++)
            for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
                for (int attack_kind = 0; attack_kind <= FORGERY_COUNT; attack_kind++) {
                    agg_desc d = agg_make_desc(rule, n, dims[c], f);
                    rows x;
                    const char *bad;
                    if (!legal(&d)) continue;
                    x = rows_new(n, dims[c]);
                    fill_rows(&x, LAY_RANDOM, &r);
                    d.pivot = rng_below(&r, n);
                    for (size_t i = 0, at = 1 + rng_below(&r, n - 1); i < f;
                         i++, at = (at + 2) % n) {
                        if (at == d.pivot) continue; /* fewer forgeries are fine */
                        forge_row(&x, at,
                                  (forgery)(attack_kind < FORGERY_COUNT
                                                ? (size_t)attack_kind
                                                : rng_below(&r, FORGERY_COUNT)),
                                  &r);
                    }
                    bad = compare(&d, &x, attack_kind == FORGERY_BITS ? LAY_MIXED : LAY_RANDOM, 1);
                    rows_free(&x);
                    if (bad) FAILm(bad);
                }
    PASS();
}

TEST krum_options(agg_rule rule) {
    rng r = rng_make(3000 + (uint64_t)rule);
    for (size_t n = 3; n <= 9; n++)
        for (size_t f = 0; 2 * f < n; f++)
            for (int classic = 0; classic < 2; classic++)
                for (size_t q = 0; q <= (rule == AGG_MULTI_KRUM ? n - f : 0); q++)
                    for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                        agg_desc d = agg_make_desc(rule, n, 5, f);
                        const char *bad;
                        d.classic_krum = classic;
                        d.q = q;
                        if (!legal(&d)) continue;
                        bad = compare_new(&d, (layout)lay, &r);
                        if (bad) FAILm(bad);
                    }
    PASS();
}

TEST monna_pivots(void) {
    rng r = rng_make(3100);
    for (size_t n = 1; n <= 9; n++)
        for (size_t f = 0; 2 * f < n; f++)
            for (size_t pivot = 0; pivot < n; pivot++)
                for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                    agg_desc d = agg_make_desc(AGG_MONNA, n, 4, f);
                    rows x = rows_new(n, d.dim);
                    const char *bad;
                    d.pivot = pivot;
                    fill_rows(&x, (layout)lay, &r);
                    /* the pivot is found again after a row is dropped */
                    if (f && pivot) x.row[pivot - 1] = NULL;
                    bad = compare(&d, &x, (layout)lay, 1);
                    rows_free(&x);
                    if (bad) FAILm(bad);
                }
    PASS();
}

TEST cclip_options(void) {
    static const double taus[] = {0, 1e-6, 0.5, 3, 1e6};
    rng r = rng_make(3200);
    for (size_t n = 1; n <= 9; n++)
        for (size_t t = 0; t < sizeof taus / sizeof *taus; t++)
            for (size_t iterations = 0; iterations <= 20; iterations += 5)
                for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                    agg_desc d = agg_make_desc(AGG_CCLIP, n, 7, (n - 1) / 2);
                    agg_real start[7];
                    const char *bad;
                    fill_normal(start, 7, &r, lay == LAY_OFFSET ? 100 : 0, 1);
                    d.tau = taus[t];
                    d.iterations = iterations;
                    d.start = rng_below(&r, 2) ? start : NULL;
                    bad = compare_new(&d, (layout)lay, &r);
                    if (bad) FAILm(bad);
                }
    PASS();
}

/* a trusted row that is none of the others: any, one of zeros, one that nobody agrees with */
TEST fltrust_trusts_any_row(void) {
    rng r = rng_make(3300);
    for (size_t n = 1; n <= 9; n++)
        for (int lay = 0; lay < LAYOUT_COUNT; lay++)
            for (int kind = 0; kind < 4; kind++) {
                agg_desc d = agg_make_desc(AGG_FLTRUST, n, 7, (n - 1) / 2);
                agg_real trusted[7];
                rows x = rows_new(n, 7);
                const char *bad;
                fill_rows(&x, (layout)lay, &r);
                fill_normal(trusted, 7, &r, 0, kind == 1 ? 0 : kind == 2 ? 1e-30 : 1);
                for (size_t k = 0; k < 7 && kind == 3; k++) {
                    trusted[k] = -1;
                    for (size_t i = 0; i < n; i++)
                        rows_at(&x, i)[k] = (agg_real)fabs((double)rows_at(&x, i)[k]);
                }
                d.trusted = trusted;
                d.pivot = n; /* is not read */
                bad = compare(&d, &x, (layout)lay, 1);
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* as the sole row the trusted one is not asked for; giants and denormals have a direction */
TEST fltrust_knows_directions_of_any_length(void) {
    static const double lengths[] = {(double)REAL_TINY * 8, 1e-30, 1, 1e30, (double)REAL_MAX / 8};
    agg_real trusted[2] = {3, 4}, out[2];
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++) {
            agg_desc d = agg_make_desc(AGG_FLTRUST, 3, 2, 1);
            rows x = rows_new(3, 2);
            agg_report rep = report_new(3);
            fill_number(rows_at(&x, 0), 1, lengths[a]);     /* cosine 0.6 */
            fill_number(rows_at(&x, 1) + 1, 1, lengths[b]); /* 0.8 */
            fill_number(rows_at(&x, 2), 2, -lengths[a]);    /* below 0 */
            d.trusted = trusted;
            ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
            ASSERT_IN_RANGE(5 * 0.6 / 1.4, (double)out[0], 32 * EPS);
            ASSERT_IN_RANGE(5 * 0.8 / 1.4, (double)out[1], 32 * EPS);
            ASSERT_IN_RANGE(0.6 / 1.4, rep.weight[0], 1e-6);
            ASSERT_EQ((size_t)2, rep.used);
            report_free(&rep);
            rows_free(&x);
        }
    PASS();
}

TEST options_of_the_peers(void) {
    static const double shares[] = {0, 1e-9, 0.3, 1}, sigmas[] = {0, 1e-9, 0.2, 1, 100};
    rng r = rng_make(3400);
    for (size_t n = 1; n <= 9; n++)
        for (int lay = 0; lay < LAYOUT_COUNT; lay++)
            for (size_t o = 0; o < 20; o++) {
                static const agg_rule some[] = {AGG_DNC, AGG_SIGNGUARD, AGG_GAS, AGG_FEDPG};
                for (size_t m = 0; m < 4; m++) {
                    agg_desc d = agg_make_desc(some[m], n, 11, (n - 1) / 2);
                    rows x = rows_new(n, 11);
                    const char *bad;
                    d.share = shares[o % 4];
                    d.iterations = o % 3;
                    d.blocks = o % 5 * 4; /* 16 is more than dim */
                    d.sigma = sigmas[o % 5];
                    d.delta = o % 4 == 3 ? 0.01 : 0;
                    d.batch = o % 3 * 20;
                    fill_rows(&x, (layout)lay, &r);
                    bad = compare(&d, &x, (layout)lay, rng_next(&r));
                    rows_free(&x);
                    if (bad) FAILm(bad);
                }
            }
    PASS();
}

/* two against each other: nobody has won, all weigh the same */
TEST a_vote_that_nobody_wins(void) {
    agg_desc d = agg_make_desc(AGG_SIGN_VOTE, 2, 3, 0);
    rows x = rows_new(2, 3);
    agg_real out[3];
    agg_report rep = report_new(2);
    fill_number(rows_at(&x, 0), 3, 7);
    fill_number(rows_at(&x, 1), 3, -2);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    for (size_t k = 0; k < 3; k++) ASSERT_IN_RANGE(0.0, (double)out[k], 0.0);
    ASSERT_IN_RANGE(0.5, rep.weight[0], 0.0);
    ASSERT_EQ((size_t)2, rep.used);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* several slices */
TEST long_rows_of_the_peers(void) {
    static const agg_rule some[] = {AGG_AKSEL, AGG_DNC,    AGG_FLTRUST,   AGG_SIGNGUARD,
                                    AGG_GAS,   AGG_WINSOR, AGG_SIGN_VOTE, AGG_FEDPG};
    rng r = rng_make(3500);
    for (size_t m = 0; m < 8; m++)
        for (size_t n = 5; n <= 17; n += 12) {
            agg_desc d = agg_make_desc(some[m], n, 6200, 2);
            d.share = 0.7; /* of three slices two */
            d.iterations = 1;
            const char *bad = compare_new(&d, LAY_RANDOM, &r);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* every pair of pre-aggregations in front of every rule, with and without forgeries */
TEST pre_aggregations(agg_rule rule) {
    static const layout lays[] = {LAY_RANDOM, LAY_GIANTS};
    rng r = rng_make(4000 + (uint64_t)rule);
    for (int p = 0; p < AGG_PRE_COUNT * AGG_PRE_COUNT; p++)
        for (size_t n = 5; n <= 9; n += 2)
            for (size_t f = 0; f <= 2; f++)
                for (size_t l = 0; l < sizeof lays / sizeof *lays; l++)
                    for (int attacks = 0; attacks < 2; attacks++) {
                        agg_desc d = agg_make_desc(rule, n, 6, f), after;
                        rows x;
                        const char *bad;
                        d.pre[0] = (agg_pre)(p % AGG_PRE_COUNT);
                        d.pre[1] = (agg_pre)(p / AGG_PRE_COUNT);
                        d.bucket = 1 + rng_below(&r, 3);
                        d.clip = 2;
                        after = d;
                        for (int i = 0; i < 2; i++)
                            if (d.pre[i] == AGG_PRE_BUCKETING)
                                after.n = (after.n + d.bucket - 1) / d.bucket;
                        if (!legal(&after) || (rule == AGG_MONNA && after.n != n)) continue;
                        /* more giants than adversaries: no promise */
                        if (lays[l] == LAY_GIANTS && (2 * f + 1 < n || attacks)) continue;
                        /* equal norms: ties */
                        if (rule == AGG_CGE && (p % AGG_PRE_COUNT > 2 || p / AGG_PRE_COUNT > 2))
                            continue;
                        x = rows_new(n, d.dim);
                        fill_rows(&x, lays[l], &r);
                        for (size_t i = 1; attacks && i <= f; i++)
                            forge_row(&x, n - i, i == 1 ? FORGERY_ONE_NAN : FORGERY_FAR, &r);
                        bad = compare(&d, &x, lays[l], rng_next(&r));
                        rows_free(&x);
                        if (bad) FAILm(bad);
                    }
    PASS();
}

/* nothing but giants: the difference of two is not a number of the format */
TEST pre_aggregations_of_giants(void) {
    static const agg_rule some[] = {AGG_MEAN, AGG_CWTM, AGG_CWMED};
    rng r = rng_make(4500);
    for (size_t m = 0; m < 3; m++)
        for (int pre = AGG_PRE_NNM; pre < AGG_PRE_COUNT; pre++)
            for (size_t n = 2; n <= 7; n++) {
                agg_desc d = agg_make_desc(some[m], n, 6, 0);
                rows x = rows_new(n, 6);
                const char *bad;
                d.pre[0] = (agg_pre)pre;
                d.clip = 2;
                for (size_t i = 0; i < n * 6; i++) x.data[i] = giant(&r);
                bad = compare(&d, &x, LAY_GIANTS, rng_next(&r));
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* more rows: the column sorts and the distance pass have other code for them */
TEST many_rows(agg_rule rule) {
    static const size_t ns[] = {10, 11, 15, 16, 17, 24, 31, 32, 33, 47, 60};
    static const size_t dims[] = {1, 5, 33};
    rng r = rng_make(5000 + (uint64_t)rule);
    for (size_t a = 0; a < sizeof ns / sizeof *ns; a += every(rule))
        for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
            for (int lay = 0; lay < LAYOUT_COUNT; lay++)
                for (size_t e = 0; e < 5; e++) {
                    const size_t n = ns[a], fs[] = {0, 1, (n - 3) / 4, n / 3, (n - 1) / 2};
                    agg_desc d = agg_make_desc(rule, n, dims[c], fs[e]);
                    const char *bad;
                    /* a third of the cases, others for each rule, unless all are wanted */
                    if (!is_whole() && (a + c + (size_t)lay + e + (size_t)rule) % 3) continue;
                    if (!legal(&d)) continue;
                    bad = compare_new(&d, (layout)lay, &r);
                    if (bad) FAILm(bad);
                }
    PASS();
}

TEST mda_more_rows(void) {
    static const size_t ns[] = {12, 16, 20, 24};
    rng r = rng_make(6000);
    for (size_t a = 0; a < sizeof ns / sizeof *ns; a++)
        for (size_t f = 1; 2 * f < ns[a]; f += 1 + ns[a] / 12)
            for (int lay = 0; lay < LAYOUT_COUNT; lay++)
                for (size_t dim = 1; dim <= 5; dim += 2) {
                    agg_desc d = agg_make_desc(AGG_MDA, ns[a], dim, f);
                    const char *bad = compare_new(&d, (layout)lay, &r);
                    if (bad) FAILm(bad);
                }
    PASS();
}

/* at the least diameter only the corners of a tetrahedron are too far apart */
TEST mda_more_adversaries_than_far_rows(void) {
    static const int corner[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    agg_desc d = agg_make_desc(AGG_MDA, 11, 8, 5);
    rows x = rows_new(11, 8); /* two rows at its centre, and five in directions of their own */
    const char *bad;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) rows_at(&x, i)[k] = (agg_real)corner[i][k];
    for (size_t i = 0; i < 5; i++) rows_at(&x, 6 + i)[3 + i] = (agg_real)1.75;
    bad = compare(&d, &x, LAY_TIED, 1);
    rows_free(&x);
    if (bad) FAILm(bad);
    PASS();
}

/* sets of more than 64 rows; 64 and 128 fill their words to the last bit */
TEST mda_several_words(void) {
    static const size_t ns[] = {63, 64, 65, 128, 130};
    rng r = rng_make(6050);
    for (size_t a = 0; a < sizeof ns / sizeof *ns; a++)
        for (size_t f = 1; f <= 2; f++)
            for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                agg_desc d = agg_make_desc(AGG_MDA, ns[a], 2, f);
                const char *bad = compare_new(&d, (layout)lay, &r);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* the two searches of the reference agree, so that the pruned one may be trusted above */
TEST reference_searches_agree(void) {
    rng r = rng_make(6100);
    for (size_t n = 2; n <= 12; n++)
        for (size_t f = 0; 2 * f < n; f++)
            for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
                rows x = rows_new(n, 2);
                size_t a[12], b[12];
                ref_num *d2;
                fill_rows(&x, (layout)lay, &r);
                d2 = ref_distances2(x.row, n, 2);
                ASSERT(ref_abs(ref_mda_set(d2, n, f, a) - ref_mda_set_pruned(d2, n, f, b)) <= 0);
                ASSERT_MEM_EQ(a, b, (n - f) * sizeof *a);
                free(d2);
                rows_free(&x);
            }
    PASS();
}

/* ---- the rest of the report ---- */
TEST suspicion_is_distance_over_median(void) {
    rng r = rng_make(7000);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (size_t n = 4; n <= 9; n++) {
            agg_desc d = agg_make_desc(rule_at(i), n, 5, n >= 7 ? 1 : 0);
            rows x = rows_new(n, 5);
            agg_real out[5];
            agg_report rep = report_new(n);
            ref_item items[9];
            ref_num z[5];
            fill_rows(&x, LAY_RANDOM, &r);
            ASSERT(wrote(run(&d, x.row, out, &rep)));
            for (size_t k = 0; k < 5; k++) z[k] = (ref_num)out[k];
            for (size_t j = 0; j < n; j++) {
                items[j].row = j;
                items[j].key = ref_distance_to(x.row[j], z, 5);
            }
            ref_sort(items, n);
            for (size_t j = 0; j < n; j++)
                if (fabs(rep.suspicion[j] -
                         (double)(ref_distance_to(x.row[j], z, 5) / ref_median(items, n))) >
                    1e-5 * rep.suspicion[j] + 1e-6)
                    FAILm(WHY("%s n %zu: suspicion of row %zu is %g, not %g",
                              agg_rule_name(rule_at(i)), n, j, rep.suspicion[j],
                              (double)(ref_distance_to(x.row[j], z, 5) / ref_median(items, n))));
            report_free(&rep);
            rows_free(&x);
        }
    PASS();
}

/* all equal: nothing is odd; one giant: it is odd, and no NaN appears */
TEST suspicion_survives_extremes(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        agg_desc d = agg_make_desc(rule_at(i), 7, 3, 1);
        rows x = rows_new(7, 3);
        agg_real out[3];
        agg_report rep = report_new(7);
        if (rule_at(i) == AGG_MEAN) d.f = 0;
        fill_number(x.data, 21, 0.1);
        ASSERT(wrote(run(&d, x.row, out, &rep)));
        for (size_t j = 0; j < 7; j++)
            ASSERTm(agg_rule_name(rule_at(i)), rep.suspicion[j] >= 0 && rep.suspicion[j] <= 1);
        fill_number(rows_at(&x, 3), 3, (double)REAL_MAX);
        ASSERT(wrote(run(&d, x.row, out, &rep)));
        for (size_t j = 0; j < 7; j++) ASSERTm(agg_rule_name(rule_at(i)), rep.suspicion[j] >= 0);
        for (size_t j = 0; j < 7; j++)
            ASSERTm(agg_rule_name(rule_at(i)), rep.suspicion[3] >= rep.suspicion[j]);
        report_free(&rep);
        rows_free(&x);
    }
    PASS();
}

/* and asking for them changes no bit of out */
TEST report_arrays_are_optional(void) {
    rng r = rng_make(7100);
    rows x = rows_new(7, 9);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        agg_desc d = agg_make_desc(rule_at(i), 7, 9, rule_at(i) == AGG_MEAN ? 0 : 1);
        agg_report full = report_new(7), none, one;
        agg_real a[9], b[9], c[9], e[9];
        memset(&none, 0, sizeof none);
        memset(&one, 0, sizeof one);
        one.suspicion = full.suspicion;
        ASSERT(wrote(run(&d, x.row, a, &full)));
        ASSERT(wrote(run(&d, x.row, b, &none)));
        ASSERT(wrote(run(&d, x.row, c, NULL)));
        ASSERT(wrote(run(&d, x.row, e, &one)));
        ASSERTm(agg_rule_name(rule_at(i)),
                same_bits(a, b, 9) && same_bits(a, c, 9) && same_bits(a, e, 9));
        ASSERT(full.diameter <= none.diameter && full.diameter >= none.diameter);
        ASSERT_EQ(full.dropped, none.dropped);
        report_free(&full);
    }
    rows_free(&x);
    PASS();
}

/* out = sum w_i x_i for the rules that mix whole rows, whatever stands in front of them */
TEST weights_reproduce_out(void) {
    static const agg_rule mixers[] = {AGG_MDA, AGG_KRUM,  AGG_MULTI_KRUM, AGG_GM,  AGG_MEAN,
                                      AGG_CGE, AGG_MONNA, AGG_CAF,        AGG_SMEA};
    rng r = rng_make(7200);
    for (size_t m = 0; m < sizeof mixers / sizeof *mixers; m++)
        for (int p = 0; p < AGG_PRE_COUNT * AGG_PRE_COUNT; p++) {
            agg_desc d = agg_make_desc(mixers[m], 9, 6, mixers[m] == AGG_MEAN ? 0 : 1);
            rows x = rows_new(9, 6);
            agg_real out[6];
            agg_report rep = report_new(9);
            ref_num mixed[6], mag[6];
            d.pre[0] = (agg_pre)(p % AGG_PRE_COUNT);
            d.pre[1] = (agg_pre)(p / AGG_PRE_COUNT);
            d.clip = 1.5;
            d.rng = rng_for_library(&r);
            fill_rows(&x, LAY_RANDOM, &r);
            if (d.pre[0] == AGG_PRE_BUCKETING && d.pre[1] == AGG_PRE_BUCKETING) d.f = 0;
            ASSERT(wrote(run(&d, x.row, out, &rep)));
            ref_mix(x.row, 9, 6, rep.weight, 1, mixed, mag);
            for (size_t k = 0; k < 6; k++)
                if (ref_abs(mixed[k] - (ref_num)out[k]) > 16 * (ref_num)EPS * (mag[k] + 1))
                    FAILm(WHY("%s pre %d %d: out %g, weights give %g", agg_rule_name(d.rule),
                              (int)d.pre[0], (int)d.pre[1], (double)out[k], (double)mixed[k]));
            report_free(&rep);
            rows_free(&x);
        }
    PASS();
}

TEST coordinate_weights_sum_to_one_on_ties(void) {
    static const agg_rule some[] = {AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_BULYAN};
    rng r = rng_make(7300);
    for (size_t m = 0; m < 4; m++)
        for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
            agg_desc d = agg_make_desc(some[m], 9, 40, 1);
            rows x = rows_new(9, 40);
            agg_real out[40];
            agg_report rep = report_new(9);
            double sum = 0;
            fill_rows(&x, (layout)lay, &r);
            ASSERT(wrote(run(&d, x.row, out, &rep)));
            for (size_t i = 0; i < 9; i++) {
                ASSERT(rep.weight[i] >= 0);
                sum += rep.weight[i];
            }
            ASSERT_IN_RANGE(1.0, sum, 1e-9);
            report_free(&rep);
            rows_free(&x);
        }
    PASS();
}

/* ---- budgets ---- */
/* n rows whose graph of far pairs is an odd cycle blown up: reductions do not help and bounds are
   loose */
static void hard_rows(rows *x, rng *r) {
    for (size_t i = 0; i < x->n; i++) {
        const double a = 6.283185307179586 * ((double)i + 0.001 * rng_unit(r)) / (double)x->n;
        rows_at(x, i)[0] = (agg_real)cos(a);
        rows_at(x, i)[1] = (agg_real)sin(a);
    }
}

TEST mda_out_of_budget(void) {
    rng r = rng_make(8000);
    size_t inexact = 0;
    for (size_t trial_no = 0; trial_no < rounds(60); trial_no++) {
        const size_t n = 9 + trial_no % 10, f = 3 + trial_no % ((n - 1) / 2 - 2);
        agg_desc d = agg_make_desc(AGG_MDA, n, 2, f);
        rows x = rows_new(n, 2);
        agg_real out[2];
        agg_report rep = report_new(n);
        size_t best[20];
        ref_num *d2, least;
        agg_status s;
        if (trial_no % 2)
            hard_rows(&x, &r);
        else
            fill_rows(&x, trial_no % 4 ? LAY_TIED : LAY_RANDOM, &r);
        d.budget = 1;
        s = run(&d, x.row, out, &rep);
        ASSERT(wrote(s));
        inexact += s == AGG_INEXACT;
        d2 = ref_distances2(x.row, n, 2);
        least = ref_sqrt(ref_mda_set_pruned(d2, n, f, best));
        if (s == AGG_OK) ASSERT(rep.diameter <= (double)least * (1 + 4 * EPS));
        if (!(rep.diameter <= 2 * (double)least * (1 + 4 * EPS)))
            FAILm(WHY("n %zu f %zu: diameter %g, least %g", n, f, rep.diameter, (double)least));
        const ref_num ratio = ref_resilience(x.row, n, 2, f, out, 4 * (ref_num)EPS),
                      limit = 3 * (ref_num)f / (ref_num)(n - f);
        if (ratio > limit * (1 + (ref_num)1e-5))
            FAILm(WHY("n %zu f %zu: ratio %g over 3f/(n-f) = %g", n, f, (double)ratio,
                      (double)limit));
        size_t used = 0;
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            used += rep.weight[i] > 0;
            sum += rep.weight[i];
        }
        ASSERT_EQ(n - f, used);
        ASSERT_IN_RANGE(1.0, sum, 1e-9);
        free(d2);
        report_free(&rep);
        rows_free(&x);
    }
    ASSERTm("budget = 1 never ran out: the rows are not hard", inexact > 0);
    PASS();
}

/* while a diameter is sought, or, it being known, while the first such set is */
TEST mda_budget_may_end_anywhere(void) {
    rng r = rng_make(8050);
    size_t known = 0;
    for (size_t t = 0; t < rounds(40); t++) {
        const size_t n = 11 + t % 4, f = 5;
        agg_desc d = agg_make_desc(AGG_MDA, n, 2, f);
        rows x = rows_new(n, 2);
        agg_real out[2];
        agg_report full = report_new(n), rep = report_new(n);
        fill_rows(&x, t % 2 ? LAY_TIED : LAY_RANDOM, &r);
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, &full));
        for (d.budget = 1;; d.budget += 8 * n) { /* less than a node costs */
            const agg_status s = run(&d, x.row, out, &rep);
            if (s == AGG_OK) break;
            ASSERT_EQ(AGG_INEXACT, s);
            ASSERT(rep.nodes < full.nodes && rep.nodes <= d.budget);
            ASSERT_EQ(n - f, rep.used);
            ASSERT(rep.diameter >= full.diameter &&
                   rep.diameter <= 2 * full.diameter * (1 + 4 * EPS));
            known += rep.diameter <= full.diameter;
        }
        ASSERT_EQ(full.nodes, rep.nodes);
        report_free(&full);
        report_free(&rep);
        rows_free(&x);
    }
    ASSERTm("no budget ended after the least diameter was found", known > 0);
    PASS();
}

TEST smea_out_of_budget(void) {
    rng r = rng_make(8100);
    rows x = rows_new(12, 4);
    agg_desc d = agg_make_desc(AGG_SMEA, 12, 4, 4);
    agg_report rep = report_new(12);
    agg_real out[4];
    double sum = 0;
    fill_rows(&x, LAY_RANDOM, &r);
    d.budget = 1;
    ASSERT_EQ(AGG_INEXACT, run(&d, x.row, out, &rep));
    ASSERT(all_finite(out, 4));
    for (size_t i = 0; i < 12; i++) sum += rep.weight[i];
    ASSERT_IN_RANGE(1.0, sum, 1e-9);
    ASSERT_EQ((size_t)8, rep.used);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

TEST nodes_are_counted(void) {
    rng r = rng_make(8200);
    rows x = rows_new(16, 2);
    agg_real out[2];
    agg_report rep = report_new(16);
    agg_desc d = agg_make_desc(AGG_SMEA, 16, 2, 3);
    fill_rows(&x, LAY_RANDOM, &r);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT(rep.nodes > 0 && rep.nodes <= 100000);
    d.rule = AGG_MDA;
    hard_rows(&x, &r);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT(rep.nodes <= 100000);
    d.rule = AGG_CWTM;
    rep.nodes = 77;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT_EQ((size_t)0, rep.nodes); /* a rule without a search spends none, and says so */
    report_free(&rep);
    rows_free(&x);
    PASS();
}

SUITE(equality) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const agg_rule rule = rule_at(i);
        if (!has_reference(rule)) continue;
        RUN_RULE(every_layout, rule);
        RUN_RULE(pre_aggregations, rule);
        if (rule != AGG_MEAN) RUN_RULE(every_attack, rule);
        if (!slow_reference(rule) && rule != AGG_MDA) RUN_RULE(many_rows, rule);
        if (rule == AGG_KRUM || rule == AGG_MULTI_KRUM || rule == AGG_BULYAN)
            RUN_RULE(krum_options, rule);
    }
    RUN_TEST(monna_pivots);
    RUN_TEST(cclip_options);
    RUN_TEST(fltrust_trusts_any_row);
    RUN_TEST(fltrust_knows_directions_of_any_length);
    RUN_TEST(options_of_the_peers);
    RUN_TEST(a_vote_that_nobody_wins);
    RUN_TEST(long_rows_of_the_peers);
    RUN_TEST(reference_searches_agree);
    RUN_TEST(mda_more_rows);
    RUN_TEST(mda_more_adversaries_than_far_rows);
    RUN_TEST(mda_several_words);
    RUN_TEST(pre_aggregations_of_giants);
}

SUITE(reports) {
    RUN_TEST(suspicion_is_distance_over_median);
    RUN_TEST(suspicion_survives_extremes);
    RUN_TEST(report_arrays_are_optional);
    RUN_TEST(weights_reproduce_out);
    RUN_TEST(coordinate_weights_sum_to_one_on_ties);
    RUN_TEST(mda_out_of_budget);
    RUN_TEST(mda_budget_may_end_anywhere);
    RUN_TEST(smea_out_of_budget);
    RUN_TEST(nodes_are_counted);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(equality);
    RUN_SUITE(reports);
    printf("%u comparisons with the reference; %u near ties decided by rounding, %u ill-posed "
           "(CAF, Bulyan, DnC, ...)\n",
           compared, near_ties, ill_posed);
    GREATEST_MAIN_END();
}
