/* The corners of resnharpg.h that no other test visits: nothing where something is expected, the
   ends of ranges, sizes that do not fit, and the ways that only a host's own policy or task takes.
   */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

enum { N = 3, DIM = 32 };

#define TOO_MUCH ((size_t)-1 / 128)

typedef struct corner {
    mdp m;
    model p;
    walk walks[N];
    rn_env envs[N];
    rn_trainer_desc d;
    rn_agent_desc a;
} corner;

static void corner_make(corner *c, int table) {
    const rn_net_desc net = net_desc(FEATURES, ACTIONS, 2, 0, RN_TANH);
    memset(c, 0, sizeof *c);
    c->m = mdp_random(60);
    if (table)
        (void)model_table(&c->p, STATES, ACTIONS);
    else
        (void)model_net(&c->p, &net);
    for (size_t i = 0; i < N; i++) c->envs[i] = walk_env(&c->walks[i], &c->m, table);
    c->d.agents = N;
    c->d.envs = c->envs;
    c->d.policy = c->a.policy = c->p.policy;
    c->d.method.horizon = c->a.method.horizon = 4;
    c->d.server.gamma = rn_schedule_constant(0.1);
    c->d.server.eta = rn_schedule_constant(0.5);
    c->a.env = c->envs[0];
}

/* ---- nothing where something is expected */
TEST null_everywhere(void) {
    static corner c;
    static unsigned char block[1 << 16];
    rn_agent *a = NULL;
    rn_server *s = NULL;
    rn_trainer *t = NULL;
    rn_server_desc sd;
    rn_evaluation_desc ed;
    rn_evaluation e;
    rn_real x[DIM] = {0};
    double score;
    corner_make(&c, 0);
    memset(&sd, 0, sizeof sd);
    memset(&ed, 0, sizeof ed);
    sd.n = 1;
    sd.dim = 2;
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
    ASSERT(!a && !s && !t);
    ASSERT_EQ((size_t)0, rn_server_current_round(NULL));
    ASSERT_EQ((size_t)0, rn_trainer_rounds_done(NULL));
    ASSERT(rn_server_eta(NULL) <= 0 && rn_server_gamma(NULL) <= 0);
    ASSERT_EQ((size_t)0, rn_agent_save_size(NULL));
    ASSERT_EQ((size_t)0, rn_server_save_size(NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_save(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_server_save(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_agent_load(NULL, block, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_server_load(NULL, block, 8));
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(NULL, &c.p.policy));
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(&c.envs[0], NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(NULL, &c.envs[0], &c.p.policy, x, block, sizeof block, &e));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&ed, NULL, &c.p.policy, x, block, sizeof block, &e));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&ed, &c.envs[0], NULL, x, block, sizeof block, &e));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&ed, &c.envs[0], &c.p.policy, NULL, block, sizeof block, &e));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&ed, &c.envs[0], &c.p.policy, x, NULL, sizeof block, &e));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&ed, &c.envs[0], &c.p.policy, x, block, sizeof block, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(NULL, x, x, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&c.p.policy, NULL, x, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&c.p.policy, x, NULL, NULL, x, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&c.p.policy, x, x, NULL, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(&c.p.policy, x, x, NULL, x, block + 1,
                                           1)); /* not even to the next 64 */
    ASSERT_EQ(RN_ERR_MEMORY, rn_policy_act(&c.p.policy, x, x, NULL, x, NULL, 0));
    {
        rn_policy actless = c.p.policy;
        actless.act = NULL;
        ASSERT_EQ(RN_ERR_ARG, rn_policy_act(&actless, x, x, NULL, x, block, sizeof block));
    }
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(NULL, &c.envs[0], 1, &score));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(t, NULL, 1, &score));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_evaluate(t, &c.envs[0], 1, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_save(t, NULL, 1u << 20));
    rn_trainer_destroy(t);
    ASSERT_EQ(RN_OK, rn_trainer_init(&t, &c.d, block, sizeof block));
    rn_trainer_destroy(t); /* not made by create: nothing to free */
    ASSERT_STR_EQ("unknown status", rn_status_text((rn_status)99));
    ASSERT_STR_EQ("unknown status", rn_status_text(RN_STATUS_COUNT));
    PASS();
}

/* ---- what is left out gets its default */
TEST defaults(void) {
    static corner c;
    static unsigned char block[1 << 20];
    rn_agent *a;
    rn_evaluation_desc ed;
    rn_evaluation e;
    rn_real theta[DIM] = {0};
    corner_make(&c, 1);
    c.a.method.horizon = 0; /* 1000 */
    ASSERT(rn_agent_size(&c.a) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &c.a, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 1));
    memset(&ed, 0, sizeof ed); /* 10 trajectories */
    ASSERT_EQ(RN_OK, rn_evaluate(&ed, &c.envs[0], &c.p.policy, theta, block, sizeof block, &e));
    ASSERT(e.length >= 1);
    PASS();
}

/* ---- shapes of a net that are rare: no state of the deviation is free, no bias to start it with */
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
    static corner c;
    rn_trainer *t;
    corner_make(&c, 0);
    c.d.method.baseline = RN_BASELINE_RIDGE;
    c.d.method.discount = 0;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    for (int i = 0; i < 4; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT(all_finite(rn_trainer_theta(t), c.p.policy.dim));
    rn_trainer_destroy(t);
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
    d.gamma = rn_schedule_constant(0.1);
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

/* ---- sizes */
static size_t endless_work(void *self, size_t T) {
    (void)self;
    (void)T;
    return (size_t)-1 - 100;
}

TEST sizes_that_do_not_fit(void) {
    static corner c;
    rn_net net;
    rn_table table;
    rn_net_desc nd = rn_make_net_desc(1u << 24, 1u << 23);
    rn_agent *a;
    rn_trainer *t;
    rn_server *s;
    rn_server_desc sd;
    unsigned char block[64];
    corner_make(&c, 0);
    nd.hidden[0] = (1u << 24) + 1;
    ASSERT_EQ((size_t)0, rn_make_net_policy(&net, &nd).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 0, 2).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 2, 0).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, ((size_t)1 << 24) + 1, 2).dim);
    ASSERT_EQ((size_t)0, rn_make_table_policy(&table, 2, ((size_t)1 << 24) + 1).dim);
    c.a.method.horizon = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.horizon = TOO_MUCH / 2; /* observations fit, what the net works in does not */
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    ASSERT_EQ((size_t)0, rn_policy_work_size(&c.p.policy, TOO_MUCH));
    corner_make(&c, 1);
    c.a.method.horizon = (size_t)-1 / 64 - 1; /* each piece fits, all together do not */
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.baseline = RN_BASELINE_RIDGE;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.horizon = 4;
    c.a.method.batch = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.method.batch = 1;
    c.a.env.obs_dim = c.a.policy.obs_dim =
        (size_t)1 << (sizeof(size_t) * 4 - 1); /* squared, by the ridge baseline */
    ASSERT_EQ(RN_ERR_SIZE, rn_agent_init(&a, &c.a, block, sizeof block));
    c.a.policy.work_size = endless_work;
    ASSERT_EQ((size_t)0, rn_policy_work_size(&c.a.policy, 1));
    c.d.method.horizon = TOO_MUCH; /* one agent fits, three do not */
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    c.d.agents = (size_t)1 << 31; /* their parts are counted one by one: refused before */
    c.d.policy.dim = (size_t)-1 / 64;
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    c.d.agents = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_trainer_init(&t, &c.d, block, sizeof block));
    memset(&sd, 0, sizeof sd);
    sd.n = 1;
    sd.dim = (size_t)-1 / 64;
    ASSERT_EQ(RN_ERR_SIZE, rn_server_init(&s, &sd, block, sizeof block)); /* 16 dim */
    sd.dim = 1;
    sd.n = (size_t)-1 / 64;
    sd.aggregate = (agg_status(*)(void *, const rn_real *const *, size_t, size_t, rn_real *))0;
    ASSERT(rn_server_init(&s, &sd, block, sizeof block) > RN_MORE);
    sd.n = 0;
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, &sd, block, sizeof block));
    sd.n = 1;
    sd.dim = 0;
    ASSERT_EQ(RN_ERR_ARG, rn_server_init(&s, &sd, block, sizeof block));
    PASS();
}

/* clang-format off */

/* X(change, status) of the desc of an agent */
#define BAD_AGENTS(X)                                                  \
    X(d.env.reset = NULL,                               RN_ERR_ARG)    \
    X(d.policy.dim = 0,                                 RN_ERR_ARG)    \
    X(d.env.actions = d.policy.actions = ((size_t)1 << 24) + 1, RN_ERR_DESC) \
    X(d.env.act_dim = d.policy.act_dim = 2,             RN_ERR_DESC)   \
    X(d.env.act_low = -(double)INFINITY,                RN_ERR_DESC)   \
    X(d.env.act_high = (double)INFINITY,                RN_ERR_DESC)   \
    X(d.env.act_dim = d.policy.act_dim = (size_t)-1,    RN_ERR_SIZE)   \
    X(d.env.obs_dim = d.policy.obs_dim = (size_t)-1,    RN_ERR_SIZE)   \
    X(d.policy.dim = (size_t)-1,                        RN_ERR_SIZE)   \
    X(d.method.clip = (double)INFINITY,                 RN_ERR_DESC)   \
    X(d.method.clip = -1,                               RN_ERR_DESC)   \
    X(d.method.ridge = (double)INFINITY,                RN_ERR_DESC)   \
    X(d.method.forget = 2,                              RN_ERR_DESC)   \
    X(d.method.estimator = (rn_estimator)7,             RN_ERR_DESC)   \
    X(d.method.baseline = (rn_baseline)7,               RN_ERR_DESC)
/* clang-format on */

/* clang-format off */

/* ... and of a server */
#define BAD_SERVERS(X)                                                 \
    X(d.beta1 = 1,                                      RN_ERR_DESC)   \
    X(d.beta1 = -1,                                     RN_ERR_DESC)   \
    X(d.beta2 = 1,                                      RN_ERR_DESC)   \
    X(d.beta2 = -1,                                     RN_ERR_DESC)   \
    X(d.epsilon = -1,                                   RN_ERR_DESC)   \
    X(d.radius = -1,                                    RN_ERR_DESC)   \
    X(d.gamma.value = (double)NAN,                      RN_ERR_DESC)   \
    X(d.gamma.end = (double)NAN,                        RN_ERR_DESC)   \
    X(d.eta.factor = (double)NAN,                       RN_ERR_DESC)   \
    X(d.eta.shift = (double)NAN,                        RN_ERR_DESC)   \
    X(d.eta = rn_schedule_staircase(1, -1, 1),                       RN_ERR_DESC)   \
    X(d.eta = rn_schedule_staircase(1, 2, 1),                        RN_ERR_DESC)   \
    X(d.eta.kind = (rn_schedule_kind)9,                 RN_ERR_DESC)   \
    X(d.eta.kind = RN_SCHEDULE_CALLBACK,                         RN_ERR_DESC)

/* clang-format on */
TEST bad_agents_and_servers(void) {
    static corner c;
    unsigned char block[64];
    rn_agent *a;
    rn_server *s;
    corner_make(&c, 0);

    /* clang-format off */

    #define X(change, status) { rn_agent_desc d = c.a; change;                                             \
        ASSERT_EQ((size_t)0, rn_agent_size(&d));                                                           \
        ASSERT_EQm(#change, status, rn_agent_init(&a, &d, block, sizeof block)); }
    /* clang-format on */
    BAD_AGENTS(X)
#undef X

    /* clang-format off */

    #define X(change, status) { rn_server_desc d; memset(&d, 0, sizeof d); d.n = d.dim = 2; change;        \
        ASSERT_EQ((size_t)0, rn_server_size(&d));                                                          \
        ASSERT_EQm(#change, status, rn_server_init(&s, &d, block, sizeof block)); }
    /* clang-format on */
    BAD_SERVERS(X)
#undef X
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
    static const rn_real outside[] = {-1, STATES, (rn_real)NAN};
    rn_table table;
    const rn_policy p = rn_make_table_policy(&table, STATES, ACTIONS);
    for (size_t i = 0; i < 3; i++) {
        unsigned char work[512];
        rn_real theta[DIM] = {0}, g[DIM] = {0}, u[DIM] = {0}, h[DIM] = {0}, act = 0, c = 0;
        const rn_real one = 1;
        ASSERT(rn_policy_work_size(&p, 1) <= sizeof work);
        ASSERT_EQ(RN_OK, rn_policy_act(&p, theta, &outside[i], NULL, &act, work, sizeof work));
        ASSERT(isnan(act));
        act = 0;
        p.grad(p.self, theta, 1, &outside[i], &act, &one, g, work);
        p.dot(p.self, theta, u, 1, &outside[i], &act, &c, work);
        p.hvp(p.self, theta, u, 1, &outside[i], &act, &one, &one, h, work);
        ASSERT(isnan(g[0]) && isnan(c) && isnan(h[0]));
    }
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
    static corner c;
    unsigned char block[4096];
    rn_policy p;
    rn_real x[4] = {2, 0, 0, 0}, u[1] = {0}, v[1] = {0}, k[2], cc[2], tmp[3], obs[4] = {0},
            act[2] = {1, 1};
    const rn_real w[2] = {3, 4};
    const rn_hessian_product b = {&p, x, u, 2, obs, act, w, 0, k, cc, tmp, NULL};
    rn_evaluation_desc ed;
    rn_evaluation e;
    corner_make(&c, 0);
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
    c.d.policy =
        p; /* no init: theta starts at 0; saved in the middle of a trajectory without prepare */
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
    static corner c;
    static unsigned char block[1 << 14];
    rn_agent *a;
    rn_real theta = 0;
    const double kept = (double)(REAL_MAX * (rn_real)0.9);
    corner_make(&c, 0);
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
    static corner c;
    rn_trainer *t;
    unsigned char bytes[64];
    corner_make(&c, 0);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &c.d));
    ASSERT_EQ(RN_OK, rn_agent_begin_round(rn_trainer_agent(t, 1), rn_trainer_theta(t), 0.5));
    ASSERT_EQ((size_t)0, rn_trainer_save_size(t));
    ASSERT_EQ(RN_ERR_MEMORY, rn_trainer_save(t, bytes, sizeof bytes));
    rn_trainer_destroy(t);
    PASS();
}

/* ---- adversaries with their own numbers, and one that fails at its own attack */
TEST attacks_with_their_own_numbers(void) {
    static corner c;
    rn_trainer *t;
    rn_attack l;
    rng r = rng_make(4);
    corner_make(&c, 0);
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
    ASSERT(rn_theory_trajectories(&p, 1e-8) >
           4503599627370496.0); /* beyond whole numbers of a double */
    ASSERT(rn_theory_trajectories(&p, 1e200) >= 2 && rn_theory_trajectories(&p, 1e200) <= 2);
    ASSERT_EQ((size_t)1000000000, rn_theory_horizon(1e300, 1 - DBL_EPSILON));
    ASSERT_EQ((size_t)0, rn_theory_horizon((double)INFINITY, 0.5));
    ASSERT_EQ((size_t)0, rn_theory_horizon(-1, 0.5));
    PASS();
}

SUITE(corners) {
    RUN_TEST(null_everywhere);
    RUN_TEST(defaults);
    RUN_TEST(rare_nets);
    RUN_TEST(no_future);
    RUN_TEST(inexact_is_good_enough);
    RUN_TEST(sizes_that_do_not_fit);
    RUN_TEST(bad_agents_and_servers);
    RUN_TESTp(random_actions_fill_their_range, 0, 0);
    RUN_TESTp(random_actions_fill_their_range, -3, 5);
    RUN_TESTp(random_actions_fill_their_range, 0, 2);
    RUN_TEST(states_outside_the_table);
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
