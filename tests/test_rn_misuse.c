/* Misuse of resnharpg.h: environments and policies that break their contract, agents that send
   anything, descs out of range, nothing where something is expected, sizes that do not fit. Each
   ends in its documented status, and a run goes on. What is allowed but rare is in
   test_rn_corners.c. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

enum { N = 5, DIM = 32 };

static unsigned reached[RN_STATUS_COUNT]; /* all of RN_STATUS_LIST must come up in this file */

static rn_status note(rn_status s) {
    if ((unsigned)s < RN_STATUS_COUNT) reached[s]++;
    return s;
}

typedef struct fault { /* around a walk: from its `from`-th step on, until `to` */
    walk walk;
    int kind;
    unsigned steps, from, to;
} fault;

enum {
    NONE,
    REWARD_NAN,
    REWARD_INF,
    OBS_NAN,
    OBS_INF,
    RESULT_UNKNOWN,
    RESULT_NEGATIVE,
    NEVER_ENDS,
    RESET_NAN,
    REWARD_GIANT
};

static int fault_now(const fault *f, int kind) {
    return f->kind == kind && f->steps >= f->from && f->steps < f->to;
}

static void fault_reset(void *self, const agg_rng *r, rn_real *obs) {
    fault *f = (fault *)self;
    walk_reset(&f->walk, r, obs);
    if (fault_now(f, RESET_NAN)) obs[0] = (rn_real)NAN;
}

static rn_step_result fault_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    fault *f = (fault *)self;
    rn_step_result result = walk_step(&f->walk, act, r, obs, reward);
    f->steps++;
    if (fault_now(f, REWARD_NAN)) *reward = (double)NAN;
    if (fault_now(f, REWARD_INF)) *reward = -(double)INFINITY;
    if (fault_now(f, REWARD_GIANT)) *reward = (double)REAL_MAX;
    if (fault_now(f, OBS_NAN)) obs[0] = (rn_real)NAN;
    if (fault_now(f, OBS_INF)) obs[0] = (rn_real)INFINITY;
    if (fault_now(f, RESULT_UNKNOWN)) result = (rn_step_result)3;
    if (fault_now(f, RESULT_NEGATIVE)) result = (rn_step_result)-1;
    if (fault_now(f, NEVER_ENDS)) result = RN_RUNNING;
    return result;
}

static rn_env fault_env(fault *f, const mdp *m, int table) {
    rn_env e;
    memset(f, 0, sizeof *f);
    f->to = 1u << 30;
    e = walk_env(&f->walk, m, table);
    e.self = f;
    e.reset = fault_reset;
    e.step = fault_step;
    e.state_size = 0;
    return e;
}

/* a policy that is bad on purpose, around a good one */
typedef struct bad_policy {
    rn_policy good;
    int kind;
    unsigned calls, from, to;
} bad_policy;

enum {
    ACT_NAN = 1,
    ACT_NEGATIVE,
    ACT_TOO_LARGE,
    ACT_FRACTION,
    ACT_INF,
    GRAD_NAN,
    GRAD_INF,
    HVP_NAN
};

static int bad_now(bad_policy *b, int kind) {
    return b->kind == kind && b->calls >= b->from && b->calls < b->to;
}

static void bad_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                    rn_real *act, void *work) {
    bad_policy *b = (bad_policy *)self;
    inner_act(self, theta, obs, r, act, work);
    b->calls++;
    if (bad_now(b, ACT_NAN)) act[0] = (rn_real)NAN;
    if (bad_now(b, ACT_NEGATIVE)) act[0] = -1;
    if (bad_now(b, ACT_TOO_LARGE)) act[0] = (rn_real)ACTIONS;
    if (bad_now(b, ACT_FRACTION)) act[0] = (rn_real)0.5;
    if (bad_now(b, ACT_INF)) act[0] = (rn_real)INFINITY;
}

static void bad_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                     const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    bad_policy *b = (bad_policy *)self;
    inner_grad(self, theta, T, obs, act, w, g, work);
    if (bad_now(b, GRAD_NAN)) g[0] = (rn_real)NAN;
    if (bad_now(b, GRAD_INF)) g[b->good.dim - 1] = (rn_real)INFINITY;
}

static void bad_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                    const rn_real *obs, const rn_real *act, const rn_real *w, const rn_real *k,
                    rn_real *h, void *work) {
    bad_policy *b = (bad_policy *)self;
    inner_hvp(self, theta, u, T, obs, act, w, k, h, work);
    if (bad_now(b, HVP_NAN)) h[1] = (rn_real)NAN;
}

static rn_policy bad_make(bad_policy *b, const rn_policy *good) {
    rn_policy p;
    memset(b, 0, sizeof *b);
    b->good = *good;
    b->to = 1u << 30;
    p = policy_around(b);
    p.act = bad_act;
    p.grad = bad_grad;
    p.hvp = bad_hvp;
    return p;
}

typedef struct stage {
    mdp m;
    model p;
    fault faults[N];
    rn_env envs[N];
    bad_policy bad;
    rn_real theta[DIM];
    rn_trainer_desc d;
} stage;

static void stage_make(stage *s, int table) {
    const rn_net_desc net = net_desc(FEATURES, ACTIONS, 3, 0, RN_TANH);
    rng r = rng_make(12);
    memset(s, 0, sizeof *s);
    s->m = mdp_random(80);
    model_for_walk(&s->p, table, &net);
    for (size_t i = 0; i < N; i++) s->envs[i] = fault_env(&s->faults[i], &s->m, table);
    fill_normal(s->theta, s->p.policy.dim, &r, 0, 0.5);
    s->d.agents = N;
    s->d.envs = s->envs;
    s->d.policy = bad_make(&s->bad, &s->p.policy);
    s->d.method.horizon = 6;
    s->d.method.discount = 0.9;
    s->d.server.agg.f = 1;
    s->d.server.theta = s->theta;
    s->d.server.eta = rn_schedule_constant(0.5);
    s->d.server.gamma = rn_schedule_constant(0.1);
}

/* ---- environments: one agent's environment goes wrong in rounds 2 and 3 */
TEST bad_environments_cost_their_agent_the_round(int kind, int table) {
    static stage s;
    rn_trainer *t;
    rn_agent *a;
    rn_real kept[DIM];
    stage_make(&s, table);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    a = rn_trainer_agent(t, 2);
    ASSERT_EQ(RN_OK, note(rn_trainer_run_round(t)));
    memcpy(kept, rn_agent_direction(a), s.p.policy.dim * sizeof *kept);
    s.faults[2].kind = kind;
    for (int round = 0; round < 2; round++) {
        const rn_stats before = rn_agent_stats(a);
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t)); /* f = 1 is enough for it */
        if (note(rn_trainer_agent_status(t, 2)) != RN_ERR_ENV)
            FAILm(WHY("kind %d: %s", kind, rn_status_text(rn_trainer_agent_status(t, 2))));
        ASSERT_EQ((size_t)1, rn_trainer_progress(t)->dropped);
        ASSERT(isinf(rn_trainer_progress(t)->suspicion[2]));
        ASSERT(same_bits(kept, rn_agent_direction(a), s.p.policy.dim));
        ASSERT_EQ(before.rounds, rn_agent_stats(a).rounds);
        ASSERT(all_finite(rn_trainer_theta(t), s.p.policy.dim));
    }
    s.faults[2].kind = NONE;
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(RN_OK, rn_trainer_agent_status(t, 2));
    ASSERT_EQ((size_t)0, rn_trainer_progress(t)->dropped);
    ASSERT(!same_bits(kept, rn_agent_direction(a), s.p.policy.dim));
    rn_trainer_destroy(t);
    PASS();
}

TEST endless_environments_are_cut(void) {
    static stage s;
    rn_trainer *t;
    stage_make(&s, 0);
    for (size_t i = 0; i < N; i++) s.faults[i].kind = NEVER_ENDS;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ((uint64_t)(N * 6 * 5), rn_trainer_progress(t)->env_steps);
    ASSERT(rn_trainer_progress(t)->mean_length >= 6 && rn_trainer_progress(t)->mean_length <= 6);
    rn_trainer_destroy(t);
    PASS();
}

TEST giant_rewards_never_reach_theta(void) {
    static stage s;
    rn_trainer *t;
    stage_make(&s, 0);
    for (size_t i = 0; i < N; i++) s.faults[i].kind = REWARD_GIANT;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int i = 0; i < 4; i++) {
        const rn_status st = rn_trainer_run_round(t);
        ASSERT(st == RN_OK || st == RN_ERR_AGGREGATE);
        ASSERT(all_finite(rn_trainer_theta(t), s.p.policy.dim));
    }
    rn_trainer_destroy(t);
    PASS();
}

/* ---- policies: shared by all, so all agents lose the round, no step is made, and the run goes
   on */
TEST bad_policies_cost_the_round(int kind) {
    static stage s;
    rn_trainer *t;
    rn_real theta[DIM], kept[DIM];
    rn_status st;
    stage_make(&s, 0);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    memcpy(theta, rn_trainer_theta(t), s.p.policy.dim * sizeof *theta);
    memcpy(kept, rn_agent_direction(rn_trainer_agent(t, 0)), s.p.policy.dim * sizeof *kept);
    s.bad.kind = kind;
    st = note(rn_trainer_run_round(t));
    ASSERT_EQ(RN_ERR_AGGREGATE, st);
    ASSERT_EQ(AGG_ERR_ROWS, rn_trainer_progress(t)->aggregate);
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_trainer_progress(t)->status);
    ASSERT_EQ((size_t)N, rn_trainer_progress(t)->dropped);
    for (size_t i = 0; i < N; i++) ASSERT_EQ(RN_ERR_POLICY, note(rn_trainer_agent_status(t, i)));
    ASSERT(same_bits(theta, rn_trainer_theta(t), s.p.policy.dim));
    ASSERT(same_bits(kept, rn_agent_direction(rn_trainer_agent(t, 0)), s.p.policy.dim));
    ASSERT_EQ((size_t)2, rn_trainer_rounds_done(t));
    s.bad.kind = 0;
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ((size_t)3, rn_trainer_progress(t)->round);
    ASSERT(!same_bits(theta, rn_trainer_theta(t), s.p.policy.dim));
    rn_trainer_destroy(t);
    PASS();
}

static rn_step_result free_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    (void)self;
    (void)r;
    obs[0] = 0;
    *reward = (double)act[0];
    return RN_RUNNING;
}

static void free_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    (void)r;
    obs[0] = 0;
}

static void free_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                     rn_real *act, void *work) {
    (void)theta;
    (void)obs;
    (void)r;
    (void)work;
    act[0] = 1;
    act[1] = *(rn_real *)self;
}

static void free_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                      const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    (void)self;
    (void)theta;
    (void)obs;
    (void)act;
    (void)work;
    for (size_t t = 0; t < T; t++) g[0] += w[t];
}

/* continuous actions; a host's policy with act and grad alone and no work; without environment */
static rn_agent_desc free_desc(size_t obs_dim, rn_real *second) {
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    d.env.obs_dim = d.policy.obs_dim = obs_dim;
    d.env.act_dim = d.policy.act_dim = 2;
    d.policy.dim = 1;
    d.policy.self = second;
    d.policy.act = free_act;
    d.policy.grad = free_grad;
    d.method.horizon = 3;
    d.method.discount = 1;
    return d;
}

TEST continuous_actions_must_be_finite(void) {
    rn_agent_desc d;
    rn_agent *a;
    unsigned char block[8192];
    rn_real second = 0, theta = 0;
    d = free_desc(1, &second);
    d.env.reset = free_reset;
    d.env.step = free_step;
    ASSERT(rn_agent_size(&d) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, &theta, 1));
    ASSERT(rn_agent_direction(a)[0] >= 6 && rn_agent_direction(a)[0] <= 6); /* 3 + 2 + 1 */
    second = (rn_real)NAN;
    ASSERT_EQ(RN_ERR_POLICY, note(rn_agent_run_round(a, &theta, 1)));
    second = -(rn_real)INFINITY;
    ASSERT_EQ(RN_ERR_POLICY, note(rn_agent_run_round(a, &theta, 1)));
    ASSERT(rn_agent_direction(a)[0] >= 6 && rn_agent_direction(a)[0] <= 6);
    second = 1;
    theta = 1;
    /* B u = (sum w)(sum c) with c = u = 1: 6 * 3, and no Hessian */
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, &theta, 0.5));
    ASSERT(fabs((double)rn_agent_direction(a)[0] - (0.5 * (6 + 18) + 0.5 * 6)) < 1e-5);
    PASS();
}

/* many observations, the last of which goes bad */
enum { WIDE = 40 };

static void wide_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    (void)r;
    memset(obs, 0, WIDE * sizeof *obs);
}

static rn_step_result wide_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    (void)act;
    wide_reset(self, r, obs);
    obs[WIDE - 1] = *(rn_real *)self;
    *reward = 1;
    return RN_RUNNING;
}

TEST the_last_of_many_observations_must_be_finite(void) {
    rn_agent_desc d;
    rn_agent *a;
    unsigned char block[16384];
    rn_real second = 0, last = 1, theta = 0;
    d = free_desc(WIDE, &second);
    d.env.self = &last;
    d.env.reset = wide_reset;
    d.env.step = wide_step;
    ASSERT(rn_agent_size(&d) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, &theta, 1));
    last = (rn_real)NAN;
    ASSERT_EQ(RN_ERR_ENV, note(rn_agent_run_round(a, &theta, 1)));
    PASS();
}

TEST bad_theta_is_refused(void) {
    static stage s;
    rn_agent_desc d;
    rn_agent *a;
    void *block;
    static const double etas[] = {-0.1, 1.1, (double)NAN, (double)INFINITY};
    stage_make(&s, 0);
    memset(&d, 0, sizeof d);
    d.env = s.envs[0];
    d.policy = s.d.policy;
    d.method = s.d.method;
    block = need(malloc(rn_agent_size(&d)));
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, rn_agent_size(&d)));
    for (int i = 0; i < 4; i++)
        ASSERT_EQ(RN_ERR_THETA, note(rn_agent_begin_round(a, s.theta, etas[i])));
    s.theta[3] = (rn_real)NAN;
    ASSERT_EQ(RN_ERR_THETA, note(rn_agent_run_round(a, s.theta, 0.5)));
    s.theta[3] = (rn_real)INFINITY;
    ASSERT_EQ(RN_ERR_THETA, note(rn_agent_run_round(a, s.theta, 0.5)));
    ASSERT_EQ(RN_ERR_ARG, note(rn_agent_run_round(a, NULL, 0.5)));
    ASSERT_EQ(RN_ERR_ARG, note(rn_agent_run_round(NULL, s.theta, 0.5)));
    ASSERT_EQ(RN_ERR_ARG, note(rn_agent_tick(NULL, 1, NULL)));
    ASSERT_EQ(RN_ERR_ORDER, note(rn_agent_tick(a, 1, NULL)));
    ASSERT_EQ(NULL, rn_agent_direction(NULL));
    ASSERT_EQ((uint64_t)0, rn_agent_stats(NULL).rounds);
    s.theta[3] = 0;
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, s.theta, 0.5));
    free(block);
    PASS();
}

/* ---- plans: what servers may send, and how often */
typedef struct party { /* an agent, a theta it is sent, its state before */
    stage s;
    rn_agent *a;
    void *block;
    rn_plan plan;
    unsigned char before[8192], after[8192];
} party;

static party one_party;

static party *party_make(double reach, double eta_min) {
    party *p = &one_party;
    rn_agent_desc d;
    memset(p, 0, sizeof *p);
    stage_make(&p->s, 0);
    memset(&d, 0, sizeof d);
    d.env = p->s.envs[0];
    d.policy = p->s.d.policy;
    d.method = p->s.d.method;
    d.reach = reach;
    d.eta_min = eta_min;
    p->block = need(malloc(rn_agent_size(&d)));
    if (rn_agent_init(&p->a, &d, p->block, rn_agent_size(&d)) != RN_OK) abort();
    p->plan.theta = p->s.theta;
    p->plan.eta = 0.5;
    p->plan.round = 1;
    return p;
}

static size_t party_save(const party *p, unsigned char *to) {
    const size_t size = rn_agent_save_size(p->a);
    if (size > sizeof p->before || rn_agent_save(p->a, to, size) != RN_OK) abort();
    return size;
}

/* 1: the agent is as it was before; what is given is called */
#define CHANGES_NOTHING(p, status, call)                                                           \
    do {                                                                                           \
        const size_t size_before = party_save(p, (p)->before);                                     \
        ASSERT_EQ(status, call);                                                                   \
        ASSERT_EQ(size_before, party_save(p, (p)->after));                                         \
        ASSERT_EQ(0, memcmp((p)->before, (p)->after, size_before));                                \
    } while (0)

TEST plans_are_made_once(void) {
    party *p = party_make(0, 0);
    uint64_t played;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    CHANGES_NOTHING(p, RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->s.theta[0] += (rn_real)0.25;
    p->plan.round = 2;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ((uint64_t)2, rn_agent_stats(p->a).rounds);
    for (int i = 0; i < 5; i++) CHANGES_NOTHING(p, RN_OK, rn_agent_run_plan(p->a, &p->plan));
    { /* an agent that was killed and started again */
        unsigned char state[8192];
        const size_t size = party_save(p, state);
        p->plan.round = 3;
        ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
        ASSERT_EQ(RN_OK, rn_agent_load(p->a, state, size));
        p->plan.round = 2;
        CHANGES_NOTHING(p, RN_OK, rn_agent_run_plan(p->a, &p->plan));
    }
    /* all else is a new round: another eta, theta or number, a lower one too, and no number */
    played = rn_agent_stats(p->a).rounds;
    p->plan.eta = 0.25;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->s.theta[0] += (rn_real)0.25;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->plan.round = 1;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->plan.round = 0;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ(RN_OK, rn_agent_run_round(p->a, p->s.theta, 0.25));
    ASSERT_EQ(played + 6, rn_agent_stats(p->a).rounds);
    p->plan.round = 1; /* the last one had no number */
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ(played + 7, rn_agent_stats(p->a).rounds);
    free(p->block);
    PASS();
}

/* begin and tick as in a round that is made: the caller need not know */
TEST repeated_plans_tick(void) {
    party *p = party_make(0, 0);
    unsigned char state[8192];
    size_t size, used = 7;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    (void)party_save(p, p->before);
    ASSERT_EQ(RN_OK, rn_agent_begin_plan(p->a, &p->plan));
    ASSERT_EQ(RN_ERR_ORDER, rn_agent_begin_plan(p->a, &p->plan));
    size = party_save(p, state);
    ASSERT_EQ(RN_OK, rn_agent_tick(p->a, 1, &used));
    ASSERT_EQ((size_t)0, used);
    ASSERT_EQ(RN_ERR_ORDER, rn_agent_tick(p->a, 1, &used));
    ASSERT_EQ(RN_OK, rn_agent_load(p->a, state, size)); /* broken off between the two */
    ASSERT_EQ(RN_ERR_ORDER, rn_agent_begin_plan(p->a, &p->plan));
    ASSERT_EQ(RN_OK, rn_agent_tick(p->a, 1, NULL));
    size = party_save(p, p->after);
    ASSERT_EQ(0, memcmp(p->before, p->after, size));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_run_plan(p->a, NULL));
    p->plan.theta = NULL;
    ASSERT_EQ(RN_ERR_ARG, rn_agent_begin_plan(p->a, &p->plan));
    free(p->block);
    PASS();
}

TEST plans_beyond_reach_are_refused(void) {
    const size_t dim = party_make(0, 0)->s.d.policy.dim;
    party *p;
    free(one_party.block);
    p = party_make(0.101, 0.2);
    for (size_t i = 0; i < dim; i++) p->s.theta[i] = 1;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan)); /* the first may be anywhere */
    p->plan.round = 2;
    p->s.theta[0] = (rn_real)1.1;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->plan.round = 3;
    for (size_t i = 0; i < dim; i++) p->s.theta[i] *= 100;
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_plan(p->a, &p->plan)));
    for (size_t i = 0; i < dim; i++) p->s.theta[i] = REAL_MAX;
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_plan(p->a, &p->plan)));
    for (size_t i = 0; i < dim; i++) p->s.theta[i] = 1;
    p->s.theta[0] = (rn_real)1.3;
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_plan(p->a, &p->plan)));
    p->plan.round = 4; /* a round was missed: twice as far */
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->s.theta[0] = (rn_real)1.1; /* a server went back by two */
    p->plan.round = 3;
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_plan(p->a, &p->plan)));
    p->plan.round = 2;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->s.theta[0] = (rn_real)1.25; /* the same number, or none, is one round apart */
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_plan(p->a, &p->plan)));
    CHANGES_NOTHING(p, RN_ERR_REACH, note(rn_agent_run_round(p->a, p->s.theta, 0.5)));
    p->s.theta[0] = (rn_real)1.2;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->plan.eta = 0.1;
    CHANGES_NOTHING(p, RN_ERR_THETA, note(rn_agent_run_plan(p->a, &p->plan)));
    p->plan.eta = 1.1;
    CHANGES_NOTHING(p, RN_ERR_THETA, note(rn_agent_run_plan(p->a, &p->plan)));
    free(p->block);
    PASS();
}

TEST plans_out_of_range(void) {
    static const double bad[] = {-1, (double)NAN};
    party *p = party_make(0, 0);
    rn_agent_desc d;
    p->plan.round = SIZE_MAX; /* a number that no state could hold is no number to remember */
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ((uint64_t)2, rn_agent_stats(p->a).rounds);
    ASSERT_EQ(RN_OK, rn_agent_load(p->a, p->before, party_save(p, p->before)));
    memset(&d, 0, sizeof d);
    d.env = p->s.envs[0];
    d.policy = p->s.d.policy;
    d.method = p->s.d.method;
    ASSERT(rn_agent_size(&d) > 0);
    for (int i = 0; i < 2; i++) {
        d.reach = bad[i];
        d.eta_min = 0;
        ASSERT_EQ((size_t)0, rn_agent_size(&d));
        d.reach = 0;
        d.eta_min = bad[i];
        ASSERT_EQ((size_t)0, rn_agent_size(&d));
    }
    d.eta_min = 1.5;
    ASSERT_EQ((size_t)0, rn_agent_size(&d));
    free(p->block);
    PASS();
}

/* a round that failed was not made */
TEST failed_plans_are_tried_again(void) {
    party *p = party_make(0, 0);
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    p->plan.round = 2;
    p->s.faults[0].kind = OBS_NAN;
    p->s.faults[0].from = 0;
    p->s.faults[0].to = 1000000;
    ASSERT_EQ(RN_ERR_ENV, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ(RN_ERR_ENV, rn_agent_run_plan(p->a, &p->plan));
    p->s.faults[0].to = 0;
    ASSERT_EQ(RN_OK, rn_agent_run_plan(p->a, &p->plan));
    ASSERT_EQ((uint64_t)2, rn_agent_stats(p->a).rounds);
    CHANGES_NOTHING(p, RN_OK, rn_agent_run_plan(p->a, &p->plan));
    free(p->block);
    PASS();
}

/* a server: its plan is what it has; nothing to update from leaves it where it was, a round given
   up twice counts twice, and rows that are given again are a round again */
TEST servers_count_every_update(void) {
    static unsigned char block[1 << 14];
    const rn_real row[2] = {3, 4}, *full[3], *none[3] = {NULL, NULL, NULL};
    rn_server_desc d;
    rn_server *s;
    rn_plan plan;
    memset(&d, 0, sizeof d);
    d.n = 3;
    d.dim = 2;
    d.agg.f = 1;
    d.gamma = rn_schedule_constant(5);
    d.eta = rn_theory_eta();
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, sizeof block));
    for (size_t i = 0; i < 3; i++) full[i] = row;
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_server_update(s, none, NULL));
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_server_update(s, none, NULL));
    ASSERT_EQ((size_t)1, rn_server_plan(s).round);
    rn_server_skip_round(s);
    rn_server_skip_round(s);
    plan = rn_server_plan(s);
    ASSERT_EQ((size_t)3, plan.round);
    ASSERT(plan.eta >= 1.0 / 3 && plan.eta <= 1.0 / 3);
    ASSERT(plan.theta == rn_server_theta(s) && plan.theta[1] >= 0 && plan.theta[1] <= 0);
    ASSERT_EQ(RN_OK, rn_server_update(s, full, NULL));
    ASSERT_EQ(RN_OK, rn_server_update(s, full, NULL));
    ASSERT_EQ((size_t)5, rn_server_plan(s).round);
    ASSERT(fabs((double)rn_server_theta(s)[1] - 8) < 1e-5);
    ASSERT_EQ((size_t)0, rn_server_plan(NULL).round);
    PASS();
}

/* two agents made from zeroed descs are one agent twice; another stream is another agent */
TEST streams_tell_agents_apart(void) {
    rn_real first[DIM];
    for (uint32_t stream = 0; stream < 3; stream++) {
        rn_agent_desc d;
        rn_agent *a;
        void *block;
        stage_make(&one_party.s, 0);
        memset(&d, 0, sizeof d);
        d.env = one_party.s.envs[0];
        d.policy = one_party.s.d.policy;
        d.method = one_party.s.d.method;
        d.stream = stream / 2;
        block = need(malloc(rn_agent_size(&d)));
        ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, rn_agent_size(&d)));
        ASSERT_EQ(RN_OK, rn_agent_run_round(a, one_party.s.theta, 1));
        if (!stream) memcpy(first, rn_agent_direction(a), d.policy.dim * sizeof *first);
        ASSERT_EQ(stream < 2, same_bits(first, rn_agent_direction(a), d.policy.dim));
        free(block);
    }
    PASS();
}

/* ---- rows: what agents may send */
static rn_server *server_make(size_t n, size_t dim, size_t f, rn_update_kind update, void **block) {
    rn_server_desc d;
    rn_server *s = NULL;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = dim;
    d.agg.f = f;
    d.update = update;
    d.gamma = rn_schedule_constant(0.5);
    d.eta = rn_schedule_constant(0.5);
    *block = need(malloc(rn_server_size(&d)));
    if (rn_server_init(&s, &d, *block, rn_server_size(&d)) != RN_OK) abort();
    return s;
}

TEST hostile_rows_up_to_f_are_survived(rn_update_kind update) {
    for (int l = 0; l < FORGERY_COUNT; l++)
        for (size_t adversaries = 0; adversaries <= 4; adversaries++) {
            enum { n = 7, dim = 5, f = 3 };

            rng r = rng_make((uint64_t)l * 10 + adversaries);
            rows x = rows_new(n, dim);
            void *block;
            rn_server *s = server_make(n, dim, f, update, &block);
            rn_progress p;
            rn_status st;
            size_t bad = 0;
            for (size_t i = 0; i < n; i++) fill_normal(rows_at(&x, i), dim, &r, 1, 0.1);
            for (size_t i = 0; i < adversaries; i++) forge_row(&x, i, (forgery)l, &r);
            for (size_t i = 0; i < n; i++) bad += !x.row[i] || !all_finite(x.row[i], dim);
            st = rn_server_update(s, x.row, &p);
            ASSERT_EQ(bad, p.dropped);
            if (bad > f) {
                ASSERT_EQ(RN_ERR_AGGREGATE, note(st));
                ASSERT_EQ(AGG_ERR_ROWS, p.aggregate);
                for (size_t k = 0; k < dim; k++)
                    ASSERT(!(rn_server_theta(s)[k] < 0 || rn_server_theta(s)[k] > 0));
                ASSERT_EQ((size_t)1, rn_server_current_round(s));
                rn_server_skip_round(s);
                ASSERT_EQ((size_t)2, rn_server_current_round(s));
            } else if (adversaries <= f) {
                ASSERT_EQ(RN_OK, st);
                ASSERT_EQ((size_t)2, rn_server_current_round(s));
                /* the honest direction */
                for (size_t k = 0; k < dim; k++) ASSERT(rn_server_theta(s)[k] > 0);
            } else {
                /* a majority of finite attacks may lead it anywhere, but not out of the numbers */
                ASSERT(st == RN_OK || st == RN_ERR_THETA);
            }
            ASSERT(all_finite(rn_server_theta(s), dim));
            free(block);
            rows_free(&x);
        }
    PASS();
}

/* after a refusal the same round can be tried again with more rows; the bits are those of a run
   without it */
TEST refused_rounds_can_be_tried_again(rn_update_kind update) {
    enum { n = 5, dim = 4 };

    rng r = rng_make(3);
    rows x = rows_new(n, dim);
    void *block[2];
    rn_server *a = server_make(n, dim, 1, update, &block[0]),
              *b = server_make(n, dim, 1, update, &block[1]);
    for (int round = 0; round < 5; round++) {
        const rn_real *none[n] = {NULL, NULL, NULL, NULL, NULL};
        for (size_t i = 0; i < n; i++) fill_normal(rows_at(&x, i), dim, &r, 1, 1);
        ASSERT_EQ(RN_ERR_AGGREGATE, note(rn_server_update(a, none, NULL)));
        ASSERT_EQ(RN_OK, rn_server_update(a, x.row, NULL));
        ASSERT_EQ(RN_OK, rn_server_update(b, x.row, NULL));
        ASSERT(same_bits(rn_server_theta(a), rn_server_theta(b), dim));
    }
    free(block[0]);
    free(block[1]);
    rows_free(&x);
    PASS();
}

TEST silent_majorities_stop_the_step_not_the_run(void) {
    static stage s;
    rn_trainer *t;
    rn_real theta[DIM];
    stage_make(&s, 0);
    s.d.adversaries = 2; /* f = 1 */
    s.d.attack.vector.kind = AGG_ATTACK_NAN;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    memcpy(theta, rn_trainer_theta(t), s.p.policy.dim * sizeof *theta);
    for (size_t i = 1; i < 5; i++) {
        ASSERT_EQ(RN_ERR_AGGREGATE, note(rn_trainer_run_round(t)));
        ASSERT(same_bits(theta, rn_trainer_theta(t), s.p.policy.dim));
        ASSERT_EQ(i, rn_trainer_rounds_done(t));
        ASSERT_EQ(i + 1, rn_server_current_round(rn_trainer_server(t)));
        ASSERT_EQ((size_t)2, rn_trainer_progress(t)->dropped);
        ASSERT_EQ(RN_OK, rn_trainer_agent_status(t, 4)); /* its own round was fine */
    }
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(t, 4, NULL));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT(!same_bits(theta, rn_trainer_theta(t), s.p.policy.dim));
    rn_trainer_destroy(t);
    PASS();
}

static agg_status nan_rule(void *self, const rn_real *const *x, size_t n, size_t dim,
                           rn_real *out) {
    (void)self;
    (void)x;
    (void)n;
    fill_number(out, dim, (double)NAN);
    return AGG_OK;
}

static double broken_schedule(void *self, size_t t) {
    (void)self;
    return t == 2 ? (double)NAN : 0.1;
}

TEST bad_rules_and_schedules_make_no_step(void) {
    static stage s;
    for (int k = 0; k < 3; k++) {
        rn_trainer *t;
        rn_real theta[DIM];
        rn_status st;
        stage_make(&s, 0);
        if (k == 0) s.d.server.aggregate = nan_rule;
        if (k == 1) {
            s.d.server.gamma.kind = RN_SCHEDULE_CALLBACK;
            s.d.server.gamma.at = broken_schedule;
        }
        if (k == 2) {
            s.d.server.eta.kind = RN_SCHEDULE_CALLBACK;
            s.d.server.eta.at = broken_schedule;
        }
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
        if (k == 1 || k == 2) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        memcpy(theta, rn_trainer_theta(t), s.p.policy.dim * sizeof *theta);
        st = note(rn_trainer_run_round(t));
        if (st != (k ? RN_ERR_THETA : RN_ERR_AGGREGATE))
            FAILm(WHY("case %d: %s", k, rn_status_text(st)));
        ASSERT(same_bits(theta, rn_trainer_theta(t), s.p.policy.dim));
        if (k == 2) ASSERT_EQ(RN_ERR_THETA, rn_trainer_agent_status(t, 0));
        if (k == 1 || k == 2) ASSERT_EQ(RN_OK, rn_trainer_run_round(t)); /* and the run goes on */
        rn_trainer_destroy(t);
    }
    PASS();
}

TEST theta_never_overflows(rn_update_kind update) {
    const rn_real start[2] = {REAL_MAX, 0}, row[2] = {1, 0};
    const rn_real *const all[1] = {row};
    rn_server_desc d;
    rn_server *s;
    void *block;
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.dim = 2;
    d.theta = start;
    d.update = update;
    d.gamma = rn_schedule_constant((double)REAL_MAX);
    d.eta = rn_schedule_constant(0.5);
    block = need(malloc(rn_server_size(&d)));
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    ASSERT_EQ(RN_ERR_THETA, note(rn_server_update(s, all, NULL)));
    ASSERT(same_bits(start, rn_server_theta(s), 2));
    ASSERT_EQ((size_t)1, rn_server_current_round(s));
    free(block);
    PASS();
}

/* a normalised step has length gamma, whatever the size of the rows: the least number, the largest
   one */
TEST steps_are_normalised_at_the_ends(rn_update_kind update) {
    static const double ends[] = {(double)REAL_TINY, (double)REAL_MIN, 1, (double)REAL_MAX};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        enum { dim = 4 };

        rn_real row[dim];
        const rn_real *const rows_[1] = {row};
        rn_server_desc d;
        rn_server *s;
        void *block;
        fill_number(row, dim, ends[e]);
        memset(&d, 0, sizeof d);
        d.n = 1;
        d.dim = dim;
        d.update = update;
        d.gamma = rn_schedule_constant(1);
        d.eta = rn_schedule_constant(0.5);
        block = need(malloc(rn_server_size(&d)));
        ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
        ASSERT_EQ(RN_OK, rn_server_update(s, rows_, NULL));
        for (size_t k = 0; k < dim; k++) /* Adam's first step is 1 for each number */
            ASSERT(fabs((double)rn_server_theta(s)[k] -
                        (update == RN_UPDATE_NORMALISED ? 0.5 : 1)) < 1e-6);
        free(block);
    }
    PASS();
}

/* one giant row, and then usual ones: Adam's averages stay finite, can be saved, and forget it */
TEST giants_are_forgotten(rn_update_kind update) {
    const rn_real giant_row[2] = {REAL_MAX / 2, -REAL_MAX}, usual[2] = {1, -1};
    const rn_real *const giants[1] = {giant_row}, *const usuals[1] = {usual};
    rn_server_desc d;
    rn_server *s;
    void *block;
    unsigned char bytes[512];
    rn_real before;
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.dim = 2;
    d.update = update;
    d.beta1 = d.beta2 = 0.5;
    d.gamma = rn_schedule_constant(0.01);
    d.eta = rn_schedule_constant(0.5);
    block = need(malloc(rn_server_size(&d)));
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    ASSERT_EQ(RN_OK, rn_server_update(s, giants, NULL));
    ASSERT(fabs((double)rn_server_theta(s)[0]) < 0.02 &&
           fabs((double)rn_server_theta(s)[1]) < 0.02);
    for (int i = 0; i < 1200; i++) {
        ASSERT_EQ(RN_OK, rn_server_update(s, usuals, NULL));
        ASSERT_EQ(RN_OK, rn_server_save(s, bytes, sizeof bytes));
        ASSERT_EQ(RN_OK, rn_server_load(s, bytes, rn_server_save_size(s)));
    }
    before = rn_server_theta(s)[0];
    ASSERT_EQ(RN_OK, rn_server_update(s, usuals, NULL));
    ASSERT(fabs((double)rn_server_theta(s)[0] - (double)before) > 0.005);
    free(block);
    PASS();
}

static rn_status give(rn_server *s, double x) {
    const rn_real row[2] = {(rn_real)x, (rn_real)(-x)};
    const rn_real *const only[1] = {row};
    return rn_server_update(s, only, NULL);
}

/* Soft steps: a norm below the rms shortens the next step by its share; one giant shortens those
   after it by half at most; norms that are all 0, or all giants, shorten nothing. */
TEST soft_steps_survive_giants(rn_update_kind update) {
    rn_server_desc d;
    rn_server *s;
    void *block;
    unsigned char bytes[512];
    memset(&d, 0, sizeof d);
    d.n = 1;
    d.dim = 2;
    d.soft = 1;
    d.update = update;
    d.gamma = rn_schedule_constant(0.01);
    d.eta = rn_schedule_constant(0.5);
    block = need(malloc(rn_server_size(&d)));
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    ASSERT(rn_server_gamma(s) >= 0.01); /* before there is a past */
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, give(s, 0));
    ASSERT(rn_server_gamma(s) >= 0.01);
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    for (int i = 0; i < 15; i++) ASSERT_EQ(RN_OK, give(s, 1));
    ASSERT(fabs(rn_server_gamma(s) - 0.01) < 1e-9);
    ASSERT_EQ(RN_OK, give(s, 0.25));
    ASSERT(fabs(rn_server_gamma(s) - 0.01 * 0.25 / sqrt((15 + 0.0625) / 16)) < 1e-9);
    ASSERT_EQ(RN_OK, give(s, (double)REAL_MAX));
    ASSERT(rn_server_gamma(s) >= 0.01);
    ASSERT_EQ(RN_OK, give(s, 1));
    ASSERT(rn_server_gamma(s) > 0.005 && rn_server_gamma(s) < 0.01);
    ASSERT_EQ(RN_OK, rn_server_save(s, bytes, sizeof bytes));
    ASSERT_EQ(RN_OK, rn_server_load(s, bytes, rn_server_save_size(s)));
    for (int i = 0; i < 400; i++) ASSERT_EQ(RN_OK, give(s, 1));
    ASSERT(rn_server_gamma(s) > 0.0095);
    ASSERT_EQ(RN_OK, rn_server_init(&s, &d, block, rn_server_size(&d)));
    for (int i = 0; i < 400; i++) ASSERT_EQ(RN_OK, give(s, (double)REAL_MAX));
    ASSERT(fabs(rn_server_gamma(s) - 0.01) < 1e-9);
    ASSERT_EQ(RN_OK, rn_server_save(s, bytes, sizeof bytes));
    ASSERT_EQ(RN_OK, rn_server_load(s, bytes, rn_server_save_size(s)));
    ASSERT_EQ(RN_OK, give(s, 1));
    ASSERT(rn_server_gamma(s) >= 0 && all_finite(rn_server_theta(s), 2));
    free(block);
    PASS();
}

/* ---- descs. X(change, status) */

/* clang-format off */

#define BAD_TRAINERS(X)                                                           \
    X(d->agents = 0,                                                RN_ERR_ARG)   \
    X(d->envs = NULL,                                               RN_ERR_ARG)   \
    X(d->policy.dim = 0,                                            RN_ERR_ARG)   \
    X(d->policy.act = NULL,                                         RN_ERR_ARG)   \
    X(d->policy.grad = NULL,                                        RN_ERR_ARG)   \
    X(s.envs[3].reset = NULL,                                       RN_ERR_ARG)   \
    X(s.envs[3].step = NULL,                                        RN_ERR_ARG)   \
    X(s.envs[0].obs_dim = 0,                                        RN_ERR_ARG)   \
    X(s.envs[0].act_dim = 0,                                        RN_ERR_ARG)   \
    X(s.envs[4].obs_dim = 3,                                        RN_ERR_DESC)  \
    X(s.envs[4].act_dim = 2,                                        RN_ERR_DESC)  \
    X(s.envs[4].actions = 3,                                        RN_ERR_DESC)  \
    X(s.envs[4].actions = 0,                                        RN_ERR_DESC)  \
    X(s.envs[1].state_size = 4; s.envs[1].save = NULL,              RN_ERR_DESC)  \
    X(s.envs[1].state_size = 4; s.envs[1].load = NULL,              RN_ERR_DESC)  \
    X(s.envs[1].act_low = 1; s.envs[1].act_high = 0,                RN_ERR_DESC)  \
    X(s.envs[1].act_low = nan_,                                     RN_ERR_DESC)  \
    X(s.envs[1].act_high = inf_,                                    RN_ERR_DESC)  \
    X(d->method.discount = -0.1,                                    RN_ERR_DESC)  \
    X(d->method.discount = 1.1,                                     RN_ERR_DESC)  \
    X(d->method.discount = nan_,                                    RN_ERR_DESC)  \
    X(d->method.estimator = (rn_estimator)2,                        RN_ERR_DESC)  \
    X(d->method.baseline = (rn_baseline)3,                          RN_ERR_DESC)  \
    X(d->method.clip = -1,                                          RN_ERR_DESC)  \
    X(d->method.clip = nan_,                                        RN_ERR_DESC)  \
    X(d->method.forget = 1.5,                                       RN_ERR_DESC)  \
    X(d->method.forget = nan_,                                      RN_ERR_DESC)  \
    X(d->method.ridge = -1,                                         RN_ERR_DESC)  \
    X(d->method.ridge = inf_,                                       RN_ERR_DESC)  \
    X(d->method.horizon = (size_t)-1,                               RN_ERR_SIZE)  \
    X(d->method.horizon = (size_t)-1 / 8,                           RN_ERR_SIZE)  \
    X(d->method.batch = (size_t)-1,                                 RN_ERR_SIZE)  \
    X(d->agents = (size_t)-1,                                       RN_ERR_SIZE)  \
    X(d->policy.dim = (size_t)-1 / 4,                               RN_ERR_SIZE)  \
    X(d->server.agg.f = 3,                                          RN_ERR_DESC)  \
    X(d->server.agg.rule = AGG_RULE_COUNT,                          RN_ERR_DESC)  \
    X(d->server.agg.pre[0] = AGG_PRE_COUNT,                         RN_ERR_DESC)  \
    X(d->server.agg.pre[0] = AGG_PRE_CLIP,                          RN_ERR_DESC)  \
    X(d->server.gamma = rn_schedule_constant(nan_),                 RN_ERR_DESC)  \
    X(d->server.eta = rn_schedule_constant(nan_),                   RN_ERR_DESC)  \
    X(d->server.eta = rn_schedule_linear(0, inf_, 2),               RN_ERR_DESC)  \
    X(d->server.gamma.kind = RN_SCHEDULE_CALLBACK,                  RN_ERR_DESC)  \
    X(d->server.eta.kind = (rn_schedule_kind)9,                     RN_ERR_DESC)  \
    X(d->server.gamma = rn_schedule_staircase(1, 2, 3),             RN_ERR_DESC)  \
    X(d->server.gamma = rn_schedule_staircase(1, -1, 3),            RN_ERR_DESC)  \
    X(d->server.update = (rn_update_kind)4,                         RN_ERR_DESC)  \
    X(d->server.radius = -1,                                        RN_ERR_DESC)  \
    X(d->server.radius = nan_,                                      RN_ERR_DESC)  \
    X(d->server.beta1 = 1,                                          RN_ERR_DESC)  \
    X(d->server.beta2 = -0.5,                                       RN_ERR_DESC)  \
    X(d->server.beta2 = nan_,                                       RN_ERR_DESC)  \
    X(d->server.epsilon = -1,                                       RN_ERR_DESC)  \
    X(d->server.epsilon = nan_,                                     RN_ERR_DESC)  \
    X(s.theta[0] = (rn_real)nan_,                                   RN_ERR_THETA) \
    X(s.theta[1] = (rn_real)inf_,                                   RN_ERR_THETA) \
    X(d->adversaries = N + 1,                                       RN_ERR_DESC)  \
    X(d->adversaries = 1; d->attack.kind = (rn_attack_kind)6,       RN_ERR_DESC)  \
    X(d->adversaries = 1; d->attack.vector.kind = AGG_ATTACK_COUNT, RN_ERR_DESC)

/* clang-format on */
TEST bad_descs_are_refused(void) {
    const double nan_ = (double)NAN, inf_ = (double)INFINITY;
    static stage s;
#define BAD_X(change, status) 1 +
    const int many = BAD_TRAINERS(BAD_X) 0;
#undef BAD_X
    for (int k = 0; k < many; k++) {
        rn_trainer_desc *d = &s.d;
        rn_trainer *t = NULL;
        rn_status want = RN_OK, got;
        const char *what = "";
        int i = 0;
        unsigned char block[64];
        stage_make(&s, 0);
#define BAD_X(change, status)                                                                      \
    if (i++ == k) {                                                                                \
        change;                                                                                    \
        want = status;                                                                             \
        what = #change;                                                                            \
    }
        BAD_TRAINERS(BAD_X)
#undef BAD_X
        got = note(rn_trainer_create(&t, d));
        if (got != want) FAILm(WHY("%s: %s", what, rn_status_text(got)));
        ASSERT_EQ(NULL, t);
        if (want == RN_ERR_THETA) continue; /* only the numbers are wrong: it has a size */
        if (rn_trainer_size(d) != 0) FAILm(WHY("%s: it has a size", what));
        got = rn_trainer_init(&t, d, block, sizeof block);
        if (got != want) FAILm(WHY("%s: init says %s", what, rn_status_text(got)));
    }
    PASS();
}

/* ---- nothing where something is expected */
TEST nothing_is_made_of_null(void) {
    static trio c;
    static unsigned char block[1 << 16];
    rn_agent *a = NULL;
    rn_server *s = NULL;
    rn_trainer *t = NULL;
    rn_server_desc sd;
    trio_make(&c, 0);
    memset(&sd, 0, sizeof sd);
    sd.n = 1;
    sd.dim = 2;
    sd.gamma = sd.eta = rn_schedule_constant(0.5);
    ASSERT_EQ(RN_ERR_ARG, rn_agent_init(NULL, &c.a, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_init(&a, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_init(&a, &c.a, NULL, sizeof block));
    ASSERT_EQ(RN_ERR_MEMORY, rn_agent_init(&a, &c.a, block, rn_agent_size(&c.a) - 1));
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(NULL, &sd, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, &sd, NULL, sizeof block));
    ASSERT_EQ(RN_ERR_MEMORY, rn_server_init(&s, &sd, block, rn_server_size(&sd) - 1));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_init(NULL, &c.d, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_init(&t, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_init(&t, &c.d, NULL, 1000000));
    ASSERT_EQ(RN_ERR_MEMORY, rn_trainer_init(&t, &c.d, block, 64));
    ASSERT_EQ(RN_ERR_MEMORY, rn_trainer_init(&t, &c.d, block, 0));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_create(NULL, &c.d));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_create(&t, NULL));
    ASSERT(!a && !s && !t);
    ASSERT_EQ((size_t)0, rn_agent_size(NULL));
    ASSERT_EQ((size_t)0, rn_server_size(NULL));
    ASSERT_EQ((size_t)0, rn_trainer_size(NULL));
    PASS();
}

TEST null_has_nothing_to_say(void) {
    unsigned char block[64];
    ASSERT_EQ(NULL, rn_server_theta(NULL));
    ASSERT_EQ(NULL, rn_server_direction(NULL));
    ASSERT_EQ((size_t)0, rn_server_current_round(NULL));
    ASSERT(rn_server_eta(NULL) <= 0 && rn_server_gamma(NULL) <= 0);
    ASSERT_EQ(NULL, rn_trainer_theta(NULL));
    ASSERT_EQ(NULL, rn_trainer_agent(NULL, 0));
    ASSERT_EQ(NULL, rn_trainer_server(NULL));
    ASSERT_EQ(NULL, rn_trainer_progress(NULL));
    ASSERT_EQ((size_t)0, rn_trainer_rounds_done(NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_agent_status(NULL, 0));
    ASSERT_EQ((size_t)0, rn_agent_save_size(NULL));
    ASSERT_EQ((size_t)0, rn_server_save_size(NULL));
    ASSERT_EQ((size_t)0, rn_trainer_save_size(NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_save(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_server_save(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_save(NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_load(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_server_load(NULL, block, 8));
    ASSERT_STR_EQ("unknown status", rn_status_text((rn_status)99));
    ASSERT_STR_EQ("unknown status", rn_status_text(RN_STATUS_COUNT));
    PASS();
}

TEST null_does_nothing(void) {
    static trio c;
    static unsigned char block[1 << 16];
    rn_trainer *t;
    trio_make(&c, 0);
    ASSERT_EQ(RN_ERR_ARG, note(rn_server_update(NULL, NULL, NULL)));
    rn_server_skip_round(NULL);
    ASSERT_EQ(RN_ERR_ARG, note(rn_trainer_run_round(NULL)));
    rn_trainer_destroy(NULL);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_ERR_ARG, rn_server_update(rn_trainer_server(t), NULL, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_save(t, NULL, 1u << 20));
    rn_trainer_destroy(t);
    ASSERT_EQ(RN_OK, rn_trainer_init(&t, &c.d, block, sizeof block));
    rn_trainer_destroy(t); /* not made by create: nothing to free */
    PASS();
}

TEST null_is_not_evaluated(void) {
    static trio c;
    static unsigned char block[1 << 16];
    const rn_env *env = &c.envs[0];
    const rn_policy *p = &c.p.policy;
    rn_trainer *t;
    rn_evaluation_desc d;
    rn_evaluation out;
    rn_real x[DIM] = {0};
    double score;
    trio_make(&c, 0);
    memset(&d, 0, sizeof d);
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(NULL, p));
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(env, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(NULL, env, p, x, block, sizeof block, &out));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, NULL, p, x, block, sizeof block, &out));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, env, NULL, x, block, sizeof block, &out));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, env, p, NULL, block, sizeof block, &out));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, env, p, x, NULL, sizeof block, &out));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, env, p, x, block, sizeof block, NULL));
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(NULL, env, 1, &score));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(t, NULL, 1, &score));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(t, env, 1, NULL));
    rn_trainer_destroy(t);
    PASS();
}

TEST null_does_not_act(void) {
    static trio c;
    unsigned char block[4096];
    const rn_policy *p = &c.p.policy;
    rn_policy actless;
    rn_real x[DIM] = {0};
    trio_make(&c, 0);
    actless = *p;
    actless.act = NULL;
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(NULL, x, x, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(p, NULL, x, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(p, x, NULL, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(p, x, x, NULL, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&actless, x, x, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(p, x, x, NULL, x, NULL, 0));
    /* not even to the next 64 */
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(p, x, x, NULL, x, block + 1, 1));
    PASS();
}

/* ---- sizes that do not fit */
#define TOO_MUCH ((size_t)-1 / 128)

static size_t endless_work(void *self, size_t T) {
    (void)self;
    (void)T;
    return (size_t)-1 - 100;
}

TEST policies_that_do_not_fit(void) {
    static trio c;
    rn_net net;
    rn_table table;
    rn_net_desc nd = rn_make_net_desc(1u << 24, 1u << 23);
    nd.hidden[0] = (1u << 24) + 1;
    ASSERT_EQ((size_t)0, rn_make_net_policy(&net, &nd).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 0, 2).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 2, 0).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, ((size_t)1 << 24) + 1, 2).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 2, ((size_t)1 << 24) + 1).dim);
    trio_make(&c, 0);
    ASSERT_EQ((size_t)0, rn_policy_work_size(&c.p.policy, TOO_MUCH));
    c.p.policy.work_size = endless_work;
    ASSERT_EQ((size_t)0, rn_policy_work_size(&c.p.policy, 1));
    PASS();
}

TEST agents_that_do_not_fit(void) {
    static trio c;
    rn_agent *a;
    unsigned char block[64];
    trio_make(&c, 0);
    c.a.method.horizon = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.horizon = TOO_MUCH / 2; /* observations fit, what the net works in does not */
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    trio_make(&c, 1);
    c.a.method.horizon = (size_t)-1 / 64 - 1; /* each piece fits, all together do not */
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.baseline = RN_BASELINE_RIDGE;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.horizon = 4;
    c.a.method.batch = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.batch = 1;
    /* squared, by the ridge baseline */
    c.a.env.obs_dim = c.a.policy.obs_dim = (size_t)1 << (sizeof(size_t) * 4 - 1);
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    PASS();
}

TEST trainers_that_do_not_fit(void) {
    static trio c;
    rn_trainer *t;
    unsigned char block[64];
    trio_make(&c, 1);
    c.d.method.horizon = TOO_MUCH; /* one agent fits, three do not */
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    c.d.agents = (size_t)1 << 31; /* their parts are counted one by one: refused before */
    c.d.policy.dim = (size_t)-1 / 64;
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    c.d.agents = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    PASS();
}

TEST servers_that_do_not_fit(void) {
    rn_server *s;
    rn_server_desc d;
    unsigned char block[64];
    memset(&d, 0, sizeof d);
    d.gamma = d.eta = rn_schedule_constant(0.5);
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, &d, block, sizeof block));
    d.n = 1;
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, &d, block, sizeof block)); /* dim is 0 */
    d.dim = (size_t)-1 / 64;
    ASSERT_EQ(RN_ERR_SIZE, rn_server_init(&s, &d, block, sizeof block)); /* 16 dim */
    d.n = (size_t)-1 / 64;
    d.dim = 1;
    ASSERT(rn_server_init(&s, &d, block, sizeof block) > RN_MORE);
    d.n = (size_t)-1 / 8;
    d.dim = 1000;
    ASSERT_EQ(RN_ERR_SIZE, note(rn_server_init(&s, &d, block, sizeof block)));
    d.n = 0;
    d.dim = 1;
    ASSERT_EQ(RN_ERR_ARG, note(rn_server_init(&s, &d, block, sizeof block)));
    PASS();
}

/* clang-format off */

/* X(change, status) of the desc of an agent */
#define BAD_AGENTS(X)                                                        \
    X(d.env.reset = NULL,                                       RN_ERR_ARG)  \
    X(d.policy.dim = 0,                                         RN_ERR_ARG)  \
    X(d.env.actions = d.policy.actions = ((size_t)1 << 24) + 1, RN_ERR_DESC) \
    X(d.env.act_dim = d.policy.act_dim = 2,                     RN_ERR_DESC) \
    X(d.env.act_low = -(double)INFINITY,                        RN_ERR_DESC) \
    X(d.env.act_high = (double)INFINITY,                        RN_ERR_DESC) \
    X(d.env.act_dim = d.policy.act_dim = (size_t)-1,            RN_ERR_SIZE) \
    X(d.env.obs_dim = d.policy.obs_dim = (size_t)-1,            RN_ERR_SIZE) \
    X(d.policy.dim = (size_t)-1,                                RN_ERR_SIZE) \
    X(d.env.actions = d.policy.actions = 0;                                  \
      d.env.act_dim = d.policy.act_dim = (size_t)-1 / 128,      RN_ERR_SIZE) \
    X(d.method.clip = (double)INFINITY,                         RN_ERR_DESC) \
    X(d.method.clip = -1,                                       RN_ERR_DESC) \
    X(d.method.ridge = (double)INFINITY,                        RN_ERR_DESC) \
    X(d.method.forget = 2,                                      RN_ERR_DESC) \
    X(d.method.estimator = (rn_estimator)7,                     RN_ERR_DESC) \
    X(d.method.baseline = (rn_baseline)7,                       RN_ERR_DESC) \
    X(d.method.flat = 1; d.method.estimator = RN_REINFORCE,     RN_ERR_DESC) \
    X(d.method.reuse = d.method.no_hessian = 1,                 RN_ERR_DESC) \
    X(d.method.tuned = d.method.no_hessian = 1,                 RN_ERR_DESC) \
    X(d.method.tuned = d.method.no_memory = 1,                  RN_ERR_DESC) \
    X(d.method.lookahead = d.method.reuse = 1,                  RN_ERR_DESC) \
    X(d.method.lookahead = d.method.tuned = 1,                  RN_ERR_DESC) \
    X(d.method.lookahead = d.method.no_memory = 1,              RN_ERR_DESC)
/* ... and of a server */
#define BAD_SERVERS(X)                                      \
    X(d.beta1 = 1,                             RN_ERR_DESC) \
    X(d.beta1 = -1,                            RN_ERR_DESC) \
    X(d.beta2 = 1,                             RN_ERR_DESC) \
    X(d.beta2 = -1,                            RN_ERR_DESC) \
    X(d.epsilon = -1,                          RN_ERR_DESC) \
    X(d.radius = -1,                           RN_ERR_DESC) \
    X(d.gamma.value = (double)NAN,             RN_ERR_DESC) \
    X(d.gamma.end = (double)NAN,               RN_ERR_DESC) \
    X(d.eta.factor = (double)NAN,              RN_ERR_DESC) \
    X(d.eta.shift = (double)NAN,               RN_ERR_DESC) \
    X(d.eta = rn_schedule_staircase(1, -1, 1), RN_ERR_DESC) \
    X(d.eta = rn_schedule_staircase(1, 2, 1),  RN_ERR_DESC) \
    X(d.eta.kind = (rn_schedule_kind)9,        RN_ERR_DESC) \
    X(d.eta.kind = RN_SCHEDULE_CALLBACK,       RN_ERR_DESC) \
    X(d.soft = 1; d.update = RN_UPDATE_PLAIN,  RN_ERR_DESC) \
    X(d.kl = 1; d.update = RN_UPDATE_PLAIN,    RN_ERR_DESC) \
    X(d.kl = -1,                               RN_ERR_DESC) \
    X(d.kl = (double)NAN,                      RN_ERR_DESC)

/* clang-format on */
TEST bad_agents_and_servers(void) {
    static trio c;
    unsigned char block[64];
    rn_agent *a;
    rn_server *s;
    trio_make(&c, 0);
#define BAD_X(change, status)                                                                      \
    {                                                                                              \
        rn_agent_desc d = c.a;                                                                     \
        change;                                                                                    \
        ASSERT_EQ((size_t)0, rn_agent_size(&d));                                                   \
        ASSERT_EQm(#change, status, rn_agent_init(&a, &d, block, sizeof block));                   \
    }
    BAD_AGENTS(BAD_X)
#undef BAD_X
#define BAD_X(change, status)                                                                      \
    {                                                                                              \
        rn_server_desc d;                                                                          \
        memset(&d, 0, sizeof d);                                                                   \
        d.n = d.dim = 2;                                                                           \
        d.gamma = d.eta = rn_schedule_constant(0.5);                                               \
        change;                                                                                    \
        ASSERT_EQ((size_t)0, rn_server_size(&d));                                                  \
        ASSERT_EQm(#change, status, rn_server_init(&s, &d, block, sizeof block));                  \
    }
    BAD_SERVERS(BAD_X)
#undef BAD_X
    PASS();
}

static void nan_init(void *self, const agg_rng *r, rn_real *theta) {
    (void)self;
    (void)r;
    theta[0] = (rn_real)NAN;
}

static size_t no_work(void *self, size_t T) {
    (void)self;
    (void)T;
    return 0;
}

/* callbacks that want more the second time they are asked */
typedef struct growing {
    rn_policy good;
    rn_env env;
    size_t more;
} growing;

static size_t growing_work(void *self, size_t T) {
    growing *g = (growing *)self;
    return g->good.work_size(g->good.self, T) + (g->more += 4096);
}

static rn_env growing_env(void *self, size_t index) {
    growing *g = (growing *)self;
    rn_env e = g->env;
    (void)index;
    e.state_size = g->more += 4096;
    e.save = walk_save;
    e.load = walk_load;
    return e;
}

TEST sizes_that_change_are_refused(void) {
    static stage s;
    static unsigned char block[1 << 16];
    growing g;
    rn_agent_desc ad;
    rn_agent *a = NULL;
    rn_trainer *t = NULL;
    stage_make(&s, 0);
    memset(&ad, 0, sizeof ad);
    g.good = s.p.policy;
    g.env = ad.env = s.envs[0];
    g.more = 0;
    ad.policy = s.p.policy;
    ad.policy.self = &g;
    ad.policy.work_size = growing_work;
    ad.method = s.d.method;
    {
        const size_t size = rn_agent_size(&ad);
        ASSERT(size > 0 && size + 2 * 4096 <= sizeof block);
        ASSERT_EQ(RN_ERR_MEMORY, note(rn_agent_init(&a, &ad, block, size)));
        ASSERT_EQ(NULL, a);
    }
    s.d.make_env = growing_env;
    s.d.make_env_self = &g;
    ASSERT(rn_trainer_create(&t, &s.d) > RN_MORE);
    ASSERT_EQ(NULL, t);
    PASS();
}

/* make_env once for each agent to count the memory, once to make the trainer */
typedef struct asked {
    const rn_env *envs;
    size_t count;
} asked;

static rn_env counted_env(void *self, size_t index) {
    asked *a = (asked *)self;
    a->count++;
    return a->envs[index];
}

TEST environments_are_asked_for_twice(void) {
    static stage s;
    asked a;
    rn_trainer *t;
    stage_make(&s, 0);
    a.envs = s.envs;
    a.count = 0;
    s.d.make_env = counted_env;
    s.d.make_env_self = &a;
    ASSERT(rn_trainer_size(&s.d) > 0);
    ASSERT_EQ((size_t)N, a.count);
    a.count = 0;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ((size_t)2 * N, a.count);
    rn_trainer_destroy(t);
    PASS();
}

/* twice obs_dim is 0; work that is too large */
TEST evaluations_that_do_not_fit(void) {
    static stage s;
    rn_env e;
    rn_policy p;
    rn_evaluation_desc d;
    rn_evaluation out;
    rn_evaluator *ticking;
    unsigned char block[64];
    stage_make(&s, 0);
    memset(&d, 0, sizeof d);
    e = s.envs[0];
    p = s.d.policy;
    e.obs_dim = p.obs_dim = (size_t)-1 / 2 + 1;
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(&e, &p));
    ASSERT_EQ(RN_ERR_SIZE, note(rn_evaluate(&d, &e, &p, s.theta, block, sizeof block, &out)));
    e = s.envs[0];
    p = s.d.policy;
    p.work_size = no_work;
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(&e, &p));
    ASSERT_EQ((size_t)0, rn_policy_work_size(&p, 0));
    ASSERT_EQ(RN_ERR_SIZE, note(rn_evaluate(&d, &e, &p, s.theta, block, sizeof block, &out)));
    ASSERT_EQ((size_t)0, rn_evaluator_size(&e, &p));
    ASSERT_EQ(RN_ERR_SIZE,
              note(rn_evaluator_init(&ticking, &d, &e, &p, s.theta, block, sizeof block)));
    ASSERT_EQ(RN_ERR_SIZE,
              note(rn_policy_act(&p, s.theta, s.theta, NULL, s.theta, block, sizeof block)));
    PASS();
}

TEST other_arguments(void) {
    static stage s;
    rn_trainer *t = NULL;
    rn_agent_desc ad;
    rn_agent *agent;
    unsigned char block[64];
    double score = 0;
    stage_make(&s, 0);
    memset(&ad, 0, sizeof ad);
    ASSERT_EQ(RN_ERR_ARG, note(rn_agent_init(&agent, &ad, block, sizeof block)));
    s.d.server.theta = NULL;
    s.d.policy.init = nan_init;
    ASSERT_EQ(RN_ERR_POLICY, note(rn_trainer_create(&t, &s.d)));
    ASSERT_EQ(NULL, t);
    stage_make(&s, 0);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(NULL, rn_trainer_agent(t, N));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_agent_status(t, N));
    s.envs[0].actions = 9;
    ASSERT_EQ(RN_ERR_DESC, note(rn_trainer_evaluate(t, &s.envs[0], 1, &score)));
    ASSERT(!(score < 0 || score > 0));
    rn_trainer_destroy(t);
    PASS();
}

TEST evaluation_notices_bad_environments_and_policies(int kind, int table) {
    static stage s;
    rn_trainer *t;
    double score = 5;
    fault f;
    rn_env e;
    stage_make(&s, table);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    e = fault_env(&f, &s.m, table);
    f.kind = kind;
    if (kind == NONE) s.bad.kind = ACT_NAN;
    if (note(rn_trainer_evaluate(t, &e, 4, &score)) != (kind == NONE ? RN_ERR_POLICY : RN_ERR_ENV))
        FAILm(WHY("kind %d is not noticed", kind));
    ASSERT(score >= 5 && score <= 5);
    rn_trainer_destroy(t);
    PASS();
}

/* bytes that lead to the statuses of saving */
TEST saving_has_its_statuses(void) {
    static stage s;
    static stage other;
    rn_trainer *t, *u;
    unsigned char *b;
    size_t size;
    stage_make(&s, 0);
    stage_make(&other, 0);
    other.d.method.horizon = 7;
    ASSERT_EQ(RN_OK, note(rn_trainer_create(&t, &s.d)));
    ASSERT_EQ(RN_OK, note(rn_trainer_create(&u, &other.d)));
    size = rn_trainer_save_size(t);
    b = (unsigned char *)need(malloc(size));
    ASSERT_EQ(RN_ERR_MEMORY, note(rn_trainer_save(t, b, size - 1)));
    ASSERT_EQ(RN_OK, note(rn_trainer_save(t, b, size)));
    ASSERT_EQ(RN_ERR_MISMATCH, note(rn_trainer_load(u, b, size)));
    b[size / 2] ^= 1;
    ASSERT_EQ(RN_ERR_CORRUPT, note(rn_trainer_load(t, b, size)));
    b[0] ^= 1;
    ASSERT_EQ(RN_ERR_FORMAT, note(rn_trainer_load(t, b, size)));
    ASSERT_EQ(RN_MORE, note(rn_trainer_tick(t, 1, NULL)));
    ASSERT_EQ(RN_ERR_NO_SAVE, note(rn_trainer_save(t, b, size)));
    ASSERT_EQ(RN_ERR_ORDER, note(rn_trainer_set_attack(t, 0, NULL)));
    free(b);
    rn_trainer_destroy(t);
    rn_trainer_destroy(u);
    PASS();
}

TEST every_status_was_reached(void) {
    for (int i = 0; i < RN_STATUS_COUNT; i++)
        if (!reached[i]) FAILm(WHY("never: %s", rn_status_text((rn_status)i)));
    PASS();
}

SUITE(environments_and_policies) {
    for (int table = 0; table < 2; table++) {
        for (int kind = REWARD_NAN; kind <= RESULT_NEGATIVE; kind++)
            RUN_TESTp(bad_environments_cost_their_agent_the_round, kind, table);
        RUN_TESTp(bad_environments_cost_their_agent_the_round, RESET_NAN, table);
    }
    RUN_TEST(endless_environments_are_cut);
    RUN_TEST(giant_rewards_never_reach_theta);
    for (int kind = ACT_NAN; kind <= HVP_NAN; kind++) RUN_TESTp(bad_policies_cost_the_round, kind);
    RUN_TEST(continuous_actions_must_be_finite);
    RUN_TEST(the_last_of_many_observations_must_be_finite);
    RUN_TEST(bad_theta_is_refused);
    RUN_TEST(plans_are_made_once);
    RUN_TEST(repeated_plans_tick);
    RUN_TEST(plans_beyond_reach_are_refused);
    RUN_TEST(plans_out_of_range);
    RUN_TEST(failed_plans_are_tried_again);
    RUN_TEST(streams_tell_agents_apart);
    RUN_TEST(servers_count_every_update);
    for (int kind = NONE; kind <= RESULT_NEGATIVE; kind++)
        RUN_TESTp(evaluation_notices_bad_environments_and_policies, kind, 0);
    RUN_TESTp(evaluation_notices_bad_environments_and_policies, OBS_NAN, 1);
    RUN_TESTp(evaluation_notices_bad_environments_and_policies, RESET_NAN, 0);
}

SUITE(rows_of_agents) {
    for (int update = RN_UPDATE_NORMALISED; update <= RN_UPDATE_ADAM_NORMALISED; update++) {
        RUN_TESTp(hostile_rows_up_to_f_are_survived, (rn_update_kind)update);
        RUN_TESTp(refused_rounds_can_be_tried_again, (rn_update_kind)update);
        RUN_TESTp(theta_never_overflows, (rn_update_kind)update);
        if (update == RN_UPDATE_NORMALISED || update == RN_UPDATE_ADAM_NORMALISED)
            RUN_TESTp(steps_are_normalised_at_the_ends, (rn_update_kind)update);
        if (update == RN_UPDATE_PLAIN) continue;
        RUN_TESTp(giants_are_forgotten, (rn_update_kind)update);
        RUN_TESTp(soft_steps_survive_giants, (rn_update_kind)update);
    }
    RUN_TEST(silent_majorities_stop_the_step_not_the_run);
    RUN_TEST(bad_rules_and_schedules_make_no_step);
}

SUITE(descs) {
    RUN_TEST(bad_descs_are_refused);
    RUN_TEST(bad_agents_and_servers);
    RUN_TEST(nothing_is_made_of_null);
    RUN_TEST(null_has_nothing_to_say);
    RUN_TEST(null_does_nothing);
    RUN_TEST(null_is_not_evaluated);
    RUN_TEST(null_does_not_act);
    RUN_TEST(policies_that_do_not_fit);
    RUN_TEST(agents_that_do_not_fit);
    RUN_TEST(trainers_that_do_not_fit);
    RUN_TEST(servers_that_do_not_fit);
    RUN_TEST(evaluations_that_do_not_fit);
    RUN_TEST(sizes_that_change_are_refused);
    RUN_TEST(environments_are_asked_for_twice);
    RUN_TEST(other_arguments);
    RUN_TEST(saving_has_its_statuses);
    RUN_TEST(every_status_was_reached);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(environments_and_policies);
    RUN_SUITE(rows_of_agents);
    RUN_SUITE(descs);
    GREATEST_MAIN_END();
}
