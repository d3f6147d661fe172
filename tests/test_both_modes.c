/* The modes of the floating-point unit that a host may have set: the four roundings, and denormals
   flushed to zero, as game engines and audio programs do. In all of them every call ends, stays in
   its memory and gives finite numbers. With denormals flushed ordinary rows keep their bits. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"
#include "saved.h"
#include <fenv.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

/* ---- modes */

typedef struct mode {
    const char *name;
    int rounding, flush;
} mode;

#ifndef FE_TOWARDZERO
#define FE_TOWARDZERO -1 /* the target has none */
#endif
#ifndef FE_DOWNWARD
#define FE_DOWNWARD -1
#endif
#ifndef FE_UPWARD
#define FE_UPWARD -1
#endif

static const mode modes[] = {
    {"to nearest", FE_TONEAREST, 0},        {"toward zero", FE_TOWARDZERO, 0},
    {"downward", FE_DOWNWARD, 0},           {"upward", FE_UPWARD, 0},
    {"denormals flushed", FE_TONEAREST, 1}, {"denormals flushed, toward zero", FE_TOWARDZERO, 1},
};
enum { MODES = sizeof modes / sizeof *modes, NEAREST = 0, FLUSHED = 4 };

/* FTZ and DAZ of SSE; 0: this machine has no such bits */
static int set_flushing(int on) {
#ifdef __SSE2__
    _mm_setcsr(on ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
    return 1;
#else
    return !on;
#endif
}

static int mode_set(const mode *m) {
    return m->rounding >= 0 && !fesetround(m->rounding) && set_flushing(m->flush);
}

static void mode_end(void) {
    fesetround(FE_TONEAREST);
    set_flushing(0);
}

/* A test of one mode, with its name; left out where the machine has not got it. */
#define RUN_MODE(T, m)                                                                             \
    do {                                                                                           \
        const int there = mode_set(m);                                                             \
        mode_end();                                                                                \
        greatest_set_test_suffix((m)->name);                                                       \
        if (there)                                                                                 \
            RUN_TESTp(T, m);                                                                       \
        else                                                                                       \
            RUN_TEST(no_such_mode);                                                                \
    } while (0)

TEST no_such_mode(void) { SKIPm("the machine or its C library has no such mode"); }

/* ---- aggregation */

static agg_desc desc_of(agg_rule rule, agg_pre pre, const rows *x, size_t f, rng *r) {
    agg_desc d = agg_make_desc(rule, x->n, x->dim, f);
    d.pre[0] = pre;
    d.clip = 1;
    d.rng = rng_for_library(r);
    d.budget = 200;
    return d;
}

/* the call in that mode; the rest of a test computes as it always does */
static agg_status run_in(const mode *m, const agg_desc *d, const rows *x, agg_real *out,
                         agg_report *report) {
    agg_status s;
    mode_set(m);
    s = run(d, x->row, out, report);
    mode_end();
    return s;
}

static int report_sane(const agg_report *report, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(report->weight[i]) || isnan(report->suspicion[i])) return 0;
    return !isnan(report->gap) && !isnan(report->diameter);
}

/* every rule behind every pre-aggregation on these rows; 0: fine, else its number + 1 */
static size_t wrong_rule(const mode *m, const rows *x, size_t f, rng *r) {
    agg_real *out = (agg_real *)need(malloc(x->dim * sizeof *out));
    agg_report report = report_new(x->n);
    size_t wrong = 0;
    for (size_t k = 0; k < AGG_RULE_COUNT * AGG_PRE_COUNT && !wrong; k++) {
        const agg_rule rule = rule_at(k % AGG_RULE_COUNT);
        const agg_pre pre = (agg_pre)(k / AGG_RULE_COUNT);
        const agg_desc d = desc_of(rule, pre, x, f, r);
        if (!agg_scratch_size(&d)) continue; /* too few rows for this one */
        if (!wrote(run_in(m, &d, x, out, &report))) wrong = k + 1;
        if (!all_finite(out, x->dim) || !report_sane(&report, x->n)) wrong = k + 1;
    }
    report_free(&report);
    free(out);
    return wrong;
}

static const size_t shapes[][3] = {{3, 1, 1}, {7, 37, 1}, {9, 5, 4}, {12, 300, 2}};

TEST every_rule_ends_and_is_finite(const mode *m) {
    rng r = rng_make(21);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        rows x = rows_new(shapes[s][0], shapes[s][1]);
        for (size_t l = 0; l < LAYOUT_COUNT; l++) {
            fill_rows(&x, (layout)l, &r);
            ASSERT_EQ_FMTm(layout_name((layout)l), (size_t)0, wrong_rule(m, &x, shapes[s][2], &r),
                           "%zu");
        }
        rows_free(&x);
    }
    PASS();
}

/* among them three equal rows, at which GM once turned for ever */
TEST forged_rows_end(const mode *m) {
    rng r = rng_make(22);
    rows x = rows_new(7, 40);
    for (size_t k = 0; k < FORGERY_COUNT; k++) {
        for (size_t i = 0; i < x.n; i++) x.row[i] = rows_at(&x, i);
        fill_rows(&x, LAY_DUPLICATED, &r);
        forge_row(&x, 3, (forgery)k, &r);
        ASSERT_EQ_FMTm(forgery_name((forgery)k), (size_t)0, wrong_rule(m, &x, 1, &r), "%zu");
    }
    rows_free(&x);
    PASS();
}

TEST attacks_and_ratios_end(const mode *m) {
    rng r = rng_make(23);
    rows x = rows_new(6, 20);
    const agg_desc rule = agg_make_desc(AGG_MDA, 6, 20, 2);
    for (size_t l = 0; l < LAYOUT_COUNT; l++) {
        fill_rows(&x, (layout)l, &r);
        for (size_t k = 0; k < AGG_ATTACK_COUNT; k++) {
            agg_attack_desc a;
            agg_real out[20];
            memset(&a, 0, sizeof a);
            a.n = 6;
            a.f = 2;
            a.kind = (agg_attack_kind)k;
            a.rng = rng_for_library(&r);
            a.rule = &rule;
            mode_set(m);
            const agg_status s = run_attack(&a, x.row, x.n, x.dim, x.row[1], out);
            mode_end();
            ASSERT_EQ(AGG_OK, s);
            if (k > AGG_ATTACK_NAN) ASSERTm(layout_name((layout)l), all_finite(out, x.dim));
        }
        double ratio = -1;
        mode_set(m);
        const agg_status s = agg_resilience(x.row, x.n, x.dim, 2, x.row[0], &ratio, NULL);
        mode_end();
        ASSERT_EQ(AGG_OK, s);
        ASSERTm(layout_name((layout)l), ratio >= 0);
    }
    rows_free(&x);
    PASS();
}

/* ---- learning */

TEST trainers_end_their_rounds(const mode *m) {
    static setup s;
    for (int kind = 0; kind < KINDS; kind++) {
        rn_trainer *t = NULL;
        setup_make(&s, kind);
        mode_set(m);
        rn_status status = rn_trainer_create(&t, &s.d);
        for (int i = 0; i < 3 && status == RN_OK; i++) status = rn_trainer_run_round(t);
        mode_end();
        ASSERT_EQ(RN_OK, status);
        ASSERT(all_finite(rn_trainer_theta(t), s.d.policy.dim));
        const bytes state = saved(t);
        mode_set(m);
        status = rn_trainer_load(t, state.at, state.size);
        mode_end();
        ASSERT_EQ(RN_OK, status);
        free(state.at);
        rn_trainer_destroy(t);
    }
    PASS();
}

TEST theory_ends(const mode *m) {
    const rn_assumptions p = {1, 1, 1, 0.9, 0.5, 0.3, 0, 1, 0, 0, 10, 1};
    mode_set(m);
    const double T = rn_theory_trajectories(&p, 1);
    const size_t H = rn_theory_horizon(1e300, 0.999999);
    mode_end();
    ASSERT(T > 0 || T < 0);
    ASSERT(H > 0);
    PASS();
}

/* not a mode of the machine, but a loop that a host could make endless */
static uint64_t always_zero(void *self) {
    (void)self;
    return 0;
}

TEST broken_generators_end(void) {
    const agg_rng zeros = {always_zero, NULL};
    for (size_t n = 1; n < 100; n++) ASSERT_EQ((size_t)0, rn_draw_below(&zeros, n));
    ASSERT(isfinite(rn_draw_normal(&zeros)));
    PASS();
}

/* ---- the same bits, where the rows are ordinary */

TEST flushed_denormals_change_no_bit(void) {
    rng r = rng_make(24), again;
    rows x = rows_new(9, 500);
    agg_real out[2][500];
    for (size_t l = 0; l <= LAY_OFFSET; l++) {
        fill_rows(&x, (layout)l, &r);
        for (size_t k = 0; k < AGG_RULE_COUNT * AGG_PRE_COUNT; k++) {
            agg_desc d =
                desc_of(rule_at(k % AGG_RULE_COUNT), (agg_pre)(k / AGG_RULE_COUNT), &x, 1, &again);
            if (!agg_scratch_size(&d)) continue;
            again = r;
            const agg_status one = run_in(&modes[NEAREST], &d, &x, out[0], NULL);
            again = r;
            const agg_status two = run_in(&modes[FLUSHED], &d, &x, out[1], NULL);
            ASSERT_EQ(one, two);
            ASSERT_MEM_EQm(agg_rule_name(d.rule), out[0], out[1], sizeof out[0]);
        }
    }
    rows_free(&x);
    PASS();
}

SUITE(all_modes) {
    for (size_t i = 0; i < MODES; i++) {
        RUN_MODE(every_rule_ends_and_is_finite, &modes[i]);
        RUN_MODE(forged_rows_end, &modes[i]);
        RUN_MODE(attacks_and_ratios_end, &modes[i]);
        RUN_MODE(trainers_end_their_rounds, &modes[i]);
        RUN_MODE(theory_ends, &modes[i]);
    }
}

SUITE(others) {
    const int flushing = mode_set(&modes[FLUSHED]);
    mode_end();
    RUN_TEST(broken_generators_end);
    if (flushing)
        RUN_TEST(flushed_denormals_change_no_bit);
    else
        RUN_TEST(no_such_mode);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(all_modes);
    RUN_SUITE(others);
    GREATEST_MAIN_END();
}
