/* What resnharpg.h allows and hardly anybody does, and it works: what is left out, nets of odd
   shapes, a discount of 0, a host's own policies, sums that overflow, attacks with their own
   numbers, ends of ranges. What it does not allow is in test_rn_misuse.c. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

enum { DIM = 32 };

/* ---- what is left out gets its default */
TEST defaults(void) {
    static trio c;
    static unsigned char block[1 << 20];
    rn_agent *a;
    rn_evaluation_desc ed;
    rn_evaluation e;
    rn_real theta[DIM] = {0};
    trio_make(&c, 1);
    c.a.method.horizon = 0; /* 1000 */
    ASSERT(rn_agent_size(&c.a) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &c.a, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 1));
    memset(&ed, 0, sizeof ed); /* 10 trajectories */
    ASSERT_EQ(RN_OK, rn_evaluate(&ed, &c.envs[0], &c.p.policy, theta, block, sizeof block, &e));
    ASSERT(e.length >= 1);
    PASS();
}

/* ---- shapes of a net that are rare: no state of the deviation is free, no bias to start it
   with */
TEST rare_nets(void) {
    rn_net net;
    rn_net_desc nd = rn_make_net_desc(1, 1);
    unsigned char work[2048];
    rn_random random = rn_make_random(3, 0);
    const agg_rng r = rn_random_rng(&random);
    rn_real theta[8] = {0}, obs[1] = {1}, act = 0;
    rn_policy p;
    nd.gaussian = nd.state_std = nd.no_bias = 1;
    nd.log_std = 5;
    nd.log_std_max = 1; /* 0 .. 1 */
    p = rn_make_net_policy(&net, &nd);
    ASSERT_EQ((size_t)2, p.dim);
    p.init(p.self, &r, theta);
    ASSERT(fabs((double)theta[0]) <= 0.1 * sqrt(3) + 1e-6 &&
           fabs((double)theta[1]) <= 0.1 * sqrt(3) + 1e-6);
    ASSERT(rn_policy_work_size(&p, 0) <= sizeof work);
    ASSERT_EQ(RN_OK, rn_policy_act(&p, theta, obs, &r, &act, work, sizeof work));
    ASSERT(isfinite(act));
    PASS();
}

/* discount 0: after the first step nothing counts, and the ridge baseline learns nothing from it */
TEST no_future(void) {
    static trio c;
    rn_trainer *t;
    trio_make(&c, 0);
    c.d.method.baseline = RN_BASELINE_RIDGE;
    c.d.method.discount = 0;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    for (int i = 0; i < 4; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT(all_finite(rn_trainer_theta(t), c.p.policy.dim));
    rn_trainer_destroy(t);
    PASS();
}

/* looking so far ahead that no number is so large: the end of the range, and the round may fail,
   but d and theta stay finite; eta 0 looks nowhere */
TEST far_ahead(void) {
    static const double etas[] = {1e-3, 1e-30, 0, 4.9406564584124654e-324};
    static trio c;
    rn_agent_desc d;
    rn_agent *a;
    void *block;
    rn_real theta[64];
    trio_make(&c, 0);
    memset(&d, 0, sizeof d);
    d.env = c.d.envs[0];
    d.policy = c.d.policy;
    d.method = c.d.method;
    d.method.reuse = 0;
    d.method.lookahead = 1;
    ASSERT(c.p.policy.dim <= 64);
    block = need(malloc(rn_agent_size(&d)));
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, rn_agent_size(&d)));
    for (size_t k = 0; k < 12; k++) {
        const double size = k % 2 ? (double)REAL_MAX / 4 : 1e-3;
        rn_status s;
        for (size_t i = 0; i < c.p.policy.dim; i++) theta[i] = (rn_real)(i % 2 ? size : -size);
        s = rn_agent_run_round(a, theta, etas[k % 4]);
        ASSERT(s == RN_OK || s == RN_ERR_POLICY);
        if (rn_agent_direction(a)) ASSERT(all_finite(rn_agent_direction(a), c.p.policy.dim));
    }
    free(block);
    PASS();
}

/* Agents that fail before their first step use nothing of a tick; and a tick of 0 does nothing, not
   even the end of a round. */
static void no_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    (void)r;
    obs[0] = (rn_real)NAN;
}

TEST ticks_of_nothing(int broken) {
    static trio c;
    rn_trainer *t;
    rn_status s = RN_MORE;
    trio_make(&c, 0);
    c.d.policy.hvp = NULL; /* a host's policy: one agent at a time */
    for (size_t i = 0; broken && i < TRIO; i++) c.envs[i].reset = no_reset;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    for (int i = 0; i < 10000 && s == RN_MORE; i++) {
        ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 0, NULL));
        s = rn_trainer_tick(t, 1, NULL);
    }
    ASSERT_EQ(broken ? RN_ERR_AGGREGATE : RN_OK, s);
    rn_trainer_destroy(t);
    PASS();
}

/* ---- the scale of rewards does not matter: with a power of two not even to the last bit */
typedef struct paid {
    rn_env env;
    double scale;
} paid;

static void paid_reset(void *self, const agg_rng *r, rn_real *obs) {
    paid *p = (paid *)self;
    p->env.reset(p->env.self, r, obs);
}

static rn_step_result paid_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    paid *p = (paid *)self;
    const rn_step_result result = p->env.step(p->env.self, act, r, obs, reward);
    *reward *= p->scale;
    return result;
}

TEST reward_scale_does_not_matter(int recipe) {
    static trio c;
    rn_real theta[DIM];
    for (int k = 0; k < 2; k++) {
        rn_trainer *t;
        paid pay[TRIO];
        rn_env envs[TRIO];
        rn_trainer_desc d;
        trio_make(&c, 0);
        for (size_t i = 0; i < TRIO; i++) {
            pay[i].env = envs[i] = c.envs[i];
            pay[i].scale = k ? 1024 : 1;
            envs[i].self = &pay[i];
            envs[i].reset = paid_reset;
            envs[i].step = paid_step;
            envs[i].state_size = 0;
        }
        d = recipe ? rn_make_tuned_trainer_desc(TRIO, 1, envs, c.p.policy, 0)
                   : rn_make_trainer_desc(TRIO, 1, envs, c.p.policy);
        d.method.horizon = 4;
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &d));
        for (int i = 0; i < 20; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        if (k == 0) memcpy(theta, rn_trainer_theta(t), c.p.policy.dim * sizeof *theta);
        ASSERT(same_bits(theta, rn_trainer_theta(t), c.p.policy.dim));
        rn_trainer_destroy(t);
    }
    PASS();
}

/* a search that ends early is not an error: the step is made, and the progress says so */
TEST inexact_is_good_enough(void) {
    enum { n = 13, dim = 4 };

    rows x = rows_new(n, dim);
    rng r = rng_make(77);
    rn_server_desc d;
    rn_server *s;
    rn_progress p;
    size_t inexact = 0;
    void *block;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = dim;
    d.agg.rule = AGG_SMEA;
    d.agg.f = 6;
    d.agg.budget = 1;
    d.gamma = d.eta = rn_schedule_constant(0.1);
    block = need(malloc(rn_server_size(&d)));
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    for (int i = 0; i < 5; i++) {
        fill_rows(&x, LAY_RANDOM, &r);
        ASSERT_EQ(RN_OK, rn_server_update(s, x.row, &p));
        inexact += p.aggregate == AGG_INEXACT;
    }
    ASSERT(inexact > 0);
    free(block);
    rows_free(&x);
    PASS();
}

/* ---- adversaries that act at random where actions are numbers */
typedef struct slide {
    double low, high, least, most;
} slide;

static void slide_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    (void)r;
    obs[0] = 0;
}

static rn_step_result slide_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    slide *s = (slide *)self;
    (void)r;
    for (int k = 0; k < 2; k++) {
        s->least = fmin(s->least, (double)act[k]);
        s->most = fmax(s->most, (double)act[k]);
    }
    obs[0] = 0;
    *reward = 1;
    return RN_RUNNING;
}

TEST random_actions_fill_their_range(double low, double high) {
    static unsigned char block[1 << 16];
    slide s = {0, 0, DBL_MAX, -DBL_MAX};
    const int unset = !(low < high);
    rn_net net;
    rn_net_desc nd = rn_make_net_desc(1, 2);
    rn_agent_desc d;
    rn_agent *a;
    rn_real theta[8] = {0};
    nd.gaussian = 1;
    memset(&d, 0, sizeof d);
    d.policy = rn_make_net_policy(&net, &nd);
    d.env.self = &s;
    d.env.reset = slide_reset;
    d.env.step = slide_step;
    d.env.obs_dim = 1;
    d.env.act_dim = 2;
    d.env.act_low = low;
    d.env.act_high = high;
    d.method.horizon = 200;
    d.random_action = 1;
    ASSERT(rn_agent_size(&d) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 1));
    if (unset) {
        low = -1;
        high = 1;
    }
    ASSERT(s.least >= low && s.most <= high);
    ASSERT(s.least < low + 0.05 * (high - low) && s.most > high - 0.05 * (high - low));
    PASS();
}

/* ---- tables: a state that is none of theirs makes a NaN, which is noticed */
TEST states_outside_the_table(void) {
    static const rn_real outside[] = {-1, STATES, (rn_real)0.5, (rn_real)1e9, (rn_real)NAN};
    rn_table table;
    const rn_policy p = rn_make_table_policy(&table, STATES, ACTIONS);
    for (size_t i = 0; i < 5; i++) {
        unsigned char work[512];
        rn_real theta[DIM] = {0}, g[DIM] = {0}, u[DIM] = {0}, h[DIM] = {0}, act = 7, c = 0;
        const rn_real one = 1;
        ASSERT(rn_policy_work_size(&p, 1) <= sizeof work);
        ASSERT_EQ(RN_ERR_ENV, rn_policy_act(&p, theta, &outside[i], NULL, &act, work, sizeof work));
        ASSERT(act >= 7 && act <= 7);
        p.act(p.self, theta, &outside[i], NULL, &act, work);
        ASSERT(isnan(act));
        act = 0;
        p.grad(p.self, theta, 1, &outside[i], &act, &one, g, work);
        p.dot(p.self, theta, u, 1, &outside[i], &act, &c, work);
        p.hvp(p.self, theta, u, 1, &outside[i], &act, &one, &one, h, work);
        ASSERT(isnan(g[0]) && isnan(c) && isnan(h[0]));
    }
    PASS();
}

/* an environment of three steps that gives a state of the test's own at one of them */
typedef struct lost {
    size_t step, odd_at;
    rn_real odd;
} lost;

static void lost_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)r;
    ((lost *)self)->step = 0;
    obs[0] = 0;
}

static rn_step_result lost_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    lost *l = (lost *)self;
    (void)act;
    (void)r;
    *reward = 1;
    obs[0] = ++l->step == l->odd_at ? l->odd : 1;
    return l->step < 3 ? RN_RUNNING : RN_TERMINATED;
}

/* before the end it ends the round, actions at random or not; the last one is never used */
TEST environments_outside_the_table(int random_action) {
    static unsigned char block[1 << 14], scratch[1 << 14];
    static const rn_real outside[] = {STATES, -1, (rn_real)0.5, (rn_real)1e9};
    const rn_real theta[STATES * ACTIONS] = {0};
    rn_table table;
    rn_agent_desc d;
    rn_evaluation_desc exam;
    rn_evaluation result;
    rn_agent *a;
    lost l;
    memset(&l, 0, sizeof l);
    memset(&d, 0, sizeof d);
    d.policy = rn_make_table_policy(&table, STATES, ACTIONS);
    d.env.self = &l;
    d.env.reset = lost_reset;
    d.env.step = lost_step;
    d.env.obs_dim = d.env.act_dim = 1;
    d.env.actions = ACTIONS;
    d.method.horizon = 10;
    d.random_action = random_action;
    ASSERT(rn_agent_size(&d) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, sizeof block));
    for (size_t i = 0; i < 12; i++) {
        l.odd = outside[i / 3];
        l.odd_at = 1 + i % 3;
        ASSERT_EQ(l.odd_at < 3 ? RN_ERR_ENV : RN_OK, rn_agent_run_round(a, theta, 1));
    }
    ASSERT_EQ((uint64_t)4, rn_agent_stats(a).rounds);
    memset(&exam, 0, sizeof exam);
    l.odd_at = 1;
    ASSERT(rn_evaluate_scratch_size(&d.env, &d.policy) <= sizeof scratch);
    ASSERT_EQ(RN_ERR_ENV,
              rn_evaluate(&exam, &d.env, &d.policy, theta, scratch, sizeof scratch, &result));
    PASS();
}

/* ---- a host's own policy: act and grad, no work; differences of grad along nothing are nothing */
static void own_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                    rn_real *act, void *work) {
    (void)self;
    (void)theta;
    (void)obs;
    (void)r;
    (void)work;
    act[0] = 1;
}

static void own_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                     const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    (void)self;
    (void)obs;
    (void)act;
    (void)work;
    for (size_t t = 0; t < T; t++) g[0] += w[t] * theta[0];
}

TEST own_policies(void) {
    static trio c;
    unsigned char block[4096];
    rn_policy p;
    rn_real x[4] = {2, 0, 0, 0}, u[1] = {0}, v[1] = {0}, k[2], cc[2], tmp[3], obs[4] = {0},
            act[2] = {1, 1};
    const rn_real w[2] = {3, 4};
    const rn_hessian_product b = {&p, x, u, 2, obs, act, w, 0, k, cc, tmp, NULL, 0, 0};
    rn_evaluation_desc ed;
    rn_evaluation e;
    trio_make(&c, 0);
    memset(&p, 0, sizeof p);
    memset(&ed, 0, sizeof ed);
    p.dim = 1;
    p.obs_dim = FEATURES;
    p.act_dim = 1;
    p.actions = ACTIONS;
    p.act = own_act;
    p.grad = own_grad;
    ASSERT(rn_policy_work_size(&p, 5) > 0);
    ASSERT_EQ(RN_OK, rn_policy_act(&p, x, obs, NULL, act, NULL, 0));
    rn_add_hessian_product(&b, v);
    ASSERT(v[0] >= 0 && v[0] <= 0); /* u = 0 */
    u[0] = (rn_real)0.5; /* c_t = theta u = 1; sum w sum c theta + sum w u = 7 * 2 * 2 + 7/2 */
    rn_add_hessian_product(&b, v);
    ASSERT(fabs((double)v[0] - 31.5) < 0.05);
    ASSERT(rn_evaluate_scratch_size(&c.envs[0], &p) > 0 &&
           rn_evaluate_scratch_size(&c.envs[0], &p) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_evaluate(&ed, &c.envs[0], &p, x, block, sizeof block, &e));
    /* no init: theta starts at 0; saved in the middle of a trajectory without prepare */
    c.d.policy = p;
    {
        rn_trainer *t;
        unsigned char *bytes;
        size_t size;
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
        ASSERT(rn_trainer_theta(t)[0] >= 0 && rn_trainer_theta(t)[0] <= 0);
        (void)rn_trainer_tick(t, 1, NULL);
        size = rn_trainer_save_size(t);
        bytes = (unsigned char *)need(malloc(size));
        ASSERT_EQ(RN_OK, rn_trainer_save(t, bytes, size));
        ASSERT_EQ(RN_OK, rn_trainer_load(t, bytes, size));
        free(bytes);
        rn_trainer_destroy(t);
    }
    PASS();
}

/* finite, but not their sum: the agent keeps its d, and goes on */
static void steep_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                       const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    (void)self;
    (void)theta;
    (void)T;
    (void)obs;
    (void)act;
    (void)w;
    (void)work;
    g[0] += REAL_MAX * (rn_real)0.9;
}

static void flat_dot(void *self, const rn_real *theta, const rn_real *u, size_t T,
                     const rn_real *obs, const rn_real *act, rn_real *c, void *work) {
    (void)self;
    (void)theta;
    (void)u;
    (void)obs;
    (void)act;
    (void)work;
    for (size_t t = 0; t < T; t++) c[t] = 0;
}

static void steep_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                      const rn_real *obs, const rn_real *act, const rn_real *w, const rn_real *k,
                      rn_real *h, void *work) {
    (void)u;
    (void)k;
    steep_grad(self, theta, T, obs, act, w, h, work);
}

TEST sums_that_overflow(void) {
    static trio c;
    static unsigned char block[1 << 14];
    rn_agent *a;
    rn_real theta = 0;
    const double kept = (double)(REAL_MAX * (rn_real)0.9);
    trio_make(&c, 0);
    memset(&c.a.policy, 0, sizeof c.a.policy);
    c.a.policy.dim = c.a.policy.act_dim = 1;
    c.a.policy.obs_dim = FEATURES;
    c.a.policy.actions = ACTIONS;
    c.a.policy.act = own_act;
    c.a.policy.grad = steep_grad;
    c.a.policy.dot = flat_dot;
    c.a.policy.hvp = steep_hvp;
    ASSERT(rn_agent_size(&c.a) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &c.a, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, &theta, 0.5));
    theta = 1;
    ASSERT_EQ(RN_ERR_POLICY, rn_agent_run_round(a, &theta, 0.5)); /* d + v */
    ASSERT((double)rn_agent_direction(a)[0] >= kept && (double)rn_agent_direction(a)[0] <= kept);
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, &theta, 1)); /* v does not count */
    PASS();
}

/* a host that plays with a trainer's agent behind its back: what it has then cannot be saved, and
   says so */
TEST agents_begun_by_hand(void) {
    static trio c;
    rn_trainer *t;
    unsigned char bytes[64];
    trio_make(&c, 0);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_OK, rn_agent_begin_round(rn_trainer_agent(t, 1), rn_trainer_theta(t), 0.5));
    ASSERT_EQ((size_t)0, rn_trainer_save_size(t));
    ASSERT_EQ(RN_ERR_MEMORY, rn_trainer_save(t, bytes, sizeof bytes));
    rn_trainer_destroy(t);
    PASS();
}

/* ---- adversaries with their own numbers, and one that fails at its own attack */
TEST attacks_with_their_own_numbers(void) {
    static trio c;
    rn_trainer *t;
    rn_attack l;
    rng r = rng_make(4);
    trio_make(&c, 0);
    c.d.server.agg.f = 1;
    memset(&l, 0, sizeof l);
    l.vector.kind = AGG_ATTACK_ALIE;
    l.vector.n = 9;
    l.vector.f = 2;
    l.vector.rng = rng_for_library(&r);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 2, &l));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ((size_t)0, rn_trainer_progress(t)->dropped);
    l.vector.f = 8; /* more than half of 9: no such attack, so nothing is sent */
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 2, &l));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ((size_t)1, rn_trainer_progress(t)->dropped);
    rn_trainer_destroy(t);
    PASS();
}

/* ---- theory: a target that no number of trajectories reaches, and one that is reached at once */
TEST targets_out_of_reach(void) {
    rn_assumptions p;
    memset(&p, 0, sizeof p);
    p.G1 = p.G2 = p.R = p.muF = 1;
    p.n = 1;
    ASSERT(rn_theory_trajectories(&p, 1e-200) <= -1);
    /* beyond whole numbers of a double */
    ASSERT(rn_theory_trajectories(&p, 1e-8) > 4503599627370496.0);
    ASSERT(rn_theory_trajectories(&p, 1e200) >= 2 && rn_theory_trajectories(&p, 1e200) <= 2);
    ASSERT_EQ((size_t)1000000000, rn_theory_horizon(1e300, 1 - DBL_EPSILON));
    ASSERT_EQ((size_t)0, rn_theory_horizon((double)INFINITY, 0.5));
    ASSERT_EQ((size_t)0, rn_theory_horizon(-1, 0.5));
    PASS();
}

SUITE(corners) {
    RUN_TEST(defaults);
    RUN_TEST(rare_nets);
    RUN_TEST(no_future);
    RUN_TEST(far_ahead);
    RUN_TESTp(ticks_of_nothing, 0);
    RUN_TESTp(ticks_of_nothing, 1);
    RUN_TESTp(reward_scale_does_not_matter, 0);
    RUN_TESTp(reward_scale_does_not_matter, 1);
    RUN_TEST(inexact_is_good_enough);
    RUN_TESTp(random_actions_fill_their_range, 0, 0);
    RUN_TESTp(random_actions_fill_their_range, -3, 5);
    RUN_TESTp(random_actions_fill_their_range, 0, 2);
    RUN_TEST(states_outside_the_table);
    RUN_TESTp(environments_outside_the_table, 0);
    RUN_TESTp(environments_outside_the_table, 1);
    RUN_TEST(own_policies);
    RUN_TEST(sums_that_overflow);
    RUN_TEST(agents_begun_by_hand);
    RUN_TEST(attacks_with_their_own_numbers);
    RUN_TEST(targets_out_of_reach);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(corners);
    GREATEST_MAIN_END();
}
