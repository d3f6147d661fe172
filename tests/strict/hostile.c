/* Hostile numbers under the flags at hand: compiled and run by tests/strict/run.sh with each set of
   flags that the headers let pass. NaN and Inf are only ever written and read here as integers, so
   that no flag touches the test itself. (What a function returns as a double may not be NaN under
   such flags, not even here: the attack called NaN is not tried.) Prints what went wrong; exits with how much that was. */
#include <stdio.h>
#include <string.h>
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"

#ifdef AGG_DOUBLE
typedef uint64_t word;
#define WORD_NAN 0x7ff8000000000000u
#define WORD_INF 0x7ff0000000000000u
#else
typedef uint32_t word;
#define WORD_NAN 0x7fc00000u
#define WORD_INF 0x7f800000u
#endif
#define SIGN ((word)1 << (8 * sizeof(word) - 1))

enum { N = 7, MOST = 700 };

static int wrong;

static void expect(int good, const char *what, const char *who, const char *with) {
    if (good) return;
    wrong++;
    printf("%s: %s, %s\n", what, who, with);
}

/* ---- numbers as integers */

static void put(agg_real *to, word bits) { memcpy(to, &bits, sizeof bits); }

static void put_double(double *to, uint64_t bits) { memcpy(to, &bits, sizeof bits); }

static const uint64_t double_nan = UINT64_C(0x7ff8000000000000);
static const uint64_t double_inf = UINT64_C(0x7ff0000000000000);

static int finite(const agg_real *x, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        word b;
        memcpy(&b, x + i, sizeof b);
        if ((b & WORD_INF) == WORD_INF) return 0;
    }
    return 1;
}

static int is_infinite(const double *x) {
    uint64_t b;
    memcpy(&b, x, sizeof b);
    return b == double_inf;
}

static int is_zero(const double *x) {
    uint64_t b;
    memcpy(&b, x, sizeof b);
    return b << 1 == 0;
}

typedef struct poison {
    word bits;
    const char *name;
} poison;

static const poison poisons[] = {{WORD_NAN, "NaN"},
                                 {WORD_NAN | SIGN, "-NaN"},
                                 {WORD_INF | 1u, "a signalling NaN"},
                                 {WORD_INF, "Inf"},
                                 {WORD_INF | SIGN, "-Inf"}};
enum { POISONS = sizeof poisons / sizeof *poisons };

/* ---- aggregation */

static agg_real data[N][MOST], out[MOST];
static const agg_real *rows[N];
static double weight[N], suspicion[N];
static char scratch[1 << 20], memory[1 << 20];

static uint64_t next(void *self) {
    uint64_t *s = (uint64_t *)self, z = *s += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

static void fill(uint64_t seed) {
    size_t i, k;
    for (i = 0; i < N; i++) {
        rows[i] = data[i];
        for (k = 0; k < MOST; k++)
            data[i][k] = (agg_real)((double)(int)(next(&seed) % 2001) / 1000 - 1);
    }
}

static agg_status call(agg_rule rule, agg_pre pre, size_t dim, agg_report *report) {
    static uint64_t state;
    agg_desc d = agg_make_desc(rule, N, dim, 1);
    memset(report, 0, sizeof *report);
    report->weight = weight;
    report->suspicion = suspicion;
    d.pre[0] = pre;
    d.clip = 1;
    d.pivot = 1; /* not the row that is poisoned */
    d.rng.next = next;
    d.rng.self = &state;
    return agg_aggregate(&d, rows, out, scratch, sizeof scratch, report);
}

static void one_bad_row(agg_rule rule, agg_pre pre, size_t dim, const poison *p) {
    const size_t places[] = {0, dim / 2, dim - 1};
    const char *name = agg_rule_name(rule);
    size_t i;
    for (i = 0; i < 3; i++) {
        agg_report report;
        agg_status s;
        fill(dim + i);
        put(&data[0][places[i]], p->bits);
        memset(out, 0xff, sizeof out);
        s = call(rule, pre, dim, &report);
        expect(s == AGG_OK || s == AGG_INEXACT, agg_status_text(s), name, p->name);
        expect(finite(out, dim), "out is not finite", name, p->name);
        expect(report.dropped == 1, "not dropped", name, p->name);
        expect(is_zero(weight), "weighs something", name, p->name);
        expect(is_infinite(suspicion), "not suspicious", name, p->name);
    }
}

static void two_bad_rows(agg_rule rule, agg_pre pre, const poison *p) {
    agg_report report;
    fill(3);
    put(&data[2][4], p->bits);
    put(&data[4][2], p->bits);
    expect(call(rule, pre, 37, &report) == AGG_ERR_ROWS, "taken", agg_rule_name(rule), p->name);
}

static void aggregates(void) {
    static const size_t dims[] = {1, 37, 300, MOST};
    size_t rule, pre, d, p;
    for (rule = 0; rule < AGG_RULE_COUNT; rule++)
        for (pre = 0; pre < AGG_PRE_COUNT; pre++)
            for (p = 0; p < POISONS; p++) {
                if (rule == AGG_BULYAN && pre == AGG_PRE_BUCKETING) continue; /* too few rows */
                two_bad_rows((agg_rule)rule, (agg_pre)pre, &poisons[p]);
                for (d = 0; d < sizeof dims / sizeof *dims; d++)
                    one_bad_row((agg_rule)rule, (agg_pre)pre, dims[d], &poisons[p]);
            }
}

static void attacks_and_options(void) {
    agg_attack_desc a;
    agg_desc d = agg_make_desc(AGG_CCLIP, N, 5, 1);
    agg_real start[5] = {0};
    double ratio;
    memset(&a, 0, sizeof a);
    a.n = N;
    a.f = 1;
    a.kind = AGG_ATTACK_GAUSSIAN;
    fill(1);
    put(start + 4, WORD_NAN);
    d.start = start;
    expect(agg_aggregate(&d, rows, out, scratch, sizeof scratch, NULL) == AGG_ERR_ARG, "taken",
           "the start of CClip", "NaN");
    d.start = NULL;
    put_double(&d.tau, double_nan);
    expect(agg_aggregate(&d, rows, out, scratch, sizeof scratch, NULL) == AGG_ERR_ARG, "taken",
           "tau", "NaN");
    d = agg_make_desc(AGG_GM, N, 5, 1);
    put_double(&d.gap, double_nan);
    expect(agg_aggregate(&d, rows, out, scratch, sizeof scratch, NULL) == AGG_ERR_ARG, "taken",
           "gap", "NaN");
    d = agg_make_desc(AGG_MEAN, N, 5, 1);
    d.pre[0] = AGG_PRE_CLIP;
    put_double(&d.clip, double_nan);
    expect(agg_aggregate(&d, rows, out, scratch, sizeof scratch, NULL) == AGG_ERR_ARG, "taken",
           "clip", "NaN");
    put_double(&a.strength, double_nan);
    expect(agg_attack(&a, rows, N, 5, NULL, out) == AGG_ERR_ARG, "taken", "strength", "NaN");
    put(&data[3][3], WORD_NAN);
    expect(agg_resilience(rows, N, 5, 1, data[0], &ratio, NULL) == AGG_ERR_ROWS, "taken",
           "agg_resilience", "NaN");
}

/* ---- the server */

static void serves(agg_rule rule, rn_update_kind update, const poison *p) {
    enum { DIM = 37 };
    rn_server_desc d;
    rn_server *s = NULL;
    rn_progress progress;
    agg_real before[DIM];
    int t;
    memset(&d, 0, sizeof d);
    d.n = N;
    d.dim = DIM;
    d.agg.rule = rule;
    d.agg.f = 1;
    d.agg.pivot = 1;
    d.gamma = rn_schedule_constant(0.1);
    d.eta = rn_schedule_constant(0.5);
    d.update = update;
    d.radius = 2;
    expect(rn_server_init(&s, &d, memory, sizeof memory) == RN_OK, "no server", "", "");
    for (t = 0; t < 3; t++) {
        fill((uint64_t)t);
        put(&data[0][t * 18], p->bits);
        expect(rn_server_update(s, rows, &progress) == RN_OK, "no step", agg_rule_name(rule),
               p->name);
        expect(finite(rn_server_theta(s), DIM), "theta is not finite", agg_rule_name(rule),
               p->name);
        expect(progress.dropped == 1, "not dropped by the server", agg_rule_name(rule), p->name);
    }
    memcpy(before, rn_server_theta(s), sizeof before);
    put(&data[5][3], p->bits);
    expect(rn_server_update(s, rows, NULL) == RN_ERR_AGGREGATE, "stepped", agg_rule_name(rule),
           p->name);
    expect(!memcmp(before, rn_server_theta(s), sizeof before), "theta moved", agg_rule_name(rule),
           p->name);
}

static agg_status own_rule(void *self, const agg_real *const *row, size_t n, size_t dim,
                           agg_real *to) {
    (void)n;
    memcpy(to, row[0], dim * sizeof *to);
    put(to + dim / 2, ((const poison *)self)->bits);
    return AGG_OK;
}

static void serves_own_rule(poison *p) {
    rn_server_desc d;
    rn_server *s = NULL;
    memset(&d, 0, sizeof d);
    d.n = N;
    d.dim = 37;
    d.aggregate = own_rule;
    d.aggregate_self = p;
    d.gamma = rn_schedule_constant(0.1);
    d.eta = rn_schedule_constant(0.5);
    expect(rn_server_init(&s, &d, memory, sizeof memory) == RN_OK, "no server", "", "");
    fill(1);
    expect(rn_server_update(s, rows, NULL) == RN_ERR_AGGREGATE, "stepped", "own rule", p->name);
    expect(finite(rn_server_theta(s), 37), "theta is not finite", "own rule", p->name);
}

static rn_status server_with(size_t field) { /* that number of the desc is NaN */
    rn_server_desc d;
    rn_server *s = NULL;
    double *const fields[] = {&d.beta1,       &d.beta2,     &d.epsilon,   &d.radius,
                              &d.gamma.value, &d.gamma.end, &d.eta.value, &d.eta.factor};
    memset(&d, 0, sizeof d);
    d.n = N;
    d.dim = 5;
    d.agg.f = 1;
    d.gamma = rn_schedule_linear(0.1, 0.2, 3);
    d.eta = rn_schedule_staircase(0.5, 0.5, 3);
    put_double(fields[field], double_nan);
    return rn_server_init(&s, &d, memory, sizeof memory);
}

static void servers(void) {
    size_t rule, update, p;
    poison bad;
    for (rule = 0; rule < AGG_RULE_COUNT; rule++)
        for (p = 0; p < POISONS; p++) serves((agg_rule)rule, RN_UPDATE_NORMALISED, &poisons[p]);
    for (update = 0; update <= RN_UPDATE_ADAM_NORMALISED; update++)
        for (p = 0; p < POISONS; p++) serves(AGG_MEAN, (rn_update_kind)update, &poisons[p]);
    for (p = 0; p < POISONS; p++) {
        bad = poisons[p];
        serves_own_rule(&bad);
    }
    for (p = 0; p < 8; p++)
        expect(server_with(p) == RN_ERR_DESC, "taken", "an option of the server", "NaN");
}

/* ---- the agent: an environment and a policy that give bad numbers when told to */

enum { HONEST, BAD_RESET, BAD_OBS, BAD_REWARD, BAD_ACT, BAD_GRAD, BAD_ENDS };

typedef struct world {
    int bad;
    word bits;
} world;

static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    const world *w = (const world *)self;
    obs[0] = (rn_real)rn_draw_uniform(rng);
    obs[1] = 1;
    if (w->bad == BAD_RESET) put(obs + 1, w->bits);
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    const world *w = (const world *)self;
    obs[0] = (rn_real)rn_draw_uniform(rng);
    obs[1] = 1;
    *reward = (double)act[0];
    if (w->bad == BAD_OBS) put(obs, w->bits);
    if (w->bad == BAD_REWARD) put_double(reward, w->bits & SIGN ? double_inf : double_nan);
    return RN_RUNNING;
}

static void act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *rng,
                rn_real *a, void *work) {
    const world *w = (const world *)self;
    (void)work;
    *a = theta[0] * obs[0] + (rn_real)rn_draw_normal(rng);
    if (w->bad == BAD_ACT) put(a, w->bits);
}

static void grad(void *self, const rn_real *theta, size_t T, const rn_real *obs, const rn_real *a,
                 const rn_real *weights, rn_real *g, void *work) {
    const world *w = (const world *)self;
    size_t t;
    (void)work;
    for (t = 0; t < T; t++) g[0] += weights[t] * (a[t] - theta[0] * obs[2 * t]) * obs[2 * t];
    if (w->bad == BAD_GRAD) put(g, w->bits);
}

static rn_agent *agent_make(world *w) {
    rn_agent_desc d;
    rn_agent *a = NULL;
    memset(&d, 0, sizeof d);
    d.env.self = d.policy.self = w;
    d.env.reset = reset;
    d.env.step = step;
    d.env.obs_dim = d.policy.obs_dim = 2;
    d.env.act_dim = d.policy.act_dim = 1;
    d.policy.dim = 1;
    d.policy.act = act;
    d.policy.grad = grad;
    d.method.horizon = 5;
    d.method.discount = 0.9;
    expect(rn_agent_init(&a, &d, memory, sizeof memory) == RN_OK, "no agent", "", "");
    return a;
}

static void agents(void) {
    static const rn_status wanted[] = {RN_OK,      RN_ERR_ENV,    RN_ERR_ENV,
                                       RN_ERR_ENV, RN_ERR_POLICY, RN_ERR_POLICY};
    rn_real theta = 0;
    double eta;
    size_t p;
    world w;
    for (w.bad = HONEST; w.bad < BAD_ENDS; w.bad++) {
        for (p = 0; p < POISONS; p++) {
            w.bits = poisons[p].bits;
            theta = 0;
            expect(rn_agent_run_round(agent_make(&w), &theta, 0.5) == wanted[w.bad],
                   "another status", "an agent", poisons[p].name);
            if (w.bad) continue;
            put(&theta, w.bits);
            expect(rn_agent_run_round(agent_make(&w), &theta, 0.5) == RN_ERR_THETA, "taken",
                   "theta", poisons[p].name);
        }
    }
    theta = 0;
    put_double(&eta, double_nan);
    w.bad = HONEST;
    expect(rn_agent_run_round(agent_make(&w), &theta, eta) == RN_ERR_THETA, "taken", "eta", "NaN");
}

/* ---- saved states: a NaN in the place of each number, sealed again */

static void reseal(unsigned char *at, size_t size) {
    uint32_t crc = 0xffffffffu;
    size_t i;
    int b;
    for (i = 0; i + 8 < size; i++) {
        crc ^= at[i];
        for (b = 0; b < 8; b++) crc = crc & 1u ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
    }
    for (i = 0; i < 4; i++) at[size - 8 + i] = (unsigned char)(~crc >> (8 * i));
}

/* Whatever is written over the bytes: refused, or loaded and still without a NaN. */
static void loads(void) {
    static unsigned char good[4096], bad[4096];
    world w = {HONEST, 0};
    rn_real theta = 1;
    rn_agent *a = agent_make(&w);
    size_t size, at, refused = 0;
    expect(rn_agent_run_round(a, &theta, 0.5) == RN_OK, "no round", "an agent", "");
    size = rn_agent_save_size(a);
    expect(size <= sizeof good && rn_agent_save(a, good, size) == RN_OK, "not saved", "", "");
    for (at = 0; at + 8 + sizeof(word) <= size; at += 4) {
        const word bits = WORD_NAN;
        size_t k;
        memcpy(bad, good, size);
        for (k = 0; k < sizeof bits; k++) bad[at + k] = (unsigned char)(bits >> (8 * k));
        reseal(bad, size);
        refused += rn_agent_load(a, bad, size) != RN_OK;
        expect(finite(rn_agent_direction(a), 1), "d is not finite", "a loaded agent", "NaN");
    }
    expect(refused >= 3, "no NaN was refused", "loading", "");
    expect(rn_agent_load(a, good, size) == RN_OK, "refused", "the saved state", "");
}

int main(void) {
    aggregates();
    attacks_and_options();
    servers();
    agents();
    loads();
    return wrong > 100 ? 100 : wrong;
}
