/* The agents, server and trainer of resnharpg.h, round by round, against a plain and slow Algorithm
   1 written here for every option; and the promise of the same bits for any threads, budgets and
   arrangement of the parts. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"
#include "pools.h"

#ifdef AGG_DOUBLE
#define TOL 1e-12
#else
#define TOL 5e-5
#endif
enum { N = 7, DIM = 32, H = 6, X = 4 + 2 * FEATURES, ROUNDS = 8, MEMORY = 4096 };

/* ---- the options under test */

/* clang-format off */

#define OPTION_LIST(O)                                                                            \
    O(PAPER,              )                                                                       \
    O(TABLE_POLICY,       )                                                                       \
    O(RELU_NET,           )                                                                       \
    O(LONE_AGENT,         d->agents = 1; d->server.agg.f = 0)                                     \
    O(REINFORCE,          d->method.estimator = RN_REINFORCE)                                     \
    O(BATCH,              d->method.batch = 3)                                                    \
    O(CAUSAL,             d->method.causal = 1)                                                   \
    O(CAUSAL_REINFORCE,   d->method.causal = 1; d->method.estimator = RN_REINFORCE)               \
    O(BASE_TIME,          d->method.baseline = RN_BASELINE_TIME; d->method.forget = 0.7)          \
    O(BASE_TIME_BATCH,    d->method.baseline = RN_BASELINE_TIME; d->method.batch = 2)             \
    O(BASE_TIME_RF,       d->method.baseline = RN_BASELINE_TIME;                                  \
                          d->method.estimator = RN_REINFORCE)                                     \
    O(BASE_RIDGE,         d->method.baseline = RN_BASELINE_RIDGE)                                 \
    O(BASE_RIDGE_ALL,     d->method.baseline = RN_BASELINE_RIDGE; d->method.ridge = 0.1;          \
                          d->method.forget = 0.5; d->method.batch = 2; d->method.causal = 1)      \
    O(BASE_RIDGE_RF,      d->method.baseline = RN_BASELINE_RIDGE;                                 \
                          d->method.estimator = RN_REINFORCE)                                     \
    O(WHITEN,             d->method.whiten = 1)                                                   \
    O(WHITEN_BASE,        d->method.whiten = 1; d->method.baseline = RN_BASELINE_TIME)            \
    O(CLIP,               d->method.clip = 0.05)                                                  \
    O(CLIP_BATCH,         d->method.clip = 0.05; d->method.batch = 2)                             \
    O(NO_HESSIAN,         d->method.no_hessian = 1)                                               \
    O(NO_MEMORY,          d->method.no_memory = 1)                                                \
    O(NO_MEMORY_CLIP,     d->method.no_memory = 1; d->method.clip = 0.05)                         \
    O(ETA_ONE,            d->server.eta = rn_schedule_constant(1))                                \
    O(ETA_ZERO,           d->server.eta = rn_schedule_linear(1, 0, 1))                               \
    O(DISCOUNT_ONE,       d->method.discount = 1)                                                 \
    O(DISCOUNT_ZERO,      d->method.discount = 0)                                                 \
    O(SHORT,              d->method.horizon = 1)                                                  \
    O(VANILLA,            d->method.no_hessian = 1; d->server.eta = rn_schedule_constant(1);      \
                          d->server.agg.rule = AGG_MEAN; d->server.update = RN_UPDATE_PLAIN)      \
    O(LINEAR_DECAY,       d->server.gamma = rn_schedule_linear(0.3, 0.1, 4);                      \
                          d->server.eta = rn_schedule_linear(0.9, 0.2, 3))                        \
    O(STAIRCASE,          d->server.gamma = rn_schedule_staircase(0.3, 0.5, 2);                   \
                          d->server.eta = rn_schedule_staircase(1, 0.7, 3))                       \
    O(THEOREM,            d->server.gamma = rn_theory_gamma(0.05, 1);                             \
                          d->server.eta = rn_theory_eta())                                        \
    O(CALLBACK,           d->server.gamma.kind = d->server.eta.kind = RN_SCHEDULE_CALLBACK;       \
                          d->server.gamma.at = wave; d->server.eta.at = wave;                     \
                          d->server.eta.self = &half; d->server.gamma.self = &third)              \
    O(UPDATE_PLAIN,       d->server.update = RN_UPDATE_PLAIN)                                     \
    O(UPDATE_ADAM,        d->server.update = RN_UPDATE_ADAM;                                      \
                          d->server.gamma = rn_schedule_constant(0.02))                           \
    O(UPDATE_ADAM_UNIT,   d->server.update = RN_UPDATE_ADAM_NORMALISED;                           \
                          d->server.gamma = rn_schedule_constant(0.02))                           \
    O(UPDATE_ADAM_BETAS,  d->server.update = RN_UPDATE_ADAM;                                      \
                          d->server.gamma = rn_schedule_constant(0.02); d->server.beta1 = 0.5;    \
                          d->server.beta2 = 0.8; d->server.epsilon = 0.1)                         \
    O(RADIUS,             d->server.radius = 2)                                                   \
    O(RULE_CWTM,          d->server.agg.rule = AGG_CWTM)                                          \
    O(RULE_GM,            d->server.agg.rule = AGG_GM)                                            \
    O(RULE_CGE,           d->server.agg.rule = AGG_CGE)                                           \
    O(RULE_CCLIP,         d->server.agg.rule = AGG_CCLIP; d->server.agg.start = start_point)      \
    O(RULE_OWN,           d->server.aggregate = first_row)                                        \
    O(PRE_NNM,            d->server.agg.pre[0] = AGG_PRE_NNM)                                     \
    O(PRE_ARC_NNM,        d->server.agg.pre[0] = AGG_PRE_ARC; d->server.agg.pre[1] = AGG_PRE_NNM; \
                          d->server.agg.rule = AGG_CWMED)                                         \
    O(PRE_CLIP,           d->server.agg.pre[0] = AGG_PRE_CLIP; d->server.agg.clip = 0.5)          \
    O(PRE_BUCKETS,        d->server.agg.pre[0] = AGG_PRE_BUCKETING;                               \
                          d->server.agg.rng = bucket_rng; d->server.agg.rule = AGG_CWMED;         \
                          d->server.agg.f = 1)                                                    \
    O(ATTACK_FLIP,        d->adversaries = 2)                                                     \
    O(ATTACK_FLIP_STRONG, d->adversaries = 2; d->attack.vector.strength = 10)                     \
    O(ATTACK_IPM,         d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_IPM)             \
    O(ATTACK_ALIE,        d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_ALIE)            \
    O(ATTACK_MIMIC,       d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_MIMIC;           \
                          d->attack.vector.target = 1)                                            \
    O(ATTACK_ZEROS,       d->adversaries = 1; d->attack.vector.kind = AGG_ATTACK_ZERO)            \
    O(ATTACK_NOISE,       d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_NOISE;           \
                          d->attack.vector.rng = noise_rng)                                       \
    O(ATTACK_GAUSS,       d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_GAUSSIAN;        \
                          d->attack.vector.rng = noise_rng)                                       \
    O(ATTACK_NANS,        d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_NAN)             \
    O(ATTACK_INFS,        d->adversaries = 2; d->attack.vector.kind = AGG_ATTACK_INF)             \
    O(ATTACK_ACTIONS,     d->adversaries = 2; d->attack.kind = RN_ATTACK_RANDOM_ACTION)           \
    O(ATTACK_REWARDS,     d->adversaries = 2; d->attack.kind = RN_ATTACK_REWARD_FLIP)             \
    O(ATTACK_SILENCE,     d->adversaries = 2; d->attack.kind = RN_ATTACK_SILENCE)                 \
    O(ATTACK_EACH,        d->attacks = each_attacks)                                              \
    O(TOO_MANY_SILENT,    d->adversaries = 3; d->attack.kind = RN_ATTACK_SILENCE)                 \
    O(FLAT,               d->method.flat = 1)                                                     \
    O(FLAT_CAUSAL,        d->method.flat = d->method.causal = 1)                                  \
    O(FLAT_TIME,          d->method.flat = d->method.causal = 1;                                  \
                          d->method.baseline = RN_BASELINE_TIME)                                  \
    O(FLAT_RIDGE,         d->method.flat = 1; d->method.baseline = RN_BASELINE_RIDGE)             \
    O(FLAT_RIDGE_ALL,     d->method.flat = d->method.causal = 1; d->method.clip = 0.3;            \
                          d->method.baseline = RN_BASELINE_RIDGE; d->method.batch = 2)            \
    O(FLAT_WHITEN,        d->method.flat = d->method.whiten = d->method.causal = 1)               \
    O(FLAT_ZERO,          d->method.flat = d->method.causal = 1; d->method.discount = 0)          \
    O(REUSE,              d->method.reuse = 1)                                                    \
    O(REUSE_BATCH,        d->method.reuse = d->method.causal = 1; d->method.batch = 3)            \
    O(REUSE_CLIP,         d->method.reuse = 1; d->method.clip = 0.05)                             \
    O(REUSE_NO_MEMORY,    d->method.reuse = d->method.no_memory = 1)                              \
    O(REUSE_ALL,          d->method.reuse = d->method.flat = d->method.causal = 1;                \
                          d->method.baseline = RN_BASELINE_RIDGE; d->method.batch = 2;            \
                          d->method.clip = 0.3; d->server.soft = 1)                               \
    O(REUSE_TABLE,        d->method.reuse = 1)                                                    \
    O(SOFT,               d->server.soft = 1)                                                     \
    O(SOFT_ADAM,          d->server.soft = 1; d->server.update = RN_UPDATE_ADAM;                  \
                          d->server.gamma = rn_schedule_constant(0.02))                           \
    O(SOFT_ADAM_UNIT,     d->server.soft = 1; d->server.update = RN_UPDATE_ADAM_NORMALISED)       \
    O(SOFT_MISSING,       d->server.soft = 1; d->server.aggregate = first_row_or_none)            \
    O(TUNED,              d->method.tuned = 1)                                                    \
    O(TUNED_BATCH,        d->method.tuned = d->method.causal = 1; d->method.batch = 2)            \
    O(TUNED_ANEW,         d->method.tuned = 1; d->server.eta = rn_schedule_linear(0.5, 1, 3))     \
    O(TUNED_STILL,        d->method.tuned = 1; d->server.aggregate = first_row_or_none)           \
    O(TUNED_ALL,          d->method.tuned = d->method.flat = d->method.causal = 1;                \
                          d->method.baseline = RN_BASELINE_RIDGE; d->server.soft = 1)             \
    O(KL,                 d->server.kl = 1e-3)                                                    \
    O(KL_LONG,            d->server.kl = 1e3)                                                     \
    O(KL_TUNED,           d->server.kl = 1e-2; d->method.tuned = 1; d->method.batch = 2;          \
                          d->server.gamma = rn_schedule_linear(9, 0, 20); d->server.soft = 1)     \
    O(KL_NO_HESSIAN,      d->server.kl = 1e-3; d->method.no_hessian = 1; d->adversaries = 2)      \
    O(KL_ANEW,            d->server.kl = 1e-3; d->server.eta = rn_schedule_constant(1))           \
    O(KL_SILENCE,         d->server.kl = 1e-3; d->adversaries = 2;                                \
                          d->attack.kind = RN_ATTACK_SILENCE)                                     \
    O(KL_MISSING,         d->server.kl = 1e-3; d->server.aggregate = first_row_or_none)           \
    O(OWN_RNGS,           )                                                                       \
    O(MADE_ENVS,          )
/* clang-format on */
#define OPTION_X(id, ...) OPT_##id,

enum { OPTION_LIST(OPTION_X) OPTIONS };

#undef OPTION_X
#define OPTION_X(id, ...) #id,
static const char *const option_names[OPTIONS] = {OPTION_LIST(OPTION_X)};
#undef OPTION_X

static double half = 0.5, third = 0.3;

static double wave(void *self, size_t t) { return *(double *)self * (t % 2 ? 1.0 : 0.5); }

static agg_status first_row(void *self, const rn_real *const *row, size_t n, size_t dim,
                            rn_real *out) {
    (void)self;
    (void)n;
    memcpy(out, row[0], dim * sizeof *out);
    return AGG_OK;
}

/* refuses when that row begins with a positive number: some rounds have no update */
static agg_status first_row_or_none(void *self, const rn_real *const *row, size_t n, size_t dim,
                                    rn_real *out) {
    return row[0][0] > 0 ? AGG_ERR_ROWS : first_row(self, row, n, dim, out);
}

typedef struct setup { /* all that a desc points to */
    mdp m;
    model p;
    walk walks[N];
    rn_env envs[N];
    rn_attack each[N];
    rn_random randoms[N];
    agg_rng rngs[N];
    rng noise, bucket;
    rn_real theta[DIM], start[DIM];
    rn_trainer_desc d;
} setup;

static rn_env setup_env(void *self, size_t i) { return ((setup *)self)->envs[i]; }

static void setup_make(setup *s, int option) {
    rn_trainer_desc *d = &s->d;
    rn_net_desc net = net_desc(FEATURES, ACTIONS, 3, 0, option == OPT_RELU_NET ? RN_RELU : RN_TANH);
    rng r = rng_make(55);
    agg_rng noise_rng, bucket_rng;
    const rn_attack *each_attacks = s->each;
    const rn_real *start_point = s->start;
    memset(s, 0, sizeof *s);
    s->m = mdp_random(60);
    s->noise = rng_make(1);
    s->bucket = rng_make(2);
    noise_rng = rng_for_library(&s->noise);
    bucket_rng = rng_for_library(&s->bucket);
    model_for_walk(&s->p, option == OPT_TABLE_POLICY || option == OPT_REUSE_TABLE, &net);
    for (size_t i = 0; i < s->p.policy.dim; i++) {
        s->theta[i] = (rn_real)(0.7 * rng_normal(&r));
        s->start[i] = (rn_real)(0.1 * rng_normal(&r));
    }
    for (uint32_t i = 0; i < N; i++) {
        s->envs[i] = walk_env(&s->walks[i], &s->m, s->p.table);
        s->randoms[i] = rn_make_random(99, i + 3);
        s->rngs[i] = rn_random_rng(&s->randoms[i]);
        s->each[i].kind = RN_ATTACK_NONE;
    }
    s->each[1].kind = RN_ATTACK_RANDOM_ACTION;
    s->each[4].kind = RN_ATTACK_VECTOR;
    d->agents = N;
    d->envs = s->envs;
    d->policy = s->p.policy;
    d->seed = 12345;
    d->method.horizon = H;
    d->method.discount = 0.95;
    d->server.agg.f = 2;
    d->server.theta = s->theta;
    d->server.eta = rn_schedule_constant(0.4);
    d->server.gamma = rn_schedule_constant(0.2);
    if (option == OPT_OWN_RNGS) d->rngs = s->rngs;
    if (option == OPT_MADE_ENVS) {
        d->envs = NULL;
        d->make_env = setup_env;
        d->make_env_self = s;
    }
#define OPTION_X(id, ...)                                                                          \
    case OPT_##id: __VA_ARGS__; break;
    switch (option) { OPTION_LIST(OPTION_X) default : break; }
#undef OPTION_X
}

/* ---- Algorithm 1, plain. Everything in long double, sums over all pairs, all past data kept. */
typedef struct plain_data {
    size_t round, t;
    wide psi, x[X], y;
} plain_data;

typedef struct plain_filter { /* method.tuned */
    wide d[DIM], noise, error, lag, score;
} plain_filter;

typedef struct plain_agent {
    plain_filter filter[3];
    wide change; /* sum of ||v||^2/||u||^2 over the rounds that moved */
    size_t tuned, moves;
    wide curvature; /* mean c_t^2/||u||^2; -1: not known */
    wide sum_cc;
    size_t count_cc;
    rn_random random;
    agg_rng rng;
    walk walk;
    rn_env env;
    wide d[DIM], before[DIM];
    int has_d, random_action, flip_reward;
    size_t round, trajectories, steps, past_n;
    double mean_return, mean_length;
    plain_data past[MEMORY];
    wide coef[X];
} plain_agent;

typedef struct plain_trajectory {
    size_t T;
    rn_real obs[(H + 1) * FEATURES], act[H];
    double reward[H];
} plain_trajectory;

static const rn_method *plain_method; /* with defaults filled in */
static const model *plain_model;

static void plain_play(plain_agent *a, const wide *theta, plain_trajectory *e) {
    const size_t obs_dim = plain_model->policy.obs_dim;
    rn_step_result result = RN_RUNNING;
    hyper th[DIM], x[FEATURES];
    for (size_t i = 0; i < plain_model->policy.dim; i++) th[i] = hy(theta[i]);
    a->env.reset(a->env.self, &a->rng, e->obs);
    for (e->T = 0; result == RN_RUNNING && e->T < plain_method->horizon; e->T++) {
        const rn_real *now = e->obs + e->T * obs_dim;
        rn_real zero = 0;
        hy_obs(now, obs_dim, x);
        if (a->random_action)
            e->act[e->T] = (rn_real)rn_draw_below(&a->rng, ACTIONS);
        else
            e->act[e->T] =
                (wide)rn_draw_uniform(&a->rng) < expl(model_log_pi(plain_model, th, x, &zero).v)
                    ? 0
                    : 1;
        result = a->env.step(a->env.self, &e->act[e->T], &a->rng, e->obs + (e->T + 1) * obs_dim,
                             &e->reward[e->T]);
        if (a->flip_reward) e->reward[e->T] = -e->reward[e->T];
        a->steps++;
    }
    a->trajectories++;
}

static void plain_features(size_t t, const rn_real *obs, wide *x) {
    const size_t n = plain_model->policy.obs_dim;
    const wide time = (wide)t / (wide)plain_method->horizon;
    for (size_t i = 0; i < X; i++) x[i] = 0;
    x[0] = 1;
    for (size_t i = 1; i < 4; i++) x[i] = x[i - 1] * time;
    for (size_t i = 0; i < n; i++) {
        x[4 + i] = (wide)obs[i];
        x[4 + n + i] = (wide)obs[i] * (wide)obs[i];
    }
}

/* weighted ridge regression on all that was seen before this round, by elimination */
static void plain_regression(plain_agent *a) {
    const size_t n = 4 + 2 * plain_model->policy.obs_dim;
    wide A[X][X + 1] = {{0}};
    for (size_t k = 0; k < a->past_n; k++) {
        const plain_data *p = &a->past[k];
        const wide w = powl((wide)plain_method->forget, (wide)(a->round - 1 - p->round));
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) A[i][j] += w * p->x[i] * p->x[j];
            A[i][n] += w * p->x[i] * p->y;
        }
    }
    {
        const wide least = 1e-12L * (1 + A[0][0]); /* where a feature was never seen */
        for (size_t i = 0; i < n; i++) A[i][i] += (wide)plain_method->ridge * A[i][i] + least;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            const wide by = A[k][i] / A[i][i];
            for (size_t j = 0; j <= n && k != i; j++) A[k][j] -= by * A[i][j];
        }
    for (size_t i = 0; i < n; i++) a->coef[i] = A[i][n] / A[i][i];
}

static void plain_weights(plain_agent *a, const plain_trajectory *e, wide *w) {
    const size_t first = a->past_n;
    const int whole = plain_method->estimator == RN_REINFORCE;
    for (size_t t = 0; t < e->T; t++) {
        plain_data *p = &a->past[a->past_n++];
        const wide power = plain_method->flat ? 1 : powl((wide)plain_method->discount, (wide)t);
        if (a->past_n > MEMORY) abort();
        p->round = a->round;
        p->t = t;
        p->psi = 0;
        for (size_t h = whole ? 0 : t; h < e->T; h++)
            p->psi += powl((wide)plain_method->discount, (wide)(plain_method->flat ? h - t : h)) *
                      (wide)e->reward[h];
        p->y = whole ? p->psi : power > 0 ? p->psi / power : 0;
        plain_features(t, e->obs + t * plain_model->policy.obs_dim, p->x);
        w[t] = p->psi;
        if (plain_method->baseline == RN_BASELINE_TIME) {
            wide sum = 0, count = 0;
            for (size_t k = 0; k < first; k++)
                if (a->past[k].t == t) {
                    const wide age =
                        powl((wide)plain_method->forget, (wide)(a->round - a->past[k].round));
                    sum += age * a->past[k].psi;
                    count += age;
                }
            if (count > 0) w[t] -= sum / count;
        } else if (plain_method->baseline == RN_BASELINE_RIDGE) {
            wide value = 0;
            for (size_t i = 0; i < X; i++) value += a->coef[i] * p->x[i];
            w[t] -= (whole ? 1 : power) * value;
        }
    }
    if (plain_method->whiten) {
        wide mean = 0, var = 0;
        for (size_t t = 0; t < e->T; t++) mean += w[t] / (wide)e->T;
        for (size_t t = 0; t < e->T; t++) var += (w[t] - mean) * (w[t] - mean) / (wide)e->T;
        for (size_t t = 0; t < e->T; t++) w[t] = (w[t] - mean) / (sqrtl(var) + 1e-8L);
    }
}

static wide plain_norm(const wide *x, size_t n) {
    wide s = 0;
    for (size_t i = 0; i < n; i++) s += x[i] * x[i];
    return sqrtl(s);
}

/* v += B(tau, theta) u / m */
static void plain_add_v(const wide *theta, const wide *u, const plain_trajectory *e, const wide *w,
                        wide *v) {
    const rn_method *m = plain_method;
    wide part[DIM];
    model_bu(plain_model, theta, u, e->T, e->obs, e->act, w,
             m->causal ? (wide)(m->flat ? m->discount : 1) : -1, part);
    for (size_t i = 0; i < plain_model->policy.dim; i++) v[i] += part[i] / (wide)m->batch;
}

/* sum of c_t^2 */
static void plain_see_c(plain_agent *a, const wide *theta, const wide *u,
                        const plain_trajectory *e) {
    const rn_policy *p = &plain_model->policy;
    wide grad[DIM], hess[DIM];
    for (size_t t = 0; t < e->T; t++, a->count_cc++) {
        const wide c = model_step(plain_model, theta, u, e->obs + t * p->obs_dim,
                                  e->act + t * p->act_dim, grad, hess);
        a->sum_cc += c * c;
    }
}

static wide plain_product(const wide *x, const wide *y, size_t n) {
    wide s = 0;
    for (size_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

/* One filter that takes `share` of V for the gradient's way. ROUNDS are too few for its averages to
   forget anything. */
static void plain_filter_round(plain_filter *f, wide share, wide V, const wide *g, const wide *v,
                               size_t rounds) {
    const size_t dim = plain_model->policy.dim;
    const wide gg = plain_product(g, g, dim), gd = plain_product(g, f->d, dim),
               dd = plain_product(f->d, f->d, dim), root = sqrtl(share * V);
    const wide sum = f->noise + f->error + f->lag * f->lag, pp = gg - 2 * gd + dd;
    wide w = V > 0 ? (share * V + f->lag * root) / V : 0, noise, lag, P, eta;
    if (w > 1) w = 1;
    noise = f->error + w * w * (1 - share) * V;
    lag = f->lag + (1 - w) * root;
    P = noise + lag * lag;
    eta = P + f->noise > 0 ? P / (P + f->noise) : 1;
    if (eta < 1.0L / 256) eta = 1.0L / 256;
    if (sum > 0 && pp > 0) f->noise += (pp * f->noise / sum - f->noise) / (wide)rounds;
    f->score += (dd - 2 * gd - f->score) / (wide)rounds;
    f->error = (1 - eta) * (1 - eta) * noise + eta * eta * f->noise;
    f->lag = (1 - eta) * lag;
    for (size_t i = 0; i < dim; i++) f->d[i] = (1 - eta) * (f->d[i] + w * v[i]) + eta * g[i];
}

static void plain_tune(plain_agent *a, const wide *u, const wide *g, const wide *v, int anew) {
    static const wide share[3] = {(wide)0.75, (wide)0.1, (wide)0.001};
    const size_t dim = plain_model->policy.dim;
    const wide uu = plain_product(u, u, dim), vv = plain_product(v, v, dim);
    size_t best = 0;
    for (size_t k = 1; k < 3; k++)
        if (a->filter[k].score < a->filter[best].score) best = k;
    if (!anew) a->tuned++;
    for (size_t k = 0; k < 3; k++) {
        plain_filter *f = &a->filter[k];
        const wide past = a->moves ? a->change / (wide)a->moves : uu > 0 ? vv / uu : 0;
        if (!anew) {
            plain_filter_round(f, share[k], past * uu, g, v, a->tuned);
            continue;
        }
        if (!a->tuned) f->noise = plain_product(g, g, dim);
        f->error = f->noise;
        f->lag = 0;
        for (size_t i = 0; i < dim; i++) f->d[i] = g[i];
    }
    if (!anew && uu > 0) {
        a->change += vv / uu;
        a->moves++;
    }
    for (size_t i = 0; i < dim; i++) a->d[i] = a->filter[best].d[i];
}

static void plain_round(plain_agent *a, const wide *theta, wide eta) {
    const size_t dim = plain_model->policy.dim, m = plain_method->batch;
    wide u[DIM], g[DIM] = {0}, v[DIM] = {0}, part[DIM], w[H], size, most;
    int moved = 0, with_v;
    a->round++;
    plain_regression(a);
    if (!a->has_d) { /* the first round */
        eta = 1;
        for (size_t i = 0; i < dim; i++) {
            a->d[i] = 0;
            a->before[i] = theta[i];
        }
    }
    for (size_t i = 0; i < dim; i++) {
        u[i] = theta[i] - a->before[i];
        moved |= u[i] < 0 || u[i] > 0;
    }
    with_v = moved && eta < 1 && !plain_method->no_hessian;
    a->sum_cc = 0;
    a->count_cc = 0;
    a->mean_return = a->mean_length = 0;
    for (size_t k = 0; k < m; k++) {
        plain_trajectory e;
        plain_play(a, theta, &e);
        plain_weights(a, &e, w);
        model_gradient(plain_model, theta, e.T, e.obs, e.act, w, part);
        for (size_t i = 0; i < dim; i++) g[i] += part[i] / (wide)m;
        if (with_v && plain_method->reuse) plain_add_v(theta, u, &e, w, v);
        if (moved && (!with_v || plain_method->reuse)) plain_see_c(a, theta, u, &e);
        for (size_t t = 0; t < e.T; t++) a->mean_return += e.reward[t] / (double)m;
        a->mean_length += (double)e.T / (double)m;
    }
    for (size_t k = 0; k < m && with_v && !plain_method->reuse; k++) {
        const wide q = (wide)rn_draw_uniform(&a->rng);
        wide hat[DIM];
        plain_trajectory e;
        for (size_t i = 0; i < dim; i++) hat[i] = q * theta[i] + (1 - q) * a->before[i];
        plain_play(a, hat, &e);
        plain_weights(a, &e, w);
        plain_add_v(hat, u, &e, w, v);
        plain_see_c(a, hat, u, &e);
    }
    if (moved) a->curvature = a->sum_cc / (wide)a->count_cc / plain_product(u, u, dim);
    if (plain_method->tuned) {
        plain_tune(a, u, g, v, !a->has_d || eta >= 1);
        for (size_t i = 0; i < dim; i++) a->before[i] = theta[i];
        a->has_d = 1;
        return;
    }
    size = plain_norm(v, dim);
    most = (wide)plain_method->clip * plain_norm(a->d, dim);
    if (plain_method->clip > 0 && size > most)
        for (size_t i = 0; i < dim; i++) v[i] *= most / size;
    for (size_t i = 0; i < dim; i++) {
        a->d[i] = (1 - eta) * ((plain_method->no_memory ? 0 : a->d[i]) + v[i]) + eta * g[i];
        a->before[i] = theta[i];
    }
    a->has_d = 1;
}

typedef struct plain_server {
    wide theta[DIM], m[DIM], v[DIM];
    wide norm[ROUNDS], gamma; /* soft: of every step so far; of the last step */
    wide k;                   /* kl */
    size_t t, steps;
} plain_server;

static wide plain_schedule(const rn_schedule *s, size_t t) {
    const size_t many = s->rounds ? s->rounds : 1;
    switch (s->kind) {
    case RN_SCHEDULE_CONSTANT: return (wide)s->value;
    case RN_SCHEDULE_LINEAR:
        return t > many
                   ? (wide)s->end
                   : (wide)s->value + ((wide)s->end - (wide)s->value) * (wide)(t - 1) / (wide)many;
    case RN_SCHEDULE_STAIRCASE:
        return (wide)s->value * powl((wide)s->factor, (wide)((t - 1) / many));
    case RN_SCHEDULE_INVERSE: return (wide)s->value / ((wide)(t / many) + (wide)s->shift);
    case RN_SCHEDULE_CALLBACK: return (wide)s->at(s->self, t);
    }
    return 0;
}

/* min(1, last norm / rms of all), each norm at most 4 times the rms before it */
static wide plain_soft(const plain_server *s) {
    wide sum = 0, rms = 0;
    for (size_t i = 0; i < s->steps; i++) {
        const wide x = rms > 0 && s->norm[i] > 4 * rms ? 4 * rms : s->norm[i];
        sum += x * x;
        rms = sqrtl(sum / (wide)(i + 1));
    }
    return s->steps && s->norm[s->steps - 1] < rms ? s->norm[s->steps - 1] / rms : 1;
}

static void plain_step(plain_server *s, const rn_server_desc *d, const rn_real *dir, size_t dim) {
    const wide gamma = s->gamma;
    const wide beta1 = d->beta1 > 0 ? (wide)d->beta1 : 0.9L,
               beta2 = d->beta2 > 0 ? (wide)d->beta2 : 0.999L;
    const wide epsilon = d->epsilon > 0 ? (wide)d->epsilon : 1e-8L;
    wide x[DIM], norm;
    for (size_t i = 0; i < dim; i++) x[i] = (wide)dir[i];
    norm = plain_norm(x, dim);
    s->norm[s->steps++] = norm;
    for (size_t i = 0; i < dim; i++) {
        if (d->update == RN_UPDATE_NORMALISED || d->update == RN_UPDATE_ADAM_NORMALISED)
            x[i] = norm > 0 ? x[i] / norm : 0;
        if (d->update == RN_UPDATE_ADAM || d->update == RN_UPDATE_ADAM_NORMALISED) {
            s->m[i] = beta1 * s->m[i] + (1 - beta1) * x[i];
            s->v[i] = beta2 * s->v[i] + (1 - beta2) * x[i] * x[i];
            x[i] = s->m[i] / (1 - powl(beta1, (wide)s->steps)) /
                   (sqrtl(s->v[i] / (1 - powl(beta2, (wide)s->steps))) + epsilon);
        }
        s->theta[i] += gamma * x[i];
    }
    norm = plain_norm(s->theta, dim);
    if (d->radius > 0 && norm > (wide)d->radius)
        for (size_t i = 0; i < dim; i++) s->theta[i] *= (wide)d->radius / norm;
}

typedef struct plain_run {
    setup *s; /* its own: random numbers for noise and buckets are drawn here too */
    rn_method method;
    plain_server server;
    plain_agent agents[N];
    rn_attack attacks[N];
} plain_run;

static void plain_open(plain_run *p, setup *s) {
    const rn_trainer_desc *d = &s->d;
    memset(p, 0, sizeof *p);
    p->s = s;
    p->method = d->method;
    if (!p->method.batch) p->method.batch = 1;
    if (!(p->method.forget > 0)) p->method.forget = 0.9;
    if (!(p->method.ridge > 0)) p->method.ridge = 1e-3;
    if (p->method.tuned) p->method.reuse = 1;
    p->server.t = 1;
    p->server.k = 0.001L;
    for (size_t i = 0; i < s->p.policy.dim; i++) p->server.theta[i] = (wide)s->theta[i];
    for (size_t i = 0; i < d->agents; i++) {
        plain_agent *a = &p->agents[i];
        p->attacks[i].kind = RN_ATTACK_NONE;
        if (d->attacks)
            p->attacks[i] = d->attacks[i];
        else if (i + d->adversaries >= d->agents)
            p->attacks[i] = d->attack;
        a->random = d->rngs ? s->randoms[i] : rn_make_random(d->seed, (uint32_t)i);
        a->rng = rn_random_rng(&a->random);
        a->env = walk_env(&a->walk, &s->m, s->p.table);
        a->curvature = -1;
        a->random_action = p->attacks[i].kind == RN_ATTACK_RANDOM_ACTION;
        a->flip_reward = p->attacks[i].kind == RN_ATTACK_REWARD_FLIP;
    }
}

static int by_size(const void *x, const void *y) {
    const wide a = *(const wide *)x, b = *(const wide *)y;
    return (a > b) - (a < b);
}

/* k_t: the number in the middle; what is missing counts as the largest */
static wide plain_kl(const plain_run *p, const rn_real *const *row) {
    const rn_trainer_desc *d = &p->s->d;
    const size_t n = d->agents;
    wide F[N], k;
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        F[i] = row[i] ? p->agents[i].curvature : -1;
        if (p->attacks[i].kind == RN_ATTACK_VECTOR) F[i] = 0;
        bad += F[i] < 0;
        if (F[i] < 0) F[i] = 1e300L;
    }
    if (bad > d->server.agg.f) return p->server.k;
    qsort(F, n, sizeof *F, by_size);
    k = sqrtl(2 * (wide)d->server.kl / F[n / 2]);
    return k < 2 * p->server.k ? k : 2 * p->server.k;
}

static agg_status plain_trainer_round(plain_run *p) {
    const rn_trainer_desc *d = &p->s->d;
    const size_t n = d->agents, dim = p->s->p.policy.dim;
    rn_real data[N][DIM], sent[N][DIM], out[DIM];
    const rn_real *row[N], *honest[N];
    size_t honest_n = 0, adversaries = 0;
    agg_status status;
    plain_method = &p->method;
    plain_model = &p->s->p;
    for (size_t i = 0; i < n; i++) {
        row[i] = NULL;
        adversaries += p->attacks[i].kind != RN_ATTACK_NONE;
        if (p->attacks[i].kind == RN_ATTACK_SILENCE) continue;
        plain_round(&p->agents[i], p->server.theta, plain_schedule(&d->server.eta, p->server.t));
        for (size_t k = 0; k < dim; k++) data[i][k] = (rn_real)p->agents[i].d[k];
        row[i] = data[i];
        if (p->attacks[i].kind == RN_ATTACK_NONE) honest[honest_n++] = data[i];
    }
    for (size_t i = 0; i < n; i++) {
        agg_attack_desc a = p->attacks[i].vector;
        if (p->attacks[i].kind != RN_ATTACK_VECTOR) continue;
        a.n = n;
        a.f = adversaries;
        if (agg_attack(&a, honest, honest_n, dim, data[i], sent[i]) != AGG_OK) abort();
        row[i] = sent[i];
    }
    if (d->server.aggregate) {
        status = d->server.aggregate(NULL, row, n, dim, out);
    } else {
        agg_desc a = d->server.agg;
        a.n = n;
        a.dim = dim;
        status = run(&a, row, out, NULL);
    }
    p->server.gamma = plain_schedule(&d->server.gamma, p->server.t);
    if (d->server.kl > 0) {
        const wide first = plain_schedule(&d->server.gamma, 1), k = plain_kl(p, row);
        if (wrote(status)) p->server.k = k;
        if (k < first) p->server.gamma *= k / first;
    }
    if (d->server.soft) p->server.gamma *= plain_soft(&p->server);
    if (wrote(status)) plain_step(&p->server, &d->server, out, dim);
    p->server.t++;
    return status;
}

/* ---- equality */
static double compare(const rn_real *x, const wide *y, size_t dim) {
    return distance(x, y, dim) / (1 + (double)wide_max(y, dim));
}

TEST every_round_is_algorithm_1(int option) {
    static setup mine, theirs;
    static plain_run plain;
    rn_trainer *trainer;
    double worst_theta = 0, worst_d = 0;
    /* GM stops at a gap of 1e-6: where, rounding says */
    const double tol = option == OPT_RULE_GM ? TOL + 1e-9 : TOL;
    setup_make(&mine, option);
    setup_make(&theirs, option);
    plain_open(&plain, &mine);
    ASSERT_EQ(RN_OK, rn_trainer_create(&trainer, &theirs.d));
    for (size_t t = 1; t <= ROUNDS; t++) {
        const agg_status want = plain_trainer_round(&plain);
        const rn_status got = rn_trainer_run_round(trainer);
        const rn_progress *p = rn_trainer_progress(trainer);
        const size_t dim = theirs.p.policy.dim;
        uint64_t steps = 0;
        double e;
        ASSERT_EQ(wrote(want) ? RN_OK : RN_ERR_AGGREGATE, got);
        ASSERT_EQ(want, p->aggregate);
        ASSERT_EQ(got, p->status);
        ASSERT_EQ(t, p->round);
        ASSERT_EQ(t, rn_trainer_rounds_done(trainer));
        ASSERT_EQ(p->theta, rn_trainer_theta(trainer));
        ASSERT(fabs(p->gamma - (double)plain.server.gamma) <
               (mine.d.server.soft || mine.d.server.kl > 0 ? tol : 1e-15));
        ASSERT(fabs(p->eta - (double)plain_schedule(&mine.d.server.eta, t)) < 1e-15);
        for (size_t i = 0; i < mine.d.agents; i++) {
            const plain_agent *a = &plain.agents[i];
            const rn_agent *b = rn_trainer_agent(trainer, i);
            const rn_stats s = rn_agent_stats(b);
            ASSERT_EQ((uint64_t)a->round, s.rounds);
            ASSERT_EQ((uint64_t)a->trajectories, s.trajectories);
            ASSERT_EQ((uint64_t)a->steps, s.steps);
            ASSERT_EQ(a->walk.state, theirs.walks[i].state);
            ASSERT_EQ(a->walk.resets, theirs.walks[i].resets);
            if (theirs.d.rngs)
                ASSERT(memcmp(&a->random, &theirs.randoms[i], sizeof a->random) == 0);
            steps += s.steps;
            if (!a->has_d) {
                ASSERT_EQ(NULL, rn_agent_direction(b));
                continue;
            }
            ASSERT(fabs(a->mean_return - s.mean_return) < 1e-12 &&
                   fabs(a->mean_length - s.mean_length) < 1e-12);
            e = compare(rn_agent_direction(b), a->d, dim);
            if (!(e <= worst_d)) worst_d = e;
        }
        ASSERT_EQ(steps, p->env_steps);
        e = compare(rn_trainer_theta(trainer), plain.server.theta, dim);
        if (!(e <= worst_theta)) worst_theta = e;
    }
    rn_trainer_destroy(trainer);
    if (GREATEST_IS_VERBOSE())
        printf("    %-18s theta %.1e  d %.1e\n", option_names[option], worst_theta, worst_d);
    if (!(worst_theta < tol))
        FAILm(WHY("%s: theta misses by %g", option_names[option], worst_theta));
    if (!(worst_d < tol)) FAILm(WHY("%s: d misses by %g", option_names[option], worst_d));
    PASS();
}

TEST progress_tells_who_attacked(void) {
    static setup s;
    rn_trainer *t;
    const rn_progress *p;
    double total = 0;
    setup_make(&s, OPT_ATTACK_FLIP_STRONG);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    p = rn_trainer_progress(t);
    ASSERT_EQ((size_t)N, p->n);
    ASSERT_EQ(s.p.policy.dim, p->dim);
    for (int i = 0; i < N; i++) {
        total += p->weight[i];
        ASSERT((p->weight[i] > 0) == (i < 5));
        for (int k = 5; k < N && i < 5; k++) ASSERT(p->suspicion[i] < p->suspicion[k]);
    }
    ASSERT(fabs(total - 1) < 1e-9);
    ASSERT_EQ((size_t)0, p->dropped);
    ASSERT_EQ((uint64_t)5, p->trajectories); /* 1 in the first round, then 2 */
    rn_trainer_destroy(t);
    setup_make(&s, OPT_ATTACK_SILENCE);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ((size_t)2, rn_trainer_progress(t)->dropped);
    ASSERT_EQ((uint64_t)0, rn_agent_stats(rn_trainer_agent(t, 6)).steps);
    rn_trainer_destroy(t);
    PASS();
}

/* an agent that was away: its v spans from the last theta it saw */
TEST missing_manyare_no_problem(void) {
    static setup s;
    static plain_agent a;
    rn_agent_desc d;
    rn_agent *agent;
    void *block;
    wide theta[DIM];
    rn_real real[DIM];
    rng r = rng_make(6);
    static plain_run p;
    setup_make(&s, OPT_PAPER);
    plain_open(&p, &s);
    a = p.agents[0];
    a.rng = rn_random_rng(&a.random);
    a.env = walk_env(&a.walk, &s.m, 0);
    plain_method = &p.method;
    plain_model = &s.p;
    memset(&d, 0, sizeof d);
    d.env = s.envs[0];
    d.policy = s.p.policy;
    d.method = s.d.method;
    d.seed = s.d.seed;
    block = need(malloc(rn_agent_size(&d)));
    ASSERT_EQ(RN_OK, rn_agent_init(&agent, &d, block, rn_agent_size(&d)));
    ASSERT_EQ(NULL, rn_agent_direction(agent));
    for (int t = 0; t < 12; t++) {
        const double eta = 1.0 / (t + 1);
        for (size_t i = 0; i < s.p.policy.dim; i++)
            theta[i] = (wide)(real[i] = (rn_real)(0.5 * rng_normal(&r)));
        if (t % 3 == 1) continue; /* away */
        plain_round(&a, theta, (wide)eta);
        ASSERT_EQ(RN_OK, rn_agent_run_round(agent, real, eta));
        ASSERT(compare(rn_agent_direction(agent), a.d, s.p.policy.dim) < 10 * TOL);
    }
    free(block);
    PASS();
}

/* theta stays: no second trajectory; and then it is played again */
TEST standing_still_saves_the_second_trajectory(void) {
    static setup s;
    rn_trainer *t;
    setup_make(&s, OPT_PAPER);
    s.d.server.gamma = rn_schedule_staircase(0.1, 0, 3); /* 0.1 for three rounds, then 0 */
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (uint64_t k = 1; k <= 6; k++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(k <= 4 ? 2 * k - 1 : k + 3, rn_trainer_progress(t)->trajectories);
    }
    rn_trainer_destroy(t);
    PASS();
}

/* an option that changes nothing would be tested in vain */
TEST options_matter(int option) {
    static setup s;
    rn_real paper[DIM];
    rn_trainer *t;
    for (int k = 0; k < 2; k++) {
        setup_make(&s, k ? option : OPT_PAPER);
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
        for (int i = 0; i < ROUNDS; i++) (void)rn_trainer_run_round(t);
        if (k)
            ASSERT_EQ(option == OPT_PAPER || option == OPT_MADE_ENVS,
                      same_bits(paper, rn_trainer_theta(t), 6));
        else
            memcpy(paper, rn_trainer_theta(t), 6 * sizeof *paper);
        rn_trainer_destroy(t);
    }
    PASS();
}

/* ---- the same bits */
typedef struct outcome {
    unsigned char *bytes;
    size_t size;
} outcome; /* the whole saved state */

static outcome outcome_of(const rn_trainer *t) {
    outcome o;
    o.size = rn_trainer_save_size(t);
    o.bytes = (unsigned char *)need(malloc(o.size));
    if (rn_trainer_save(t, o.bytes, o.size) != RN_OK) abort();
    return o;
}

/* frees b */
static int outcome_same(outcome *a, outcome *b) {
    const int same = a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
    free(b->bytes);
    return same;
}

static const int some_options[] = {
    OPT_PAPER,          OPT_BATCH,     OPT_BASE_RIDGE_ALL, OPT_UPDATE_ADAM,  OPT_ATTACK_EACH,
    OPT_ATTACK_SILENCE, OPT_BASE_TIME, OPT_CLIP,           OPT_TABLE_POLICY, OPT_REUSE_ALL,
    OPT_TUNED,          OPT_TUNED_ALL, OPT_KL_TUNED,       OPT_KL_NO_HESSIAN};

enum { SOME = sizeof some_options / sizeof *some_options };

static outcome undisturbed(int option, size_t many) {
    static setup s;
    rn_trainer *t;
    outcome o;
    setup_make(&s, option);
    if (rn_trainer_create(&t, &s.d) != RN_OK) abort();
    for (size_t i = 0; i < many; i++)
        if (rn_trainer_run_round(t) != RN_OK) abort();
    o = outcome_of(t);
    rn_trainer_destroy(t);
    return o;
}

TEST budgets_change_no_bit(int option) {
    static const size_t budgets[] = {1, 2, 7, 13, 1000, (size_t)-1};
    outcome want = undisturbed(option, ROUNDS);
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
        static setup s;
        rn_trainer *t;
        outcome got;
        uint64_t total = 0;
        setup_make(&s, option);
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
        while (rn_trainer_rounds_done(t) < ROUNDS) {
            size_t used = 99;
            const size_t before = rn_trainer_rounds_done(t);
            const rn_status status = rn_trainer_tick(t, budgets[b], &used);
            ASSERT(status == RN_OK || status == RN_MORE);
            ASSERT(used <= budgets[b]);
            ASSERT_EQ(status == RN_OK, rn_trainer_rounds_done(t) == before + 1);
            ASSERT(used > 0); /* so that every loop ends */
            total += used;
        }
        /* steps, what is made of them, and the ends of the rounds */
        ASSERT(total > rn_trainer_progress(t)->env_steps + ROUNDS);
        got = outcome_of(t);
        rn_trainer_destroy(t);
        ASSERTm(WHY("%s, budget %u", option_names[option], (unsigned)budgets[b]),
                outcome_same(&want, &got));
    }
    free(want.bytes);
    PASS();
}

TEST budget_of_nothing_does_nothing(void) {
    static setup s;
    rn_trainer *t;
    size_t used = 5;
    setup_make(&s, OPT_PAPER);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 0, &used));
        ASSERT_EQ((size_t)0, used);
    }
    ASSERT_EQ((size_t)0, rn_trainer_rounds_done(t));
    ASSERT_EQ(RN_OK, rn_trainer_tick(t, (size_t)-1, NULL));
    rn_trainer_destroy(t);
    PASS();
}

TEST threads_change_no_bit(int option) {
    outcome want = undisturbed(option, ROUNDS);
    for (size_t threads = 1; threads <= 4; threads *= 2)
        for (int how = 0; how < JOB_ORDERS; how++)
            for (int small = 0; small < 2; small++) { /* whole rounds; budgets of 50 */
                static setup s;
                job_pool p = job_pool_make((job_order)how, threads);
                rn_trainer *t;
                outcome got;
                setup_make(&s, option);
                s.d.jobs = job_pool_jobs(&p);
                ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
                while (rn_trainer_rounds_done(t) < ROUNDS)
                    (void)rn_trainer_tick(t, small ? 50 : (size_t)-1, NULL);
                got = outcome_of(t);
                rn_trainer_destroy(t);
                ASSERTm(WHY("%s, %u threads", option_names[option], (unsigned)threads),
                        outcome_same(&want, &got));
            }
    free(want.bytes);
    PASS();
}

/* agents and server on their own, in blocks of their own, at odd addresses */
typedef struct parts {
    rn_agent *agents[N];
    rn_server *server;
    void *blocks[N + 1];
} parts;

static rn_agent_desc part_desc(const setup *s, size_t i) {
    const int hostile = s->d.adversaries > 0 && i + s->d.adversaries >= N;
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    d.env = s->envs[i];
    d.policy = s->d.policy;
    d.method = s->d.method;
    d.seed = s->d.seed;
    d.stream = (uint32_t)i;
    d.random_action = hostile && s->d.attack.kind == RN_ATTACK_RANDOM_ACTION;
    d.flip_reward = hostile && s->d.attack.kind == RN_ATTACK_REWARD_FLIP;
    return d;
}

static void parts_make(parts *p, const setup *s) {
    rn_server_desc sd = s->d.server;
    for (size_t i = 0; i < N; i++) {
        const rn_agent_desc d = part_desc(s, i);
        const size_t size = rn_agent_size(&d);
        p->blocks[i] = need(malloc(size + i));
        if (rn_agent_init(&p->agents[i], &d, (unsigned char *)p->blocks[i] + i, size) != RN_OK)
            abort();
    }
    sd.n = N;
    sd.dim = s->p.policy.dim;
    sd.seed = s->d.seed;
    p->blocks[N] = need(malloc(rn_server_size(&sd)));
    if (rn_server_init(&p->server, &sd, p->blocks[N], rn_server_size(&sd)) != RN_OK) abort();
}

/* the agents tick in turn, the last one first */
TEST parts_play(parts *p) {
    const rn_real *theta = rn_server_theta(p->server);
    const double eta = rn_server_eta(p->server);
    rn_status s[N];
    size_t playing = N;
    for (size_t i = 0; i < N; i++) {
        ASSERT_EQ(RN_OK, rn_agent_begin_round(p->agents[i], theta, eta));
        ASSERT_EQ(RN_ERR_ORDER, rn_agent_begin_round(p->agents[i], theta, eta));
        s[i] = RN_MORE;
    }
    while (playing)
        for (size_t i = N; i-- > 0;) {
            size_t used = 99;
            if (s[i] != RN_MORE) continue;
            s[i] = rn_agent_tick(p->agents[i], 1 + i, &used);
            ASSERT(used <= 1 + i && (s[i] == RN_OK || s[i] == RN_MORE));
            playing -= s[i] == RN_OK;
        }
    ASSERT_EQ(RN_ERR_ORDER, rn_agent_tick(p->agents[0], 1, NULL));
    PASS();
}

TEST parts_apart_make_the_same_bits(int option) {
    static setup whole, apart;
    parts p;
    rn_trainer *t;
    setup_make(&whole, option);
    setup_make(&apart, option);
    parts_make(&p, &apart);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &whole.d));
    for (int round = 1; round <= ROUNDS; round++) {
        const size_t dim = apart.p.policy.dim;
        const rn_real *row[N];
        rn_progress progress;
        ASSERT_EQ((size_t)round, rn_server_current_round(p.server));
        CHECK_CALL(parts_play(&p));
        for (size_t i = 0; i < N; i++) row[i] = rn_agent_direction(p.agents[i]);
        ASSERT_EQ(RN_OK, rn_server_update(p.server, row, &progress));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT(same_bits(rn_server_theta(p.server), rn_trainer_theta(t), dim));
        ASSERT(same_bits(rn_server_direction(p.server), rn_server_direction(rn_trainer_server(t)),
                         dim));
        ASSERT(progress.norm <= rn_trainer_progress(t)->norm &&
               progress.norm >= rn_trainer_progress(t)->norm);
        for (size_t i = 0; i < N; i++)
            ASSERT(same_bits(row[i], rn_agent_direction(rn_trainer_agent(t, i)), dim));
    }
    for (size_t i = 0; i <= N; i++) free(p.blocks[i]);
    rn_trainer_destroy(t);
    PASS();
}

/* the caller's block at any address, with canaries; one byte less is refused and nothing is
   written */
TEST any_block_will_do(void) {
    outcome want = undisturbed(OPT_BASE_RIDGE_ALL, ROUNDS);
    for (size_t shift = 0; shift < 3; shift++) {
        static setup s;
        size_t size;
        unsigned char *raw, *block;
        rn_trainer *t = NULL;
        outcome got;
        setup_make(&s, OPT_BASE_RIDGE_ALL);
        size = rn_trainer_size(&s.d);
        raw = (unsigned char *)need(malloc(size + 2 * CANARY_LEN + 64));
        memset(raw, CANARY, size + 2 * CANARY_LEN + 64);
        block = raw + CANARY_LEN + 7 * shift;
        ASSERT_EQ(RN_ERR_MEMORY, rn_trainer_init(&t, &s.d, block, size - 1));
        ASSERT_EQ(NULL, t);
        for (size_t i = 0; i < size + CANARY_LEN; i++) ASSERT_EQ(CANARY, raw[i]);
        ASSERT_EQ(RN_OK, rn_trainer_init(&t, &s.d, block, size));
        s.d.envs = NULL; /* arrays of the desc are copied */
        memset(s.envs, 0xff, sizeof s.envs);
        memset(s.theta, 0xff, sizeof s.theta);
        for (int i = 0; i < ROUNDS; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        got = outcome_of(t);
        for (size_t i = 0; i < CANARY_LEN; i++)
            ASSERT(block[size + i] == CANARY && *(block - 1 - i) == CANARY);
        ASSERT(outcome_same(&want, &got));
        free(raw);
    }
    free(want.bytes);
    PASS();
}

TEST evaluation_disturbs_nothing(int option) {
    outcome want = undisturbed(option, ROUNDS), got;
    static setup s;
    rn_trainer *t;
    walk other;
    rn_env env;
    setup_make(&s, option);
    env = walk_env(&other, &s.m, s.p.table);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    while (rn_trainer_rounds_done(t) < ROUNDS) { /* in the middle of rounds too */
        double score = (double)NAN, again = 0;
        ASSERT_EQ(RN_OK, rn_trainer_evaluate(t, &env, 3, &score));
        ASSERT_EQ(RN_OK, rn_trainer_evaluate(t, &env, 3, &again));
        ASSERT(score <= again && score >= again);
        (void)rn_trainer_tick(t, 20, NULL);
    }
    got = outcome_of(t);
    rn_trainer_destroy(t);
    ASSERT(outcome_same(&want, &got));
    free(want.bytes);
    PASS();
}

static void count_progress(void *self, const rn_progress *p) {
    size_t *last = (size_t *)self;
    *last = p->round == *last + 1 ? p->round : (size_t)-1;
}

TEST progress_comes_once_a_round(void) {
    static setup s;
    rn_trainer *t;
    size_t last = 0;
    setup_make(&s, OPT_PAPER);
    s.d.progress = count_progress;
    s.d.progress_self = &last;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    while (rn_trainer_rounds_done(t) < 5) (void)rn_trainer_tick(t, 3, NULL);
    ASSERT_EQ((size_t)5, last);
    rn_trainer_destroy(t);
    PASS();
}

TEST seeds_differ(void) {
    static setup s;
    rn_real theta[2][DIM];
    for (int k = 0; k < 2; k++) {
        rn_trainer *t;
        setup_make(&s, OPT_PAPER);
        s.d.seed = (uint64_t)k;
        s.d.server.theta = NULL; /* policy.init by the seed */
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
        memcpy(theta[k], rn_trainer_theta(t), s.p.policy.dim * sizeof(rn_real));
        rn_trainer_destroy(t);
    }
    ASSERT(!same_bits(theta[0], theta[1], s.p.policy.dim));
    PASS();
}

TEST attacks_can_be_set_later(void) {
    static setup s;
    rn_trainer *a, *b;
    rn_attack told;
    memset(&told, 0, sizeof told);
    setup_make(&s, OPT_PAPER);
    ASSERT_EQ(RN_OK, rn_trainer_create(&a, &s.d));
    told.kind = RN_ATTACK_REWARD_FLIP;
    for (size_t i = 5; i < N; i++) ASSERT_EQ(RN_OK, rn_trainer_set_attack(a, i, &told));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_set_attack(a, N, &told));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_set_attack(NULL, 0, &told));
    for (int i = 0; i < 4; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(a));
    ASSERT_EQ(RN_MORE, rn_trainer_tick(a, 1, NULL));
    ASSERT_EQ(RN_ERR_ORDER, rn_trainer_set_attack(a, 0, NULL));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(a));
    told.kind = (rn_attack_kind)77;
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_set_attack(a, 0, &told));
    {
        static setup other;
        setup_make(&other, OPT_ATTACK_REWARDS);
        ASSERT_EQ(RN_OK, rn_trainer_create(&b, &other.d));
        for (int i = 0; i < 5; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(b));
    }
    ASSERT(same_bits(rn_trainer_theta(a), rn_trainer_theta(b), s.p.policy.dim));
    ASSERT_EQ(RN_OK, rn_trainer_set_attack(a, 6, NULL)); /* honest again */
    ASSERT_EQ(RN_OK, rn_trainer_run_round(a));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(b));
    ASSERT(!same_bits(rn_agent_direction(rn_trainer_agent(a, 6)),
                      rn_agent_direction(rn_trainer_agent(b, 6)), s.p.policy.dim));
    rn_trainer_destroy(a);
    rn_trainer_destroy(b);
    PASS();
}

/* what an adversary keeps for itself stays true: the agents' own d and the honest run are the same
   bits while theta is */
TEST adversaries_keep_their_true_vector(void) {
    static setup a, b;
    rn_trainer *honest, *attacked;
    setup_make(&a, OPT_PAPER);
    setup_make(&b, OPT_ATTACK_FLIP);
    a.d.server.gamma = b.d.server.gamma = rn_schedule_constant(1e-30); /* less than rounding */
    ASSERT_EQ(RN_OK, rn_trainer_create(&honest, &a.d));
    ASSERT_EQ(RN_OK, rn_trainer_create(&attacked, &b.d));
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(honest));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(attacked));
        for (size_t i = 0; i < N; i++)
            ASSERT(same_bits(rn_agent_direction(rn_trainer_agent(honest, i)),
                             rn_agent_direction(rn_trainer_agent(attacked, i)), a.p.policy.dim));
    }
    rn_trainer_destroy(honest);
    rn_trainer_destroy(attacked);
    PASS();
}

/* ---- evaluation */
typedef struct clock_env {
    int t, length;
} clock_env; /* reward t at step t, ends after `length` steps */

static void clock_reset(void *self, const agg_rng *r, rn_real *obs) {
    clock_env *c = (clock_env *)self;
    c->t = 0;
    if (c->length < 0) c->length = -1 - (int)rn_draw_below(r, 9); /* -1 .. -9: that many */
    obs[0] = 0;
}

static rn_step_result clock_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    clock_env *c = (clock_env *)self;
    (void)r;
    (void)act;
    *reward = c->t++;
    obs[0] = 0;
    return c->t == (c->length < 0 ? -c->length : c->length) ? RN_TERMINATED : RN_RUNNING;
}

TEST evaluation_by_hand_numbers(void) {
    clock_env c = {0, 7};
    model p;
    rn_env e;
    rn_evaluation_desc d;
    rn_evaluation out, other;
    unsigned char scratch[4096];
    rn_real theta[2] = {0, 1};
    memset(&e, 0, sizeof e);
    memset(&d, 0, sizeof d);
    e.self = &c;
    e.reset = clock_reset;
    e.step = clock_step;
    e.obs_dim = e.act_dim = 1;
    e.actions = 2;
    model_table(&p, 1, 2);
    ASSERT(rn_evaluate_scratch_size(&e, &p.policy) > 0 &&
           rn_evaluate_scratch_size(&e, &p.policy) <= sizeof scratch);
    d.trajectories = 4;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &out));
    ASSERT(out.mean >= 21 && out.mean <= 21 && out.low >= 21 && out.high <= 21 && out.length >= 7 &&
           out.length <= 7);
    d.horizon = 3;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &out));
    ASSERT(out.mean >= 3 && out.mean <= 3 && out.length >= 3 && out.length <= 3);
    c.length = -1;
    d.horizon = 0;
    d.trajectories = 200;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &out));
    ASSERT(out.low >= 0 && out.low <= 0 && out.high >= 36 && out.high <= 36 && out.length > 1 &&
           out.length < 9);
    c.length = -1;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &other));
    ASSERT(memcmp(&out, &other, sizeof out) == 0);
    d.stream = 1;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &other));
    ASSERT(memcmp(&out, &other, sizeof out) != 0);
    ASSERT_EQ(RN_ERR_MEMORY, rn_evaluate(&d, &e, &p.policy, theta, scratch, 10, &other));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(&d, &e, &p.policy, NULL, scratch, sizeof scratch, &other));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluate(NULL, &e, &p.policy, theta, scratch, sizeof scratch, &other));
    e.actions = 3;
    ASSERT_EQ(RN_ERR_DESC, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &other));
    ASSERT_EQ((size_t)0, rn_evaluate_scratch_size(&e, &p.policy));
    PASS();
}

/* an evaluation in ticks, while theta changes under it: the bits of one in one go */
TEST evaluations_tick(int sampled, size_t budget) {
    static setup s;
    unsigned char block[8192], scratch[4096];
    rn_evaluation_desc d;
    rn_evaluation want, got;
    rn_evaluator *e = NULL;
    rn_real theta[64];
    rn_status st = RN_MORE;
    const rn_policy *p;
    size_t used, total = 0;
    setup_make(&s, OPT_PAPER);
    memset(&d, 0, sizeof d);
    d.sampled = sampled;
    d.trajectories = sampled ? 7 : 0;
    d.horizon = sampled ? 0 : 3;
    p = &s.d.policy;
    ASSERT(p->dim <= 64 && rn_evaluator_size(&s.d.envs[0], p) <= sizeof block);
    for (size_t i = 0; i < p->dim; i++) theta[i] = (rn_real)(0.3 * (double)(i % 5) - 0.5);
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &s.d.envs[0], p, theta, scratch, sizeof scratch, &want));
    setup_make(&s, OPT_PAPER);
    ASSERT_EQ(RN_OK, rn_evaluator_init(&e, &d, &s.d.envs[0], p, theta, block, sizeof block));
    memset(theta, 0, sizeof theta);
    ASSERT_EQ(RN_MORE, rn_evaluator_tick(e, 0, &used, &got));
    ASSERT_EQ((size_t)0, used);
    while (st == RN_MORE) {
        memset(&got, 0, sizeof got);
        st = rn_evaluator_tick(e, budget, &used, &got);
        ASSERT(used <= budget && used > 0);
        total += used;
    }
    ASSERT_EQ(RN_OK, st);
    ASSERT(memcmp(&want, &got, sizeof want) == 0);
    if (sampled) ASSERT((double)total >= want.length * 7 - 0.01);
    ASSERT_EQ(RN_ERR_ORDER, rn_evaluator_tick(e, budget, NULL, &got));
    PASS();
}

static rn_step_result step_to_nan(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                  double *reward) {
    const rn_step_result result = clock_step(self, act, r, obs, reward);
    *reward = (double)NAN;
    return result;
}

TEST evaluators_refuse(void) {
    clock_env c = {0, 7};
    unsigned char block[4096];
    rn_evaluation_desc d;
    rn_evaluation out;
    rn_evaluator *t = NULL;
    rn_real theta[2] = {0, 1};
    model m;
    rn_env e;
    memset(&e, 0, sizeof e);
    memset(&d, 0, sizeof d);
    e.self = &c;
    e.reset = clock_reset;
    e.step = step_to_nan;
    e.obs_dim = e.act_dim = 1;
    e.actions = 2;
    model_table(&m, 1, 2);
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(NULL, &d, &e, &m.policy, theta, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(&t, NULL, &e, &m.policy, theta, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(&t, &d, NULL, &m.policy, theta, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(&t, &d, &e, NULL, theta, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(&t, &d, &e, &m.policy, NULL, block, sizeof block));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_init(&t, &d, &e, &m.policy, theta, NULL, sizeof block));
    ASSERT_EQ(RN_ERR_MEMORY, rn_evaluator_init(&t, &d, &e, &m.policy, theta, block, 100));
    ASSERT(t == NULL);
    ASSERT_EQ((size_t)0, rn_evaluator_size(NULL, &m.policy));
    ASSERT_EQ((size_t)0, rn_evaluator_size(&e, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_tick(NULL, 1, NULL, &out));
    ASSERT_EQ(RN_OK, rn_evaluator_init(&t, &d, &e, &m.policy, theta, block,
                                       rn_evaluator_size(&e, &m.policy)));
    ASSERT_EQ(RN_ERR_ARG, rn_evaluator_tick(t, 1, NULL, NULL));
    ASSERT_EQ(RN_ERR_ENV, rn_evaluator_tick(t, 1, NULL, &out));
    ASSERT_EQ(RN_ERR_ORDER, rn_evaluator_tick(t, 1, NULL, &out));
    e.actions = 3;
    ASSERT_EQ(RN_ERR_DESC, rn_evaluator_init(&t, &d, &e, &m.policy, theta, block, sizeof block));
    ASSERT_EQ((size_t)0, rn_evaluator_size(&e, &m.policy));
    PASS();
}

/* sampled and greedy means against the exact values of dynamic programming, within 5 standard
   deviations */
TEST evaluation_meets_the_exact_value(int sampled) {
    const mdp m = mdp_random(70);
    model p;
    walk w;
    const rn_env e = walk_env(&w, &m, 1);
    rn_evaluation_desc d;
    rn_evaluation out;
    unsigned char scratch[4096];
    rn_real theta[STATES * ACTIONS];
    hyper th[STATES * ACTIONS];
    rng r = rng_make(4);
    double exact;
    model_table(&p, STATES, ACTIONS);
    fill_normal(theta, STATES * ACTIONS, &r, 0, 1);
    for (size_t i = 0; i < STATES * ACTIONS; i++)
        th[i] = hy((sampled ? 1.0L : 1e6L) * (wide)theta[i]);
    exact = (double)mdp_value(&m, &p, th, 20, 1).v;
    memset(&d, 0, sizeof d);
    d.trajectories = rounds(40000);
    d.horizon = 20;
    d.sampled = sampled;
    ASSERT_EQ(RN_OK, rn_evaluate(&d, &e, &p.policy, theta, scratch, sizeof scratch, &out));
    /* range/2 >= deviation */
    ASSERT(fabs(out.mean - exact) < 5 * (out.high - out.low) / 2 / sqrt((double)d.trajectories));
    PASS();
}

/* ---- nets act side by side and keep what they compute for the gradient. A policy around a net does
   neither: it is asked for one act at a time, and its gradient starts anew. No bit tells. */
typedef struct slope { /* continuous or discrete; ends after 3 to 9 steps */
    size_t t, end;
    int discrete;
} slope;

static void slope_look(const slope *s, const agg_rng *r, rn_real *obs) {
    for (int k = 0; k < 3; k++) obs[k] = (rn_real)(rn_draw_uniform(r) + 0.1 * (double)s->t);
}

static void slope_reset(void *self, const agg_rng *r, rn_real *obs) {
    slope *s = (slope *)self;
    s->t = 0;
    s->end = 3 + rn_draw_below(r, 7);
    slope_look(s, r, obs);
}

static rn_step_result slope_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    slope *s = (slope *)self;
    *reward = (double)act[s->discrete ? 0 : 1] - 0.3 * (double)s->t;
    s->t++;
    slope_look(s, r, obs);
    return s->t < s->end ? RN_RUNNING : RN_TERMINATED;
}

static void slope_save(const void *self, void *to) { memcpy(to, self, sizeof(slope)); }

static int slope_load(void *self, const void *from) {
    memcpy(self, from, sizeof(slope));
    return 1;
}

typedef struct shape {
    const char *name;
    size_t hidden[2];
    int gaussian, state_std, tanh_head, no_bias;
    rn_activation activation;
} shape;

static const shape shapes[] = {
    {"16-16", {16, 16}, 0, 0, 0, 0, RN_TANH},    {"5-7", {5, 7}, 0, 0, 0, 0, RN_TANH},
    {"linear", {0, 0}, 0, 0, 0, 0, RN_TANH},     {"relu", {16, 3}, 0, 0, 0, 1, RN_RELU},
    {"64-33", {64, 33}, 0, 0, 0, 0, RN_TANH},    {"head", {16, 8}, 0, 0, 1, 0, RN_TANH},
    {"gauss", {16, 16}, 1, 0, 0, 0, RN_TANH},    {"state std", {9, 0}, 1, 1, 0, 0, RN_TANH},
    {"wide", {40, 48}, 1, 0, 1, 0, RN_IDENTITY}, {"256-2", {256, 2}, 0, 0, 0, 0, RN_TANH},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, SLOPES = 6 };

typedef struct hill {
    slope slopes[SLOPES];
    rn_env envs[SLOPES];
    rn_net net;
    rn_policy inner;
    rn_trainer_desc d;
    rn_trainer *t;
} hill;

static void hill_make(hill *h, const shape *sh, int wrapped, int adversary) {
    rn_net_desc nd = rn_make_net_desc(3, 2);
    memset(h, 0, sizeof *h);
    nd.hidden[0] = sh->hidden[0];
    nd.hidden[1] = sh->hidden[1];
    nd.gaussian = sh->gaussian;
    nd.state_std = sh->state_std;
    nd.tanh_head = sh->tanh_head;
    nd.no_bias = sh->no_bias;
    nd.activation = sh->activation;
    nd.out_scale = 1;
    h->inner = rn_make_net_policy(&h->net, &nd);
    for (size_t i = 0; i < SLOPES; i++) {
        rn_env *e = &h->envs[i];
        e->self = &h->slopes[i];
        h->slopes[i].discrete = !sh->gaussian;
        e->reset = slope_reset;
        e->step = slope_step;
        e->obs_dim = 3;
        e->act_dim = sh->gaussian ? 2 : 1;
        e->actions = sh->gaussian ? 0 : 2;
        e->state_size = sizeof(slope);
        e->save = slope_save;
        e->load = slope_load;
    }
    h->d.agents = SLOPES;
    h->d.envs = h->envs;
    h->d.policy = wrapped ? policy_around(&h->inner) : h->inner;
    if (wrapped) h->d.policy.init = inner_init;
    h->d.method.horizon = 8;
    h->d.method.discount = 0.9;
    h->d.method.batch = 2;
    h->d.server.agg.f = 1;
    h->d.server.eta = rn_schedule_constant(0.5);
    h->d.server.gamma = rn_schedule_constant(0.2);
    h->d.adversaries = adversary >= 0;
    h->d.attack.kind = adversary == 0 ? RN_ATTACK_RANDOM_ACTION : RN_ATTACK_REWARD_FLIP;
    if (rn_trainer_create(&h->t, &h->d) != RN_OK) abort();
}

/* a net with one function of a host's own in place of the header's, which it calls: it counts as a
   host's policy, and its function is asked */
static rn_policy real;
static size_t asked;

static void real_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                     rn_real *act, void *work) {
    asked++;
    real.act(self, theta, obs, r, act, work);
}

static void real_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                      const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    asked++;
    real.grad(self, theta, T, obs, act, w, g, work);
}

static void real_dot(void *self, const rn_real *theta, const rn_real *u, size_t T,
                     const rn_real *obs, const rn_real *act, rn_real *c, void *work) {
    asked++;
    real.dot(self, theta, u, T, obs, act, c, work);
}

static void real_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                     const rn_real *obs, const rn_real *act, const rn_real *w, const rn_real *k,
                     rn_real *h, void *work) {
    asked++;
    real.hvp(self, theta, u, T, obs, act, w, k, h, work);
}

static void real_prepare(void *self, const rn_real *theta, void *work) {
    asked++;
    real.prepare(self, theta, work);
}

static size_t real_work_size(void *self, size_t T) {
    asked++;
    return real.work_size(self, T);
}

TEST replaced_functions_are_asked(int which) {
    static hill plain, mixed;
    hill_make(&plain, &shapes[0], 0, -1);
    hill_make(&mixed, &shapes[0], 0, -1);
    rn_trainer_destroy(mixed.t);
    real = mixed.inner;
    if (which == 0) mixed.d.policy.act = real_act;
    if (which == 1) mixed.d.policy.grad = real_grad;
    if (which == 2) mixed.d.policy.dot = real_dot;
    if (which == 3) mixed.d.policy.hvp = real_hvp;
    if (which == 4) mixed.d.policy.prepare = real_prepare;
    if (which == 5) mixed.d.policy.work_size = real_work_size;
    asked = 0;
    ASSERT_EQ(RN_OK, rn_trainer_create(&mixed.t, &mixed.d));
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(plain.t));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(mixed.t));
    }
    ASSERT(same_bits(rn_trainer_theta(plain.t), rn_trainer_theta(mixed.t), plain.inner.dim));
    ASSERT(asked >= SLOPES);
    rn_trainer_destroy(plain.t);
    rn_trainer_destroy(mixed.t);
    PASS();
}

/* the same run: in one go; in small ticks; saved and loaded within trajectories; wrapped */
TEST teams_change_no_bit(size_t which, int adversary) {
    static hill plain, ticked, wrapped;
    static unsigned char state[1 << 20];
    const shape *sh = &shapes[which];
    hill_make(&plain, sh, 0, adversary);
    hill_make(&ticked, sh, 0, adversary);
    hill_make(&wrapped, sh, 1, adversary);
    for (int round = 0; round < 4; round++) {
        rn_status s = RN_MORE;
        size_t size;
        ASSERT_EQ(RN_OK, rn_trainer_run_round(plain.t));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(wrapped.t));
        for (size_t k = 0; s == RN_MORE; k++) {
            s = rn_trainer_tick(ticked.t, 11 + k % 5, NULL);
            if (k % 3 || s != RN_MORE) continue;
            ASSERT(rn_trainer_save_size(ticked.t) <= sizeof state);
            size = rn_trainer_save_size(ticked.t);
            ASSERT_EQ(RN_OK, rn_trainer_save(ticked.t, state, sizeof state));
            (void)rn_trainer_tick(ticked.t, 7, NULL);
            ASSERT_EQ(RN_OK, rn_trainer_load(ticked.t, state, size));
        }
        ASSERT_EQ(RN_OK, s);
        if (!same_bits(rn_trainer_theta(plain.t), rn_trainer_theta(wrapped.t), plain.inner.dim))
            FAILm(WHY("%s: acting alone, round %d", sh->name, round));
        if (!same_bits(rn_trainer_theta(plain.t), rn_trainer_theta(ticked.t), plain.inner.dim))
            FAILm(WHY("%s: broken off, round %d", sh->name, round));
    }
    rn_trainer_destroy(plain.t);
    rn_trainer_destroy(ticked.t);
    rn_trainer_destroy(wrapped.t);
    PASS();
}

SUITE(equality) {
    for (int option = 0; option < OPTIONS; option++) {
        RUN_TESTp(every_round_is_algorithm_1, option);
        RUN_TESTp(options_matter, option);
    }
    RUN_TEST(progress_tells_who_attacked);
    RUN_TEST(missing_manyare_no_problem);
    RUN_TEST(standing_still_saves_the_second_trajectory);
}

SUITE(same_bits_always) {
    for (int i = 0; i < SOME; i++) {
        RUN_TESTp(budgets_change_no_bit, some_options[i]);
        RUN_TESTp(threads_change_no_bit, some_options[i]);
        RUN_TESTp(evaluation_disturbs_nothing, some_options[i]);
    }
    for (size_t i = 0; i < SHAPES; i++)
        for (int adversary = -1; adversary < 2; adversary++)
            RUN_TESTp(teams_change_no_bit, i, adversary);
    for (int which = 0; which < 6; which++) RUN_TESTp(replaced_functions_are_asked, which);
    RUN_TESTp(parts_apart_make_the_same_bits, OPT_PAPER);
    RUN_TESTp(parts_apart_make_the_same_bits, OPT_BASE_RIDGE_ALL);
    RUN_TESTp(parts_apart_make_the_same_bits, OPT_UPDATE_ADAM);
    RUN_TESTp(parts_apart_make_the_same_bits, OPT_ATTACK_ACTIONS);
    RUN_TESTp(parts_apart_make_the_same_bits, OPT_ATTACK_REWARDS);
    RUN_TEST(budget_of_nothing_does_nothing);
    RUN_TEST(any_block_will_do);
    RUN_TEST(progress_comes_once_a_round);
    RUN_TEST(seeds_differ);
    RUN_TEST(attacks_can_be_set_later);
    RUN_TEST(adversaries_keep_their_true_vector);
}

SUITE(evaluation) {
    RUN_TEST(evaluation_by_hand_numbers);
    for (int sampled = 0; sampled < 2; sampled++) {
        RUN_TESTp(evaluations_tick, sampled, 1);
        RUN_TESTp(evaluations_tick, sampled, 5);
    }
    RUN_TEST(evaluators_refuse);
    RUN_TESTp(evaluation_meets_the_exact_value, 0);
    RUN_TESTp(evaluation_meets_the_exact_value, 1);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(equality);
    RUN_SUITE(same_bits_always);
    RUN_SUITE(evaluation);
    GREATEST_MAIN_END();
}
